"""The workspace of a run: filled from its project, marked, and taken back."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, FailureError

from holdfast.activities.project import ProjectActivities
from holdfast.contracts.budget import Ledger
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.project import OpenProject, RestoreWorkspace, SnapshotWorkspace
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import UserTurn
from holdfast.policy.project import render
from holdfast.run import backtracking, tool_results
from holdfast.run.transcript import append_items, halt
from holdfast.workflows import failures, options, tool_call
from holdfast.workflows.run_context import RunContext, is_cancellation, wait_for_resume


async def open_project(run: RunContext) -> None:
    """
    Fill the workspace, and tell the model what the project says.

    Where that can't be, a run that has done nothing yet never began: raises ApplicationError
    (InvalidInput).
    """
    spec, path = run.state.agent.project, run.state.brief.metadata.get("path")
    if spec is None:
        raise InvalidInput("this agent has no project")
    asked = OpenProject(
        run_id=run.state.run_id,
        first_execution_run_id=run.state.first_execution_run_id,
        folder=spec.folder,
        path=path if isinstance(path, str) else "",
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


async def mark_checkpoint(run: RunContext) -> None:
    """Note where to go back to, with a snapshot of the workspace where the run has one."""
    workspace = ""
    if run.state.agent.project is not None:
        try:
            snapshot = await workflow.execute_activity_method(
                ProjectActivities.snapshot_workspace,
                SnapshotWorkspace(
                    run_id=run.state.run_id,
                    first_execution_run_id=run.state.first_execution_run_id,
                ),
                **options.workspace("snapshot the workspace"),
            )
        except ActivityError as error:
            if is_cancellation(error):
                raise
            why = failures.message(error)
            return _halt_without_workspace(run, StopReason.WORKSPACE_NOT_KEPT, why)
        workspace = snapshot.digest
    run.state = backtracking.set_checkpoint(run.state, workspace)
    return None


async def roll_back(run: RunContext) -> None:
    """
    Give up an approach: take back what it did, and go back to the checkpoint.

    Of a run that a person has stopped meanwhile nothing is taken back, nor its workspace.
    """
    reason = run.state.approaches.dead_end
    await run.record("approach failed", reason)
    await wait_for_resume(run)  # as before whatever else is taken back
    workspace = backtracking.find_workspace_to_restore(run.state)
    with run.track_in_flight("workspace"):
        failure = await _restore_workspace(run, workspace) if workspace else None
    undone = await tool_call.compensate(
        run, workspace_restored=bool(workspace) and failure is None
    )
    if failure is None and not run.state.is_ending:
        run.state = backtracking.roll_back(run.state, undone, workflow.now())
        return
    run.state = tool_results.record_compensation(run.state, undone)
    if failure is not None:
        why = failures.message(failure)
        _halt_without_workspace(run, StopReason.WORKSPACE_NOT_RESTORED, why)


async def _restore_workspace(run: RunContext, workspace: str) -> ActivityError | None:
    """Restore the workspace; return why it can't be."""
    try:
        await workflow.execute_activity_method(
            ProjectActivities.restore_workspace,
            RestoreWorkspace(
                run_id=run.state.run_id,
                first_execution_run_id=run.state.first_execution_run_id,
                digest=workspace,
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
