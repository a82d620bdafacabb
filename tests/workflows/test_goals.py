"""What a run is for, which checks say that it is done, and how far it is: in its status."""

from pathlib import Path

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.control import CheckReport
from holdfast.contracts.guardrails import WITHHELD, GuardrailVerdict
from holdfast.contracts.state.run import RunState
from holdfast.guardrails import secret_detection
from holdfast.run.step import goals
from holdfast.testing import call, calls, say
from holdfast.tools import report_progress
from tests.builders import a_call, a_failure, a_state, a_success, asked_for
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS, scripted

TOLD = a_call("report_progress", "c1", done="the first", next="the second")


async def test_a_status_says_how_far_a_run_is(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """An answer was sent back, so the check says why; then it passes, and the words stay."""
    # BY-19
    script = [
        say("all bad"),
        calls(
            call("report_progress", done="one answer", next="tell them"),
            call("send", log=str(tmp_path / "log"), text="x"),
        ),
        say("all good"),
    ]
    app = scripted(
        script, tools=[*TOOLS, report_progress], acceptance=[on_word("decent", "bad", "output")]
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "write to them")
        request = await run.asked_for_approval()
        before = (await run.status()).goal
        await run.approve(request.request_id)
        result = await run.result()
        after = (await run.status()).goal

    assert result.answer == "all good"
    assert before is not None
    assert after is not None
    assert before.objective == after.objective == "write to them"
    assert before.done_when == (CheckReport(name="decent", state="failed", found="it says bad"),)
    assert after.done_when == (CheckReport(name="decent", state="passed"),)
    assert after.progress == "done: one answer; next: tell them"


def noted(state: RunState, *, failed: bool = False) -> RunState:
    said = asked_for(TOLD, state=state)
    result = a_failure(TOLD) if failed else a_success(TOLD)
    return goals.note_progress(said, said.calls, (result,))


def test_only_what_was_told_is_progress() -> None:
    """A call that failed told nothing; before anything looked a check is open."""
    # BY-19
    state = a_state(acceptance=(on_word("decent", "bad", "output").spec,))

    assert goals.build_report(state).done_when == (CheckReport(name="decent", state="open"),)
    assert noted(state).progress == "done: the first; next: the second"
    assert noted(state, failed=True).progress == ""


def test_what_nobody_may_read_yet_is_withheld() -> None:
    """Where guardrails look at what is said, a status is no way around them."""
    # BY-19
    checks = tuple(on_word(name, "bad", "output").spec for name in ("quoting", "counting"))
    held = noted(a_state(guardrails=(secret_detection().spec,), acceptance=checks))
    found = GuardrailVerdict(
        guardrail="quoting", subject="1", tripwire_triggered=True, reason="bad", quotes=True
    )
    counted = found.copy_with({"guardrail": "counting", "reason": "2 of 3", "quotes": False})
    report = goals.build_report(held.with_answering(checked=(found, counted)))

    assert report.progress == WITHHELD
    assert [check.found for check in report.done_when] == [WITHHELD, "2 of 3"]


def test_the_last_words_on_progress_count_and_no_other_tools() -> None:
    """Several in one turn: what is told is how far the run is now."""
    # BY-19
    later = a_call("report_progress", "c2", done="both", next="nothing")
    other = a_call("plan", "c3", done="none", next="all")
    said = asked_for(TOLD, later, other)
    results = tuple(map(a_success, (TOLD, later, other)))

    assert goals.note_progress(said, said.calls, results).progress == "done: both; next: nothing"


@pytest.mark.parametrize("arguments", [{"done": 3, "next": "x"}, {"text": "x"}])
def test_a_tool_of_an_apps_own_is_no_progress(arguments: JsonObject) -> None:
    """Whatever it has been called."""
    # BY-19
    own = a_call("report_progress", "c1", **arguments)
    said = asked_for(own)

    assert goals.note_progress(said, said.calls, (a_success(own),)).progress == ""
