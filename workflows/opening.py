"""How a run begins: its input, the agent as it is now, or what an earlier execution left."""

from pydantic import JsonValue
from temporalio import workflow
from temporalio.exceptions import FailureError, is_cancelled_exception

from activities.opening import OpeningActivities
from contracts.errors import InvalidInput
from contracts.run import AgentSnapshot, OpenRun
from workflows import failures, messages, options, steps
from workflows.live import LiveRun


async def open_run(run: LiveRun, arguments: tuple[JsonValue, ...]) -> None:
    """Give a run its state. Raises InvalidInput where it can't begin."""
    info = workflow.info()
    run_id = info.workflow_id
    if info.retry_policy is not None or info.cron_schedule:
        # What they start again looks like a run that goes on, and would take a stranger's
        # input for a state: one that could have approvals in it.
        raise failures.refused("start AgentRun without retry policy and without cron schedule")
    if info.continued_run_id is not None:
        run.state = messages.run_state(arguments)
        return
    given = messages.run_input(arguments)
    unopened = AgentSnapshot.unopened(given.agent)
    run.state = steps.opened(run_id, given, unopened, workflow.now())
    try:
        agent = await workflow.execute_local_activity_method(
            OpeningActivities.open_run,
            OpenRun(agent=given.agent, task_kind=given.task_kind),
            **options.decision(f"open agent {given.agent}"),
        )
    except FailureError as error:
        if is_cancelled_exception(error) or not failures.is_refusal(error):
            raise
        raise InvalidInput(failures.message(error)) from error
    # Where opening took more than one workflow task, a replay knows only when the last one began.
    run.state = steps.opened(run_id, given, agent, workflow.now())
    if agent.route is not None:
        route = agent.route
        await run.record("reasoning", f"{route.task_kind}: {route.decision}, {route.reason}")
