"""Attacks by name: a run takes the id of another one, or an id that means something elsewhere."""

from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

from examples.reconcile.tools import REPORTS, send_report, write_report
from holdfast import tools as builtin
from holdfast.contracts.bounds import MAX_RUN_ID_CHARS
from holdfast.contracts.patterns import is_run_id
from holdfast.contracts.run import RunResult
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.running import Run, Runs
from tests.sample import lines, scripted, told

TENANTS = ("acme", "rival")


async def started(runs: Runs, run_id: str, tenant: str = "acme", goal: str = "go") -> Run:
    handle: WorkflowHandle[object, RunResult] = await runs.client.start_workflow(
        "AgentRun",
        {"agent": "it", "input": goal, "tenant": tenant},
        id=run_id,
        task_queue=runs.queue,
        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        result_type=RunResult,
    )
    return Run(handle)


def looking(turn: ScriptTurn) -> Reply:
    """Leave a secret where the goal says so, and else say which files are there."""
    if turn.results:
        return say(str(turn.last("list_files")))
    if turn.goal == "leave":
        return call("write_file", path="secret.txt", content="acme's")
    return call("list_files", path=".")


@pytest.mark.usefixtures("sandbox_home")
@pytest.mark.parametrize("before", ["the same id", "the folder of that name"])
async def test_no_run_finds_what_another_left(runs: Runs, tmp_path: Path, before: str) -> None:
    """Neither a run of the same id nor a folder made ahead of it is in a run's workspace."""
    app = scripted(looking, tools=[builtin.write_file, builtin.list_files])
    run_id = f"run-{uuid4().hex[:8]}"
    poisoned = tmp_path / "home" / "workspaces" / run_id
    async with runs.working(app):
        if before == "the same id":
            first = await started(runs, run_id, goal="leave")
            await first.result()
            assert (await first.success()).name == "write_file"
        else:
            poisoned.mkdir(parents=True)
            (poisoned / "secret.txt").write_text("run me")
        second = await started(runs, run_id, tenant="rival")
        result = await second.result()

    assert "secret.txt" not in (result.answer or "")


async def test_two_runs_of_one_id_share_no_key(runs: Runs, tmp_path: Path) -> None:
    """A tool that honours idempotency keys answers no run with what another one did."""
    log = tmp_path / "log"
    run_id = f"run-{uuid4().hex[:8]}"
    async with runs.working(scripted([call("send", log=str(log), text="hi"), told])):
        for tenant in TENANTS:
            run = await started(runs, run_id, tenant)
            await run.approve((await run.asked_for_approval()).request_id)
            await run.result()

    keys = [line.partition(" ")[0] for line in lines(log)]
    assert len(set(keys)) == len(keys) == 2
    assert not any(run_id in key for key in keys)


async def test_two_runs_of_one_id_share_no_artifact(runs: Runs, tmp_path: Path) -> None:
    """The whole of a large result stays what it was when a later run has the same id."""
    run_id = f"run-{uuid4().hex[:8]}"
    kept: list[Path] = []
    async with runs.working(scripted([call("flood", characters=30_000), told])):
        for tenant in TENANTS:
            run = await started(runs, run_id, tenant)
            await run.result()
            found = await run.success()
            assert found.artifact is not None
            kept.append(Path(found.artifact.path))

    assert kept[0] != kept[1]
    assert all(path.is_file() for path in kept)


COLUMNS = {"key": "order_id", "amount_column": "amount", "currency_column": "currency"}


def reporting(turn: ScriptTurn) -> Reply:
    """Write a report and say where it is; or send the one that the goal names."""
    if turn.results:
        written = turn.last("write_report")
        return say(str(written["path"] if isinstance(written, dict) else turn.results))
    if turn.goal == "write":
        files = {"left": "orders.csv", "right": "payments.csv", "tolerance": "0.01"}
        return call("write_report", title="Acme's", commentary="Acme's", **files, **COLUMNS)
    return call("send_report", report=turn.goal, to="boss@rival.example", subject="ours")


@pytest.mark.parametrize("guess", ["where it is", "by the run's name"])
async def test_no_run_sends_the_report_of_another(
    skipping_runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guess: str
) -> None:
    """What a run reported is shown to nobody as the report of a later run with its id."""
    monkeypatch.chdir(tmp_path)
    runs, run_id = skipping_runs, f"run-{uuid4().hex[:8]}"
    async with runs.working(scripted(reporting, tools=[write_report, send_report])):
        first = await started(runs, run_id, goal="write")
        kept = (await first.result()).answer or ""
        path = kept if guess == "where it is" else f"{REPORTS}/{run_id}.md"
        second = await started(runs, run_id, tenant="rival", goal=path)
        result = await second.result()
        refused = await second.failure()

    assert "Acme's" in Path(kept).read_text()
    assert refused.reason == f"this run has no report {path!r}"
    assert "Acme's" not in (result.answer or "")


ODD = ["R/c", "a b", "a\nb", "\x1b[2Ja", "..", "-rf", "ünder", "a\u202eb", "a" * 129, "$(reboot)"]


async def test_an_odd_id_begins_no_run(runs: Runs, subtests: pytest.Subtests) -> None:
    """It ends in history with one line that says what an id is, before anything is decided."""
    async with runs.working(scripted([say("done")])):
        for name in ODD:
            with subtests.test(ascii(name)):
                run = await started(runs, name)
                with pytest.raises(WorkflowFailureError) as raised:
                    await run.result()
                described = await run.handle.describe()

                assert described.status is WorkflowExecutionStatus.FAILED
                cause = raised.value.cause
                assert isinstance(cause, ApplicationError)
                assert (cause.type, cause.non_retryable) == ("InvalidInput", True)
                assert cause.message.startswith(
                    "an id is made of letters, digits and . _ : - alone"
                )
                assert "\n" not in cause.message


@pytest.mark.parametrize("name", ["a", "9", "run-1.2-part-3", "A_b:c", "x" * MAX_RUN_ID_CHARS])
def test_these_are_ids(name: str) -> None:
    """Names that people and programs choose are ids, and so are those of parts."""
    assert is_run_id(name)


@pytest.mark.parametrize("name", ["", ".a", "_a", "a" * (MAX_RUN_ID_CHARS + 1), "a/b", "a\n", "é"])
def test_these_are_none(name: str) -> None:
    """What a path, a terminal or a shell reads otherwise is none."""
    assert not is_run_id(name)
