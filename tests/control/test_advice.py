"""A guardrail that only warns leaves its verdict and a line, and stops nothing."""

from typing import TypedDict, Unpack

import pytest

from holdfast import Agent, App, Handoff
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import Layer
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    review_approval,
    tripped,
)
from holdfast.testing import call, calls, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from tests.control.guarded import ended, guarded, on_word
from tests.histories import noted
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import IMPATIENT


class Checks(TypedDict, total=False):
    """Who looks at what an agent does."""

    guardrails: list[Guardrail]
    acceptance: list[Guardrail]


SCRIPT = (calls(call("create_draft", log="/dev/null", title="bad go")), say("bad"))


@pytest.mark.parametrize("layer", ["input", "pre_execution", "output", "post_action"])
async def test_a_warning_stops_nothing(memory_runs: MemoryRuns, layer: Layer) -> None:
    """The call runs, the answer is out, nobody is asked, and history says what was found."""
    # NR-01
    warns = on_word("careful", "go" if layer == "input" else "bad", layer, on_trip="warn")
    found = await ended(memory_runs, guarded([*SCRIPT], warns))

    assert (found.result.status, found.result.answer) == ("completed", "bad")
    assert found.result.steps == 2
    lines = [one.summary for one in noted(found.story) if one.summary.startswith("warning")]
    assert len(lines) == 1
    assert "careful: it says" in lines[0]
    assert not any(one.summary.startswith("tripwire") for one in noted(found.story))


async def test_a_warning_beside_a_parallel_model_call(memory_runs: MemoryRuns) -> None:
    """The model that began meanwhile isn't broken off."""  # NR-01
    warns = on_word("careful", "go", "input", on_trip="warn", mode="parallel")
    found = await ended(memory_runs, guarded([say("fine")], warns))

    assert (found.result.status, found.result.answer, found.result.steps) == (
        "completed",
        "fine",
        1,
    )


async def test_what_blocks_counts_beside_what_warns(memory_runs: MemoryRuns) -> None:
    """The order in which they are listed doesn't matter."""  # NR-01
    warns = on_word("careful", "bad", "output", on_trip="warn")
    blocks = on_word("no_bad", "bad", "output", on_trip="block")
    for both in ((warns, blocks), (blocks, warns)):
        found = await ended(memory_runs, guarded([say("bad")], *both))
        assert (found.result.status, found.result.answer) == ("blocked", None)


async def test_what_cant_decide_warns_too(memory_runs: MemoryRuns) -> None:
    """It fails open, which is what was asked for, and says so."""  # NR-01

    @guardrail(layer="output", on_trip="warn")
    async def broken(_: Subject, __: GuardrailContext) -> GuardrailResult:
        raise ZeroDivisionError

    found = await ended(memory_runs, guarded([say("fine")], broken))

    assert (found.result.status, found.result.answer) == ("completed", "fine")
    (line,) = [one.summary for one in noted(found.story) if one.summary.startswith("warning")]
    assert "can't decide" in line


async def test_a_warning_is_told_as_one(runs: Runs) -> None:
    """Its span has triggered, and blocks nothing; the transcript shows what it found."""
    # NR-01 TR-05
    warns = on_word("careful", "bad", "output", on_trip="warn")
    found = await ended(runs, guarded([say("bad")], warns))
    (span,) = (
        one for one in span_tree(read_trace([found.history])).spans if one.type == "guardrail"
    )

    assert (span.attributes["triggered"], span.attributes["blocking"]) == (True, False)
    assert span.attributes["gen_ai.guardrail.verdict.type"] == "warn"
    assert span.attributes["gen_ai.guardrail.action.type"] == "allow"


def test_people_whose_no_would_count_for_nothing_are_not_asked() -> None:
    """A review that only warns would have people decide what nobody heeds."""  # NR-01
    with pytest.raises(AppError, match="only warned"):
        review_approval(on_trip="warn")


async def test_an_acceptance_check_never_only_warns(memory_runs: MemoryRuns) -> None:
    """What it finds goes back to the model, whatever it would do as a guardrail."""
    # NR-01 GF-06
    warns = on_word("no_bad", "bad", "output", on_trip="warn")
    found = await ended(memory_runs, guarded([say("bad"), say("good")], acceptance=[warns]))

    assert (found.result.status, found.result.answer) == ("completed", "good")


async def test_a_check_is_no_guardrail_of_its_name(memory_runs: MemoryRuns) -> None:
    """Who handed over had one that only warns; the check of who took over sends answers back."""
    # NR-01 GF-06 HO-09

    async def no_bad(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        return tripped("it says bad") if "bad" in subject.text else passed()

    senders = guardrail(layer="output", on_trip="warn")(no_bad)
    checks = guardrail(layer="output")(no_bad)

    def agent(name: str, **more: Unpack[Checks]) -> Agent:
        return Agent(
            name=name,
            instructions="Do it.",
            models=[f"scripted:{name}"],
            settings=IMPATIENT,
            handoffs=[Handoff("writer", when="it is to be written")] if name == "it" else [],
            **more,
        )

    app = App(
        agents=[agent("it", guardrails=[senders]), agent("writer", acceptance=[checks])],
        scripts={
            "it": [call("transfer_to_writer", goal="it")],
            "writer": [call("transfer_to_writer", goal="it"), say("bad"), say("good")],
        },
    )
    found = await ended(memory_runs, app)

    assert (found.result.status, found.result.answer) == ("completed", "good")
