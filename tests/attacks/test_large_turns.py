"""Hundreds of calls in a reply, and words that break models off: no history grows without end."""

from pathlib import Path

import pytest

from holdfast import App, Risk, tool
from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.trace.reader import read_trace
from tests.control.controlled import broken
from tests.control.test_stops import begun
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, note, scripted, told
from tests.workflows.test_permissions import policy

MANY = 40


@tool(risk=Risk.WRITE_INTERNAL)
async def book(log: str, text: str) -> str:
    """Book something, unless the line goes dead."""
    note(log, text)
    if text == "lost":
        raise ConnectionError("the line went dead")
    return "booked"


@tool(risk=Risk.DRAFT_ONLY, max_result_chars=200_000)
async def prepare(log: str, text: str) -> str:
    """Prepare something large."""
    note(log, text)
    return text.ljust(190_000, "x")


@tool(risk=Risk.WRITE_INTERNAL, draft="prepare")
async def commit(log: str, text: str) -> str:
    """Commit what was prepared."""
    note(log, f"committed {text}")
    return "committed"


def booking(folder: Path, *texts: str) -> App:
    """An app whose agent books all these in one turn, which its policy allows."""
    asked = [call("book", log=str(folder / "log"), text=text) for text in texts]
    allowed = policy(folder, "{id: ok, effect: allow, match: {tools: [book]}}")
    return scripted([calls(*asked), told], tools=[book], policy=allowed)


async def test_many_writes_of_a_turn_are_decided_anew_one_by_one(
    runs: Runs, tmp_path: Path
) -> None:
    """What is decided anew before each of them is the next, and not all that are left."""
    # BY-12
    texts = [f"number {place}" for place in range(MANY)]
    async with runs.working(booking(tmp_path, *texts)):
        run = await runs.start("it")
        await run.result()
        trace = read_trace(await runs.histories(run))

    assert lines(tmp_path / "log") == texts
    assert sum(len(one.rulings) for one in trace.calls) < 3 * MANY


async def test_the_next_of_many_writes_is_decided_by_what_was_before(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """One of which nobody knows is done no second time in its turn, however many there are."""
    # BY-11
    texts = ["lost", *(f"number {place}" for place in range(MANY)), "lost"]
    async with memory_runs.working(booking(tmp_path, *texts)):
        run = await memory_runs.start("it")
        await run.result()
        results = await run.results()
        await memory_runs.stories(run)

    assert [one.status for one in (results[0], results[-1])] == ["outcome_unknown", "denied"]
    assert lines(tmp_path / "log") == texts[:-1]


@pytest.mark.slow
async def test_drafts_of_a_turn_are_bounded(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Shown or not, they bring no more together than results do."""
    # BY-12
    log = tmp_path / "log"
    asked = [call("commit", log=str(log), text=f"number {place}") for place in range(100)]
    async with memory_runs.working(scripted([calls(*asked), told], tools=[prepare, commit])):
        run = await memory_runs.start("it")
        await run.asked_for_approval()
        await memory_runs.stories(run)

    assert 40 < len(lines(log)) < 60


async def test_words_that_cant_wait_have_a_run_go_on_in_a_new_execution(
    memory_runs: MemoryRuns,
) -> None:
    """Each breaks its model off, which is sent all that it reads again: so often none is asked."""
    # BY-44
    hurry: JsonObject = {"text": "hurry", "by": "dana", "now": True}

    def script(turn: ScriptTurn) -> Reply:
        heard = str(turn.transcript).count("hurry")
        return say("done") if heard == MANY else broken("overloaded", wait=600)

    async with memory_runs.working(scripted(script, max_history_events=50)):
        run = await memory_runs.start("it")
        for _ in range(MANY):
            await begun(run, "model scripted:it")
            await run.signal("steer", hurry)
        result = await run.result()
        executions = await memory_runs.stories(run)

    assert (result.status, result.answer) == ("completed", "done")
    assert len(executions) > 2
