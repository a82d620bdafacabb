"""The workspace of a run: filled from its project, marked, and taken back."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError

from holdfast.activities.project import ProjectActivities
from holdfast.contracts import project
from holdfast.contracts.budget import Ledger
from holdfast.contracts.effects import Compensation
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import UserTurn
from holdfast.policy.project import render
from holdfast.run import backtracking, tool_results, tripwires
from holdfast.run.step.kinds import KeepWorkspace, MarkCheckpoint, OpenProject
from holdfast.run.transcript import append_items, halt
from holdfast.workflows import failures, options
from holdfast.workflows.execution.compensation import compensate
from holdfast.workflows.run_context import RunContext, is_cancellation, wait_for_resume


async def prepare_workspace(
    run: RunContext, step: OpenProject | KeepWorkspace | MarkCheckpoint
) -> None:
    """Have the workspace as the next step needs it."""
    match step:
        case OpenProject():
            await _open_project(run)
        case KeepWorkspace():
            await _keep_workspace(run)
        case MarkCheckpoint():
            await _mark_checkpoint(run)


async def _open_project(run: RunContext) -> None:
    """
    Fill the workspace, and tell the model what the project says.

    Where that can't be, a run that has done nothing yet never began: raises ApplicationError
    (InvalidInput).
    """
    spec, path = run.state.agent.project, run.state.brief.metadata.get("path")
    if spec is None:
        raise InvalidInput("this agent has no project")
    asked = project.OpenProject(
        run_id=run.state.run_id,
        first_execution_run_id=run.state.first_execution_run_id,
        folder=spec.folder,
        path=path if isinstance(path, str) else "",
        regulated=run.state.brief.regulated,
        tenant=run.state.brief.tenant,
    )
    try:
        context = await workflow.execute_activity_method(
            ProjectActivities.open_project, asked, **options.workspace(f"open {spec.folder}")
        )
    except FailureError as error:
        if is_cancellation(error):
            raise
        why = failures.message(error)
        if failures.is_schedule_to_start_timeout(error):
            why = "no worker has the sandbox and its workspaces (docs/sandbox.md)"
        if _has_begun(run.state):
            return _halt_without_workspace(run, StopReason.PROJECT_NOT_OPENED, why)
        raise failures.build_start_refusal(f"the project can't be opened: {why}") from error
    run.state = run.state.with_(project=context)
    if words := render(context):
        run.state = append_items(run.state, UserTurn(text=words, origin="project"))
    return None


def _has_begun(state: RunState) -> bool:
    """Whether something was done or used before the project: who judges a goal does so first."""
    return bool(state.effects.done or state.effects.forgotten) or state.ledger != Ledger()


async def _mark_checkpoint(run: RunContext) -> None:
    """Note where to go back to, with a snapshot of the workspace where the run has one."""
    workspace = "" if run.state.agent.project is None else await _snapshot_workspace(run)
    if workspace is not None:
        run.state = backtracking.set_checkpoint(run.state, workspace)


async def _keep_workspace(run: RunContext) -> None:
    """Keep the files as they are before the first call that may change them."""
    workspace = await _snapshot_workspace(run)
    if workspace is not None:
        run.state = run.state.with_effects(workspace=workspace)


async def _snapshot_workspace(run: RunContext) -> str | None:
    """Keep what is in the workspace; where that can't be, the run has ended."""
    try:
        snapshot = await workflow.execute_activity_method(
            ProjectActivities.snapshot_workspace,
            project.SnapshotWorkspace(
                run_id=run.state.run_id,
                first_execution_run_id=run.state.first_execution_run_id,
                tenant=run.state.brief.tenant,
            ),
            **options.workspace("snapshot the workspace"),
        )
    except ActivityError as error:
        if is_cancellation(error):
            raise
        why = failures.message(error)
        _halt_without_workspace(run, StopReason.WORKSPACE_NOT_KEPT, why)
        return None
    return snapshot.digest


async def roll_back(run: RunContext) -> None:
    """
    Give up an approach: take back what it did, and no more, and go back to the checkpoint.

    Of a run that a person has stopped meanwhile nothing is taken back, nor its workspace.
    """
    reason = run.state.approaches.dead_end
    await run.record("approach failed", reason)
    await wait_for_resume(run)  # as before whatever else is taken back
    workspace = backtracking.find_workspace_to_restore(run.state)
    failure = await _restore_workspace(run, workspace) if workspace else None
    since = run.state.effects.stood
    undone = await compensate(
        run, "restored" if workspace and failure is None else "standing", since=since
    )
    if failure is None and not run.state.is_ending:
        run.state = backtracking.roll_back(run.state, undone, workflow.now())
        return
    run.state = tool_results.record_compensation(run.state, undone, since=since)
    if failure is not None:
        why = failures.message(failure)
        _halt_without_workspace(run, StopReason.WORKSPACE_NOT_RESTORED, why)


async def take_back(run: RunContext, *, files: bool) -> Compensation:
    """
    Take back what the run did, and its *files* to how they were before it changed any.

    Files that can't be restored are told as all else that stands.
    """
    await wait_for_resume(run)
    workspace = run.state.effects.workspace
    if not files or run.state.is_ending or not workspace:
        return await compensate(run, "standing" if files else "kept")
    if (failure := await _restore_workspace(run, workspace)) is not None:
        await run.record("not undone", f"the workspace: {failures.message(failure)}")
        return await compensate(run, "standing")
    run.state = run.state.with_effects(workspace="")
    return await compensate(run, "restored")


async def take_back_before_stop(run: RunContext, stop: Stop) -> Stop:
    """Take back what is left of a run that ends for it; say what couldn't be."""
    undone = await take_back(run, files=True)
    run.state = tool_results.record_compensation(run.state, undone)
    return tripwires.with_losses(stop, undone.not_undone)


async def _restore_workspace(run: RunContext, workspace: str) -> ActivityError | None:
    """Restore the workspace; return why it can't be."""
    try:
        with run.track_in_flight("workspace"):
            await workflow.execute_activity_method(
                ProjectActivities.restore_workspace,
                project.RestoreWorkspace(
                    run_id=run.state.run_id,
                    first_execution_run_id=run.state.first_execution_run_id,
                    digest=workspace,
                    tenant=run.state.brief.tenant,
                ),
                **options.workspace(f"restore the workspace to {workspace[:12]}"),
            )
    except ActivityError as error:
        if is_cancellation(error):
            raise
        return error
    return None


def _halt_without_workspace(run: RunContext, reason: StopReason, why: str) -> None:
    """End a run whose workspace is out of reach."""
    run.state = halt(run.state, Stop.because(reason, why), workflow.now(), "failed")
