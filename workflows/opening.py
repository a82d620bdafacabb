"""How a run begins: its input, the agent as it is now, or what an earlier execution left."""

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from holdfast.activities.opening import OpeningActivities
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.run import RUN_IDS, AgentSnapshot, OpenRun, RunInput, is_run_id
from holdfast.contracts.state import RunState
from holdfast.run import gates, tool_calls, turns
from holdfast.workflows import failures, messages, options
from holdfast.workflows.run_context import RunContext


async def open_run(run: RunContext, arguments: tuple[JsonValue, ...]) -> None:
    """Give a run its state. Raises InvalidInput where it can't begin."""
    info = workflow.info()
    if not is_run_id(info.workflow_id):
        raise failures.refused(f"{RUN_IDS}: start it again under such an id")
    if info.retry_policy is not None or info.cron_schedule:
        # What they start again looks like a run that goes on, and would take a stranger's
        # input for a state: one that could have approvals in it.
        raise failures.refused("start AgentRun without retry policy and without cron schedule")
    if info.continued_run_id is not None:
        run.state = _carried(messages.run_state(arguments), info)
        return
    given = messages.run_input(arguments)
    unopened = AgentSnapshot.unopened(given.agent)
    run.state = _opened(given, unopened, info)
    try:
        agent = await workflow.execute_local_activity_method(
            OpeningActivities.open_run,
            OpenRun(run_id=info.workflow_id, agent=given.agent, task_kind=given.task_kind),
            **options.record(f"open agent {given.agent}"),
        )
    except FailureError as error:
        if is_cancelled_exception(error) or not failures.is_refusal(error):
            raise
        raise InvalidInput(failures.message(error)) from error
    # Where opening took more than one workflow task, a replay knows only when the last one began.
    run.state = _opened(given, agent, info)
    if agent.route is not None:
        route = agent.route
        await run.record("reasoning", f"{route.task_kind}: {route.decision}, {route.reason}")


def _opened(given: RunInput, agent: AgentSnapshot, info: workflow.Info) -> RunState:
    return turns.opened(
        given,
        agent,
        workflow.now(),
        run_id=info.workflow_id,
        first_execution_run_id=info.first_execution_run_id,
        execution=info.original_execution_run_id,
    )


def _carried(state: RunState, info: workflow.Info) -> RunState:
    """Take the state of this run's execution before; that of another run has its approvals."""
    if state.first_execution_run_id != info.first_execution_run_id:
        raise InvalidInput("AgentRun can't go on from the state of another run")
    # Stays the same in a reset, as all that is replayed must.
    state = state.model_copy(update={"execution": info.original_execution_run_id})
    return gates.reopened(tool_calls.reopened(state))
