"""A failed approach leaves nothing in the workspace: it is what it was at the checkpoint."""

from pathlib import Path
from typing import Literal

import pytest
from temporalio.client import WorkflowHistory

from holdfast import App, Backtracking
from holdfast.contracts.calls import ToolSuccess
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from holdfast.tools import list_files, read_file, write_file
from holdfast.tools.workspaces import Workspaces
from tests.control.controlled import asked_to_resolve, chained, recorded, replayed, resolve
from tests.histories import activities
from tests.running import Run, Runs

pytestmark = pytest.mark.usefixtures("sandboxed")


@guardrail(layer="output")
async def good(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Accept nothing but what is good."""
    return passed() if subject.text.endswith("good") else tripped("it isn't good")


def a_project(folder: Path) -> Path:
    """Two files and a link, as a project has them."""
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (project / "AGENTS.md").write_text("# Testing\n\nRun `make test`.\n")
    (project / "src" / "lamp.py").write_text("lit = False\n")
    (project / "lamp").symlink_to("src/lamp.py")
    return project


def an_app(folder: Path, script: Script, **agent: object) -> App:
    settings: dict[str, object] = {
        "acceptance": [good],
        "backtracking": Backtracking(max_backtracks=2),
        "project": folder / "project",
        "tools": [list_files, read_file, write_file],
        **agent,
    }
    return chained(script, **settings)


class Spoiling:
    """Spoils the workspace in each approach, looks at it in each plan, and notes its digest."""

    def __init__(self, home: Path, rounds: int) -> None:
        self._home = home
        self._rounds = rounds
        self.at_plans: dict[int, str] = {}
        self.at_ends: dict[int, str] = {}

    def _digest(self) -> str:
        """What is in the workspace of the one run, beside that of the sandbox's own probe."""
        (run,) = {one.name for one in (self._home / "workspaces").iterdir()} - {"probe"}
        return Workspaces(self._home).digest(run)

    def __call__(self, turn: ScriptTurn) -> Reply:
        """Plan, write two files, read one, and answer: bad until the last round."""
        number, place = divmod(turn.number - 1, 4)
        if turn.without_tools:
            self.at_plans[turn.number] = self._digest()
            return say(f"approach {number + 1}")
        if place == 1:
            return calls(
                call("write_file", path="src/lamp.py", content=f"lit = {number}\n"),
                call("write_file", path=f"new-{number}.txt", content="left over"),
            )
        if place == 2:
            return calls(call("read_file", path="src/lamp.py"), call("list_files", path="."))
        self.at_ends[turn.number] = self._digest()
        return say("good" if number == self._rounds else "bad")


def restored(*histories: WorkflowHistory) -> int:
    """How often the workspace was made what it was."""
    found = [one.name for history in histories for one in activities(history)]
    return found.count("restore_workspace")


async def read(run: Run) -> list[str]:
    """What was read of the lamp, and which names were listed, approach by approach."""
    found = [one.data for one in await run.results() if isinstance(one, ToolSuccess)]
    shown = [one for one in found if isinstance(one, dict)]
    texts = [str(one["text"]) for one in shown if "text" in one]
    entries = [one["entries"] for one in shown if "entries" in one]
    return texts + [
        " ".join(sorted(str(entry["name"]) for entry in listed if isinstance(entry, dict)))
        for listed in entries
        if isinstance(listed, list)
    ]


@pytest.mark.parametrize("events", [15_000, 1], ids=["one execution", "many executions"])
async def test_the_workspace_is_what_it_was(runs: Runs, tmp_path: Path, events: int) -> None:
    """The next plan finds the files as at the checkpoint; a success is not undone."""
    # BT-03 BT-05
    project = a_project(tmp_path)
    spoiling = Spoiling(tmp_path / "home", rounds=2)
    async with runs.working(an_app(tmp_path, spoiling, max_history_events=events)):
        run = await runs.start("it", "light the lamp")
        result = await run.result()
        histories = await replayed(runs, run)

    assert (result.answer, len(result.attempts)) == ("good", 2)
    assert len(set(spoiling.at_plans.values())) == 1
    assert len(set(spoiling.at_ends.values())) == 3
    assert not set(spoiling.at_plans.values()) & set(spoiling.at_ends.values())
    assert restored(*histories) == 2
    assert Workspaces(tmp_path / "home").digest(run.first_execution) == spoiling.at_ends[12]
    assert (project / "src" / "lamp.py").read_text() == "lit = False\n"
    assert not [line for line in recorded(*histories) if line.startswith("not undone")]
    assert result.compensation is None


async def test_each_approach_sees_its_own_files_alone(runs: Runs, tmp_path: Path) -> None:
    """What a dead approach wrote isn't there for the next one to find."""
    # BT-05
    a_project(tmp_path)
    async with runs.working(an_app(tmp_path, Spoiling(tmp_path / "home", rounds=1))):
        run = await runs.start("it", "light the lamp")
        await run.result()
        found = await read(run)

    assert found == [
        "lit = 0\n",
        "lit = 1\n",
        "AGENTS.md lamp new-0.txt src",
        "AGENTS.md lamp new-1.txt src",
    ]


async def test_a_checkpoint_outlives_its_worker(runs: Runs, tmp_path: Path) -> None:
    """After all approaches a person grants one more, to another worker: it begins clean."""
    # BT-05 BT-06 FB-15
    a_project(tmp_path)
    spoiling = Spoiling(tmp_path / "home", rounds=1)
    app = an_app(tmp_path, spoiling, backtracking=Backtracking(max_backtracks=0), escalates=True)
    async with runs.working(app):
        run = await runs.start("it", "light the lamp")
        request = await asked_to_resolve(run)
    async with runs.working(app):
        await resolve(run)
        result = await run.result()
        histories = await replayed(runs, run)

    assert (request.reason, result.answer) == ("Max backtracks exceeded", "good")
    assert (len(set(spoiling.at_plans.values())), restored(*histories)) == (1, 1)


@pytest.mark.parametrize("layer", ["output", "post_action"])
async def test_going_back_restores_once(
    runs: Runs, tmp_path: Path, layer: Literal["output", "post_action"]
) -> None:
    """Where a guardrail leaves an approach no other try, its files go back with it, not before."""
    # BT-05 GR-13
    a_project(tmp_path)

    @guardrail(layer=layer, on_trip="retry")
    async def never(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return tripped("not so")

    def trying(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say("light the lamp")
        if turn.transcript[-1].kind == "tool":
            return say("good")
        return call("write_file", path="src/lamp.py", content="lit = True")

    app = an_app(
        tmp_path,
        trying,
        guardrails=[never],
        max_output_retries=0,
        backtracking=Backtracking(max_backtracks=1),
    )
    async with runs.working(app):
        run = await runs.start("it", "light the lamp")
        result = await run.result()
        histories = await replayed(runs, run)
    (lamp,) = (tmp_path / "home" / "workspaces").glob("*/src/lamp.py")

    assert result.stop is not None
    assert (result.stop.reason, len(result.attempts)) == ("Max backtracks exceeded", 2)
    assert restored(*histories) == 2
    assert lamp.read_text() == "lit = False\n"
    assert result.compensation is None or not result.compensation.not_undone
