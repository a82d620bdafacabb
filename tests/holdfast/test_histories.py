"""Histories that are fetched, exported, read again and replayed."""

import asyncio
import base64
import json
from pathlib import Path

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory

from holdfast.cli import main, standing
from holdfast.cli.history import read_run
from holdfast.client import Run
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.switches import SWITCHES_WORKFLOW_TYPE
from holdfast.histories import HistoriesTooLarge, Room, fetch, is_replayable, read, render_export
from holdfast.runner import build_replayer
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.histories import stored
from tests.holdfast.traces import finished, outcome, pondering, printed
from tests.holdfast.written import Written
from tests.running import Runs
from tests.sample import scripted


async def test_run_in_several_executions_is_one_trace(runs: Runs) -> None:
    """A run that went on in new executions is one trace, and can be read from any of them."""
    script = [*(call("look", place=str(place)) for place in range(15)), say("done")]
    async with runs.working(scripted(script, max_history_events=40)):
        run = await runs.start("it", "Look around.")
        await run.result()
        histories = await fetch(runs.client, run.handle.id)

    trace, latest = read_trace(histories), read_trace(histories[-1:])
    assert (trace.executions, len(histories) > 2) == (len(histories), True)
    assert [turn.number for turn in trace.turns] == list(range(1, 17))
    assert (latest.goal, latest.status, latest.run_id) == (trace.goal, "completed", trace.run_id)
    assert latest.turns[-1].number == 16


async def test_unreadable_payloads_spoil_nothing(runs: Runs) -> None:
    """Where payloads are encrypted or foreign, the trace has what the events themselves say."""
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        (history,) = await finished(await runs.start("it"))
    trace = read_trace([encrypted(history)])

    assert (trace.status, len(trace.turns), trace.brief) == ("completed", 2, None)
    assert [(made.call.name, made.attempts) for made in trace.calls] == [("ponder", 1)]
    assert printed(trace)


async def test_calls_that_share_an_id_are_told_apart(runs: Runs) -> None:
    """Where a provider uses an id twice, the run renames the call, and the trace follows it."""
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        (history,) = await finished(await runs.start("it"))
    trace = read_trace([twinned(history)])

    assert [(made.call.call_id, outcome(made)) for made in trace.calls] == [("call_1_1", "ok")]


async def test_export_is_the_same_again(runs: Runs) -> None:
    """Exporting a closed run again gives the same bytes, and what was exported reads the same."""
    # OB-04
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        run = await runs.start("it")
        await run.result()
        first = render_export(await fetch(runs.client, run.handle.id))
        second = render_export(await fetch(runs.client, run.handle.id))

    assert first == second


def test_what_has_not_begun_is_not_replayed() -> None:
    """An execution has one event until its first task comes: nobody waits to replay it."""
    ((history, *_), *_) = stored.unpack(stored.history_file("session").read_bytes())
    begun = [WorkflowHistory(history.workflow_id, history.events[:most]) for most in (1, 3)]

    assert [is_replayable(one) for one in (*begun, history)] == [False, False, True]


async def test_exports_replay(runs: Runs, tmp_path: Path) -> None:
    """An exported history, and one that Temporal's own tools wrote, is a test of today's code."""
    # OB-06
    async with runs.working(pondering([call("ponder", about="x"), say("done")])):
        run = await runs.start("it")
        await run.result()
        histories = await fetch(runs.client, run.handle.id)
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    ours.write_text(render_export(histories), encoding="utf-8")
    theirs.write_text(histories[0].to_json(), encoding="utf-8")

    for path in (ours, theirs):
        (history,) = read(path)
        await build_replayer(AgentRun).replay_workflow(history)
        assert (history.workflow_id, history.run_id) == (run.handle.id, histories[0].run_id)


async def test_a_file_named_like_a_run_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may write where an auditor stands puts no trace in the place of another unseen."""
    (histories, *_) = stored.unpack(stored.history_file("approvals").read_bytes())
    for name in ("run-7", "run-7.json"):
        (tmp_path / name).write_text(render_export(histories), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("run-7.json", "./run-7", "run-7"):
        await read_run(name)

    assert capsys.readouterr().err == "'run-7' is a file here: no run of that name is looked for\n"


async def test_history_counts_as_the_run_does(runs: Runs, tmp_path: Path) -> None:
    """What `show` reads of a finished run is what its worker would say: drafts count, too."""
    log = str(tmp_path / "log")
    async with runs.working(scripted([call("post", log=log, text="x"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        for number in range(25):
            await run.approve(f"req-{number + 7}", "mallory")
        await run.refusals(25)
        await run.approve(request.request_id)
        await run.result()
        usage = await run.handle.query("usage", result_type=UsageReport)
        status = await run.status()
        shown = await standing.view(Run(runs.client, run.handle.id))

    assert shown.source == "history"
    assert (shown.tool_calls, shown.step) == (usage.tool_calls, usage.steps)
    assert (shown.refused_total, len(shown.refused)) == (25, 20)
    assert [one.code for one in shown.refused] == [one.code for one in status.refused]


async def test_history_names_what_is_under_way(runs: Runs, tmp_path: Path) -> None:
    """Where no worker answers, `show` says by the history which tool runs, as a worker would."""
    log = tmp_path / "log"
    async with runs.working(scripted([call("hold", log=str(log)), say("done")])):
        run = await runs.start("it")
        while not log.exists():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)
        status = await run.status()
        shown = standing.read_view(read_trace([await run.handle.fetch_history()]))
        Path(f"{log}.go").touch()
        await run.result()
        over = standing.read_view(read_trace([await run.handle.fetch_history()]))

    assert shown.in_flight == status.in_flight == ("tool hold",)
    assert over.in_flight == ()


async def test_kill_switch_is_no_run(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The workflow of the kill switch has a history as well: it replays, but has no transcript."""
    file = tmp_path / "switches.json"
    off = {"kind": "tool", "name": "add", "by": "ann"}
    async with runs.working(scripted([say("done")])):
        kept = await runs.client.start_workflow(
            SWITCHES_WORKFLOW_TYPE, id=f"{runs.queue}-others", task_queue=runs.switches
        )
        await kept.signal("off", off)
        await kept.query("switches")
        file.write_text(render_export([await kept.fetch_history()]))
        await kept.terminate()

    traced = await asyncio.to_thread(main.run, ["trace", str(file)])
    objection = capsys.readouterr().err
    replayed = await asyncio.to_thread(main.run, ["replay", str(file)])

    assert (traced, replayed) == (1, 0)
    assert "is no run of an agent: its workflow type is 'HoldfastSwitches'" in objection


def test_what_no_worker_has_taken_replays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a run that has only just been started nothing was decided, so nothing deviates."""
    file = tmp_path / "run.json"
    file.write_text(render_export([Written().history]))

    assert main.run(["replay", str(file)]) == 0
    assert "1 event, the same decisions" in capsys.readouterr().out


def encrypted(history: WorkflowHistory) -> WorkflowHistory:
    """The history as it would be if a codec had encrypted every payload of the run."""
    exported = json.loads(history.to_json())
    for event in exported["events"]:
        garble(event.get("workflowExecutionStartedEventAttributes", {}).get("input"))
        garble(event.get("workflowExecutionCompletedEventAttributes", {}).get("result"))
        garble(event.get("activityTaskScheduledEventAttributes", {}).get("input"))
        garble(event.get("activityTaskCompletedEventAttributes", {}).get("result"))
        garble(event.get("markerRecordedEventAttributes", {}).get("details", {}).get("result"))
    return WorkflowHistory.from_json(history.workflow_id, exported)


def garble(payloads: dict[str, list[dict[str, str]]] | None) -> None:
    """Replace what payloads hold."""
    for payload in payloads["payloads"] if payloads else ():
        payload["data"] = "AP8="


def twinned(history: WorkflowHistory) -> WorkflowHistory:
    """The history as it would be if the model had given its call the id of another."""
    exported = json.loads(history.to_json())
    for event in exported["events"]:
        result = event.get("activityTaskCompletedEventAttributes", {}).get("result")
        for payload in result["payloads"] if result else ():
            said = json.loads(base64.b64decode(payload["data"]))
            for asked in said.get("calls", ()):
                asked["call_id"] = "twin"
            payload["data"] = base64.b64encode(json.dumps(said).encode()).decode()
    return WorkflowHistory.from_json(history.workflow_id, exported)


def test_a_room_is_full_to_the_byte() -> None:
    """What just fits is held, and nothing more."""
    # TR-13
    history = WorkflowHistory("it", [HistoryEvent(event_id=1)])
    room = Room(2 * history.events[0].ByteSize())
    room.take(history)
    room.take(history)

    with pytest.raises(HistoriesTooLarge):
        room.take(history)


@pytest.mark.parametrize(
    ("started", "named"), [({"workflowId": "run-1"}, "run-1"), ({}, "file")], ids=["says", "old"]
)
def test_a_history_of_temporals_own_tools_says_whose_it_is(
    tmp_path: Path, started: JsonObject, named: str
) -> None:
    """Where it was written by a server that doesn't say, it is called like its file."""
    # OB-06
    event = {"eventId": "1", "workflowExecutionStartedEventAttributes": started}
    file = tmp_path / "file.json"
    file.write_text(json.dumps({"events": [event]}), encoding="utf-8")

    assert [one.workflow_id for one in read(file)] == [named]
