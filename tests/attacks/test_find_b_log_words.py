"""Found: words of people and models stand in a line of the log about a run."""

import logging

import pytest

from holdfast import Agent, App
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.testing import say
from tests.running import Runs


@guardrail(layer="input")
async def decent(subject: Subject, context: GuardrailContext) -> GuardrailResult:
    """Let nothing pass, and quote what was said."""
    return tripped(f"it says {subject.text!r}")


async def test_no_word_of_a_person_stands_in_a_line_of_a_run(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever a guardrail says of a goal: that is for history."""
    caplog.set_level(logging.INFO, "temporalio.workflow")
    agent = Agent(name="it", instructions="Help.", models=["scripted:it"], guardrails=[decent])
    async with runs.working(App(agents=[agent], scripts={"it": [say("done")]})):
        result = await (await runs.start("it", "my number is 4711-0815")).result()
    logged = [vars(record) for record in caplog.records]

    assert result.status == "blocked"
    assert [one for one in logged if "run.ended" in str(one.get("fields"))] != []
    assert "4711-0815" not in str([one.get("fields") for one in logged])
