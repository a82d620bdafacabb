"""How a run begins: with an agent that a worker gave it, or with the state that it had before."""

from typing import Annotated

from pydantic import Field, JsonValue, TypeAdapter, ValidationError
from temporalio import workflow

from holdfast.activities.opening import OpeningActivities
from holdfast.contracts.control import RetryOf
from holdfast.contracts.delegation.carryover import Carryover, ReadEarlierRun
from holdfast.contracts.delegation.workers import FindWorker, OpenRun
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.patterns import RUN_ID_RULE, is_run_id
from holdfast.contracts.run import WORKFLOW_TYPE, AgentSnapshot, RunInput
from holdfast.contracts.state.run import RunState
from holdfast.contracts.switches import SWITCHES
from holdfast.run import gates, tool_calls, turns
from holdfast.run.earlier import recorded_results, retries
from holdfast.run.limits import regulation
from holdfast.workflows import failures, options, resets
from holdfast.workflows.execution.search_attributes import APP
from holdfast.workflows.handing_back import UNTIL_FOUND, on_capable_worker, once_there_is_room
from holdfast.workflows.inbound import messages
from holdfast.workflows.run_context import RunContext

NOTICED_LATE = "noticed-late"
"""The patch by which a reset is noticed that the execution before this one had no time to."""

_APP_NAME = TypeAdapter[str](Annotated[str, Field(min_length=1, max_length=100)])


async def open_run(run: RunContext, arguments: tuple[JsonValue, ...]) -> None:
    """Give a run its state. Raises ApplicationError (InvalidInput) where it can't begin."""
    info = workflow.info()
    require_plain_start(info, WORKFLOW_TYPE)
    if info.continued_run_id is not None:
        await adopt_state(run, messages.read_run_state(arguments, WORKFLOW_TYPE), info)
        return
    try:
        given = messages.read_run_input(arguments, has_parent=info.parent is not None)
    except InvalidInput as error:
        raise failures.build_start_refusal(str(error)) from None
    unopened = AgentSnapshot.placeholder(given.agent)
    run.state = _build_state(given, unopened, info)
    earlier, task_kind = None, given.task_kind
    if given.retry_of is not None:
        earlier = await _read_earlier_run(given, given.retry_of)
        given, task_kind = retries.take_over_limits(given, earlier), earlier.brief.task_kind
    agent = await _open_agent(given, task_kind)
    given = given.copy_with({"regulated": given.regulated or agent.regulated})
    # Where opening took more than one workflow task, a replay knows only when the last one began.
    state = _build_state(given, agent, info)
    run.state = state if earlier is None else retries.go_on_behind(state, earlier)
    try:
        regulation.require_own_conversation(run.state.brief)
    except InvalidInput as error:
        raise failures.build_start_refusal(str(error)) from None
    if agent.route is not None:
        route = agent.route
        await run.record("reasoning", f"{route.task_kind}: {route.decision}, {route.reason}")


def require_plain_start(info: workflow.Info, kind: str) -> None:
    """Refuse an id that no run can have, and what starts workflows again by itself."""
    if not is_run_id(info.workflow_id):
        raise failures.build_start_refusal(f"{RUN_ID_RULE}: start it again under such an id")
    if info.workflow_id == SWITCHES:
        why = f"{SWITCHES!r} is the id of the kill switch: start {kind} under another one"
        raise failures.build_start_refusal(why)
    if info.retry_policy is not None or info.cron_schedule:
        # What they start again looks like a run that goes on, and would take a stranger's
        # input for a state: one that could have approvals in it.
        raise failures.build_start_refusal(
            f"start {kind} without retry policy and without cron schedule"
        )


async def _open_agent(given: RunInput, task_kind: str | None) -> AgentSnapshot:
    """Return the agent as a worker has it, with the models that the start names."""
    agent = await open_agent(
        given.agent, task_kind, _find_app(), regulated=given.regulated, path=given.path
    )
    try:
        if given.is_dry:
            recorded_results.require_dry(agent)
        return turns.choose_models(agent, given.models)
    except InvalidInput as error:
        raise failures.build_start_refusal(str(error)) from None


def _find_app() -> str | None:
    """
    Return the app whose workers alone begin this run, as the run says that it works for.

    Nobody else says it; what nobody can read, no run has said.
    """
    info = workflow.info()
    said = info.raw_memo.get(APP)
    if info.parent is None or said is None:
        return None
    try:
        return _APP_NAME.validate_json(said.data)
    except ValidationError:
        return None


async def open_agent(
    name: str,
    task_kind: str | None,
    app: str | None = None,
    *,
    regulated: bool = False,
    path: tuple[str, ...] = (),
) -> AgentSnapshot:
    """
    Have a worker, of this *app* if one is named, say what the agent is now.

    It works for the agents of *path*, if any. Raises ApplicationError where none has it, or where
    it may not begin: nothing has begun then.
    """
    run_id = workflow.info().workflow_id
    with failures.refuse_start():
        return await on_capable_worker(
            FindWorker(run_id=run_id, app=app, agent=name),
            lambda: workflow.execute_local_activity_method(
                OpeningActivities.open_run,
                OpenRun(
                    run_id=run_id,
                    agent=name,
                    task_kind=task_kind,
                    app=app,
                    regulated=regulated,
                    within_unregulated=bool(path) and not regulated,
                ),
                **options.record(f"open agent {name}"),
            ),
            UNTIL_FOUND,
        )


async def _read_earlier_run(given: RunInput, retry_of: RetryOf) -> Carryover:
    """
    Return what the run left that is tried again; raises ApplicationError where it may not be.

    It is a local activity, because any client could say what an ordinary one came to.
    """
    asked = ReadEarlierRun(
        run_id=workflow.info().workflow_id,
        agent=given.agent,
        tenant=given.tenant,
        retry_of=retry_of,
        earlier_actors=given.earlier_actors,
    )
    with failures.refuse_start():
        return await once_there_is_room(
            lambda: workflow.execute_local_activity_method(
                OpeningActivities.read_earlier_run,
                asked,
                **options.read_earlier_run(f"what run {retry_of.run_id} left"),
            )
        )


def _build_state(given: RunInput, agent: AgentSnapshot, info: workflow.Info) -> RunState:
    return turns.start_run(
        given,
        agent,
        workflow.now(),
        run_id=info.workflow_id,
        first_execution_run_id=info.first_execution_run_id,
        execution=info.original_execution_run_id,
    )


async def adopt_state(run: RunContext, state: RunState, info: workflow.Info) -> None:
    """
    Take the state of this run's execution before; that of another run has its approvals.

    One that was reset, and decided nothing since, has yet to notice it: it counts by another one.
    """
    if state.first_execution_run_id != info.first_execution_run_id:
        raise InvalidInput(f"{info.workflow_type} can't go on from the state of another run")
    # Stays the same in a reset, as all that is replayed must.
    execution = info.original_execution_run_id
    if state.execution == info.continued_run_id or not workflow.patched(NOTICED_LATE):
        state = state.with_(execution=execution)
    run.state = gates.invalidate_call_checks(tool_calls.invalidate(state, in_turn=False))
    await resets.handle_reset(run, execution)
