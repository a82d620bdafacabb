"""The workspace of a run: filled from its project, marked, and taken back."""

from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from activities.project import ProjectActivities
from contracts.errors import InvalidInput
from contracts.project import OpenProject, RestoreWorkspace, SnapshotWorkspace
from contracts.transcript import UserTurn
from policy.project import rendered
from workflows import backtracking, failures, options, saga
from workflows.live import LiveRun
from workflows.transcript import appended


async def open_project(run: LiveRun) -> None:
    """Fill the workspace, and tell the model what the project says. Raises InvalidInput."""
    spec, path = run.state.agent.project, run.state.brief.metadata.get("path")
    if spec is None:
        raise InvalidInput("this agent has no project")
    asked = OpenProject(
        run_id=run.state.run_id, folder=spec.folder, path=path if isinstance(path, str) else ""
    )
    try:
        context = await workflow.execute_activity_method(
            ProjectActivities.open_project, asked, **options.workspace(f"open {spec.folder}")
        )
    except FailureError as error:
        if is_cancelled_exception(error):
            raise
        why = failures.message(error)
        if failures.was_never_taken(error):
            why = "no worker has the sandbox and its workspaces (docs/sandbox.md)"
        raise InvalidInput(f"the project can't be opened: {why}") from error
    run.state = run.state.model_copy(update={"project": context})
    if words := rendered(context):
        run.state = appended(run.state, UserTurn(text=words, origin="project"))


async def mark_checkpoint(run: LiveRun) -> None:
    """Note where to go back to, with a snapshot of the workspace where the run has one."""
    workspace = ""
    if run.state.agent.project is not None:
        snapshot = await workflow.execute_activity_method(
            ProjectActivities.snapshot_workspace,
            SnapshotWorkspace(run_id=run.state.run_id),
            **options.workspace("snapshot the workspace"),
        )
        workspace = snapshot.digest
    run.state = backtracking.marked(run.state, workspace)


async def go_back(run: LiveRun) -> None:
    """Give up an approach: take back what it did, and go back to the checkpoint."""
    reason, checkpoint = run.state.dead_end, run.state.checkpoint
    await run.record("approach failed", reason)
    workspace = checkpoint.workspace if checkpoint else ""
    undone = await saga.undo(run, workspace_restored=bool(workspace))
    if workspace:
        await workflow.execute_activity_method(
            ProjectActivities.restore_workspace,
            RestoreWorkspace(run_id=run.state.run_id, digest=workspace),
            **options.workspace(f"restore the workspace to {workspace[:12]}"),
        )
    run.state = backtracking.gone_back(run.state, undone, workflow.now())
