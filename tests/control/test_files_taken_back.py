"""When files go back with what else is taken back, and when they stay: docs/design.md, Control."""

from pathlib import Path
from typing import Literal

import pytest
from temporalio.client import WorkflowHistory

from holdfast import App
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.project import WorkspaceSnapshot
from holdfast.contracts.run import RunResult
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tests_pass,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.tools import read_file, write_file
from holdfast.tools.workspaces import Workspaces
from tests.control.controlled import chained, replayed
from tests.running import Run, Runs
from tests.workflows.test_permissions import policy

pytestmark = pytest.mark.usefixtures("sandboxed")

Layer = Literal["output", "post_action"]
OnTrip = Literal["block", "retry"]


def lamps(folder: Path, layer: Layer, on_trip: OnTrip, **agent: object) -> App:
    """An agent that lights a lamp, with a guardrail that lets nobody say "first" or "bad"."""
    project = folder / "project"
    project.mkdir(exist_ok=True)
    (project / "lamp.txt").write_text("dark", encoding="utf-8")

    @guardrail(layer=layer, on_trip=on_trip)
    async def picky(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        return tripped("not so") if subject.text in {"first", "bad"} else passed()

    settings: dict[str, object] = {
        "project": project,
        "tools": [read_file, write_file],
        "guardrails": [picky],
        **agent,
    }
    return chained(lighting, **settings)


def lighting(turn: ScriptTurn) -> Reply:
    """Light the lamp and say it wrongly; then look at it, and say it well."""
    match turn.number:
        case 1:
            return calls(
                call("write_file", path="lamp.txt", content="lit"),
                call("write_file", path="wick.txt", content="new"),
            )
        case 3:
            return call("read_file", path="lamp.txt")
        case number:
            return say("first" if number == 2 else "second")


def files_of(folder: Path) -> dict[str, str]:
    """What the run's workspace holds."""
    (lamp,) = (folder / "home" / "workspaces").glob("*/lamp.txt")
    return {one.name: one.read_text(encoding="utf-8") for one in lamp.parent.iterdir()}


async def ended(runs: Runs, app: App) -> tuple[Run, RunResult, tuple[WorkflowHistory, ...]]:
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        return run, result, await replayed(runs, run)


async def seen(runs: Runs, app: App) -> tuple[RunResult, str, str]:
    """Run to the end; with what the model read of the lamp, and what the guardrail's trip told."""
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        read = (await run.results())[-1]
        items = (await run.transcript()).items
        await replayed(runs, run)
    told = [one.text for one in items if isinstance(one, UserTurn) and one.origin == "constraint"]
    assert isinstance(read, ToolSuccess)
    return result, str(read.data), told[0]


async def test_words_sent_back_keep_the_files(runs: Runs, tmp_path: Path) -> None:
    """An answer that trips for its words is said anew over the same work, which stays."""
    # GR-13 GR-14
    result, read, told = await seen(runs, lamps(tmp_path, "output", "retry"))

    assert (result.status, result.answer, "lit" in read) == ("completed", "second", True)
    assert files_of(tmp_path) == {"lamp.txt": "lit", "wick.txt": "new"}
    assert result.compensation is not None
    assert (result.compensation.undone, result.compensation.not_undone) == ((), ())
    assert "taken back" not in told


async def test_an_effect_that_trips_takes_the_files_back(runs: Runs, tmp_path: Path) -> None:
    """Who looks at what was done has it undone, files too, and the model is told."""
    # GR-13 NR-09
    result, read, told = await seen(runs, lamps(tmp_path, "post_action", "retry"))

    assert (result.status, "dark" in read) == ("completed", True)
    assert files_of(tmp_path) == {"lamp.txt": "dark"}
    assert result.compensation is not None
    assert (len(result.compensation.undone), result.compensation.not_undone) == (2, ())
    assert "This was taken back: write_file(" in told


@pytest.mark.parametrize("layer", ["output", "post_action"])
async def test_a_blocked_run_leaves_the_files_as_they_were(
    runs: Runs, tmp_path: Path, layer: Layer
) -> None:
    """A tripwire that ends the run takes back all of it: overwritten files, and new ones."""
    # GR-13 NR-09
    _, result, _ = await ended(runs, lamps(tmp_path, layer, "block"))

    assert result.status == "blocked"
    assert files_of(tmp_path) == {"lamp.txt": "dark"}
    assert result.compensation is not None
    assert (len(result.compensation.undone), result.compensation.not_undone) == (2, ())


async def test_the_last_try_takes_back_what_the_first_kept(runs: Runs, tmp_path: Path) -> None:
    """Where no words are good enough the run ends blocked, and its files go back then."""
    # GR-13
    app = lamps(tmp_path, "output", "retry", max_output_retries=1, max_history_events=1)
    app.scripts["1"] = lambda turn: say("bad") if turn.number > 2 else lighting(turn)

    _, result, _ = await ended(runs, app)

    assert result.status == "blocked"
    assert files_of(tmp_path) == {"lamp.txt": "dark"}
    assert result.compensation is not None
    assert len(result.compensation.undone) == 2


async def test_what_a_command_of_a_guardrail_changes_goes_back_too(
    runs: Runs, tmp_path: Path
) -> None:
    """The files are kept before it, though no model has changed any; once is enough."""
    # NR-09
    rule = "{id: lights, effect: allow, match: {tools: [run_command], commands: [sh]}}"
    checks = [tests_pass(("sh", "light.sh"))]
    (agent,) = lamps(tmp_path, "output", "block", acceptance=checks).agents
    lights = "echo lit > lamp.txt; echo new > wick.txt"
    (tmp_path / "project" / "light.sh").write_text(lights, encoding="utf-8")
    app = App(agents=[agent], scripts={"1": [say("bad")]}, policy=policy(tmp_path, rule))

    _, result, histories = await ended(runs, app)

    assert result.status == "blocked"
    assert len(snapshots(histories)) == 1
    assert files_of(tmp_path) == {"lamp.txt": "dark", "light.sh": lights}


async def test_what_was_overwritten_can_be_had_again(runs: Runs, tmp_path: Path) -> None:
    """Before the first call that may change a file all are kept; who only reads keeps nothing."""
    # NR-09
    run, _, histories = await ended(runs, lamps(tmp_path, "output", "retry"))
    (kept,) = snapshots(histories)
    Workspaces(tmp_path / "home").restore(run.first_execution, kept.digest)

    assert files_of(tmp_path) == {"lamp.txt": "dark"}


async def test_who_only_reads_keeps_nothing(runs: Runs, tmp_path: Path) -> None:
    """No file is kept of a run that changes none."""
    app = lamps(tmp_path, "output", "block")
    app.scripts["1"] = [call("read_file", path="lamp.txt"), say("dark")]

    _, result, histories = await ended(runs, app)

    assert (result.answer, snapshots(histories)) == ("dark", [])


def snapshots(histories: tuple[WorkflowHistory, ...]) -> list[WorkspaceSnapshot]:
    """What was kept, as history has it."""
    events = [event for history in histories for event in history.events]
    names = {
        event.event_id: event.activity_task_scheduled_event_attributes.activity_type.name
        for event in events
        if event.HasField("activity_task_scheduled_event_attributes")
    }
    done = [event.activity_task_completed_event_attributes for event in events]
    return [
        WorkspaceSnapshot.model_validate_json(one.result.payloads[0].data)
        for one in done
        if names.get(one.scheduled_event_id) == "snapshot_workspace"
    ]
