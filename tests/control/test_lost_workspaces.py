"""A workspace that can't be restored ends the run, and nothing is told to be undone that isn't."""

import shutil
from pathlib import Path

import pytest

from holdfast import Backtracking
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.tools import write_file
from tests.control.controlled import chained, replayed
from tests.control.guarded import create_draft
from tests.running import Runs
from tests.sample import lines


@pytest.mark.usefixtures("sandboxed")
async def test_what_stays_is_not_told_as_undone(runs: Runs, tmp_path: Path) -> None:
    """Drafts elsewhere are taken back all the same; the files of the lost workspace stay."""
    # BT-05 GR-13
    log, project = str(tmp_path / "log"), tmp_path / "project"
    project.mkdir()
    (project / "lamp.txt").write_text("dark\n")

    @guardrail(layer="output")
    async def never(_: Subject, __: GuardrailContext) -> GuardrailResult:
        shutil.rmtree(tmp_path / "home" / "snapshots")
        return tripped("it isn't good")

    def trying(turn: ScriptTurn) -> Reply:
        if turn.without_tools:
            return say("light the lamp")
        if turn.results:
            return say("lit")
        return calls(
            call("write_file", path="lamp.txt", content="lit"),
            call("create_draft", log=log, title="bill"),
        )

    app = chained(
        trying,
        acceptance=[never],
        backtracking=Backtracking(),
        project=project,
        tools=[write_file, create_draft],
    )
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        await replayed(runs, run)

    assert result.stop is not None
    assert (result.status, result.stop.reason) == ("failed", "the workspace can't be restored")
    assert lines(log) == ["created bill", "removed bill"]
    assert result.compensation is not None
    assert [line.partition("(")[0] for line in result.compensation.undone] == ["create_draft"]
    assert [line.partition("(")[0] for line in result.compensation.not_undone] == ["write_file"]
