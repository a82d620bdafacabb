"""Whatever fills a history: a run ends with a reason, and not by the server, without one."""

from pathlib import Path

import pytest
from temporalio.service import RPCError

from holdfast import App
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.messages import OutcomeReport
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.transcript import UserTurn
from holdfast.run.inbound.controls import stop_for_full_history
from holdfast.run.step.grading import set_grading
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.trace.reader import read_trace
from tests.attacks.test_payloads import a_stranger
from tests.builders import NOW, a_state
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.memory.tasks import Habits
from tests.running import Run, Runs
from tests.sample import scripted, told
from tests.workflows.delegating import FOUND, ask, desk
from tests.workflows.test_permissions import policy

LARGE: JsonObject = {"text": "x" * 990_000}
MORE_THAN_THERE_IS_ROOM_FOR = 60

UNASKED = "{id: all, effect: allow, match: {tools: [send]}}"
ASKS: Script = [call("ask_user", question="Which one?"), FOUND]


def waiting(folder: Path) -> App:
    """A desk that sends a letter, and then has a researcher work for it who asks people."""
    sends = call("send", log=str(folder / "log"), text="x")
    script = [sends, ask("tides"), say("It is so.")]
    return desk(script, ASKS, policy=policy(folder, UNASKED))


def is_full(result: RunResult) -> None:
    """It ended for that reason, and by nobody."""
    assert result.status == "stopped"
    assert result.stop is not None
    assert (result.stop.reason, result.stop.ended_by) == ("history full", "")
    assert "50 MB" in result.stop.detail


async def fill(run: Run, runs: Runs) -> int:
    """Send large signals, three as those before are heard, for as long as the run takes any."""
    stranger = await a_stranger(runs, run)
    for sent in range(1, MORE_THAN_THERE_IS_ROOM_FOR):
        try:
            await stranger.signal("steer", LARGE)
        except RPCError:  # it is over
            return sent
        while (await run.status()).refused_total < sent // 3 * 3 and await is_open(run):
            await run.pause()
    return MORE_THAN_THERE_IS_ROOM_FOR


async def is_open(run: Run) -> bool:
    description = await run.handle.describe()
    return description.close_time is None


async def fill_in_memory(runs: MemoryRuns, run: MemoryRun) -> None:
    for _ in range(45):
        runs.tell_soon(run.id, "steer", LARGE)
        await run.rest()


async def test_a_whole_that_strangers_fill_while_its_part_waits(
    runs: Runs, tmp_path: Path
) -> None:
    """It can't go on in a new execution: it ends, with what it did, and its part with it."""
    # T-33
    async with runs.working(waiting(tmp_path)):
        run = await runs.start("desk")
        (request,) = await run.asked()
        part = Run(
            runs.client.get_workflow_handle(f"{run.handle.id}.1-researcher", result_type=RunResult)
        )
        sent = await fill(run, runs)
        result, theirs = await run.result(), await part.result()
        trace = read_trace([await run.handle.fetch_history()])
        await run.story()
        await part.story()

    assert request.request_id == "1-researcher/req-1"
    assert sent < 45
    is_full(result)
    is_full(theirs)
    assert [effect.tool for effect in result.effects] == ["send"]
    assert "by a person" not in str(trace)


@pytest.mark.parametrize("habits", [Habits(), Habits(divides=True, renews_after=3)])
async def test_a_worker_that_takes_such_a_run_over_knows_when_it_was_full(
    habits: Habits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a task that was divided a replay knows another size; the end is at the same place."""
    # T-33
    monkeypatch.setenv("HOLDFAST_HOME", str(tmp_path / "home"))
    runs = MemoryRuns(habits)
    async with runs.working(waiting(tmp_path)):
        run = await runs.start("desk")
        await run.asked()
        await fill_in_memory(runs, run)
        result = await run.result()
        await run.stories()
        theirs = await run.part("1-researcher").result()
    await runs.close()

    is_full(result)
    is_full(theirs)


async def test_of_a_session_the_work_on_a_message_ends(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The session goes on in a new execution, and hears the next message there."""
    # T-33

    def script(turn: ScriptTurn) -> Reply:
        said = turn.transcript[-1]
        return (
            ask("tides") if isinstance(said, UserTurn) and said.text == "find out" else told(turn)
        )

    async with memory_runs.working(desk(script, ASKS)):
        brief: JsonObject = {"agent": "desk"}
        run = await memory_runs.say("talk", brief, {"message_id": "m-1", "text": "find out"})
        await run.asked()
        await fill_in_memory(memory_runs, run)
        await run.rest()
        ended = await run.query("outcome", OutcomeReport, {"message_id": "m-1"})
        executions = run.executions
        await run.signal("message", {"message_id": "m-2", "text": "hello"})
        await run.rest()
        answered = await run.query("outcome", OutcomeReport, {"message_id": "m-2"})
        await run.stories()

    assert ended.result is not None
    assert answered.result is not None
    is_full(ended.result)
    assert answered.result.status == "completed"
    assert executions == 2


@pytest.mark.parametrize(("count", "ends"), [(43, False), (49, True)])
async def test_what_can_go_on_in_a_new_execution_goes_on(
    memory_runs: MemoryRuns, tmp_path: Path, count: int, ends: bool
) -> None:
    """While no worker was there more has come than a run is stopped for whose part works."""
    # T-33
    app = scripted([call("send", log=str(tmp_path / "log"), text="x"), told])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
    for _ in range(count):
        memory_runs.tell_soon(run.id, "steer", LARGE)
    async with memory_runs.working(app):
        await run.rest()
        if not ends:
            await run.approve(request.request_id)
        result = await run.result()
        await run.stories()

    if ends:
        is_full(result)
    assert (result.status == "completed") is not ends


async def test_only_its_whole_tells_a_part_that_its_history_is_full(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A stop of somebody else in that name is a person's."""
    # BY-52
    stop: JsonObject = {"reason": "x", "by": "the full history of the run that it works for"}
    async with memory_runs.working(waiting(tmp_path)):
        run = await memory_runs.start("desk")
        await run.asked()
        await run.signal("stop", stop)
        result = await run.result()

    assert result.stop is not None
    assert result.stop.reason == "stopped by a person"


def test_guardrails_look_no_longer_at_what_is_over() -> None:
    """What it came to stands, and nothing fills its history any more."""
    # T-33
    over = set_grading(a_state().with_(phase=Ended(outcome="completed")), "under_way")
    fresh = stop_for_full_history(over, "it is full", NOW)

    assert over.has_graders
    assert not over.is_over
    assert fresh.is_over
    assert fresh.outcome == "completed"
