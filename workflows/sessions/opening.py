"""How a session opens: empty, or with what it was left with, and never with a starter's state."""

from pydantic import JsonValue
from temporalio import workflow

from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.sessions.archive import LoadedSession, LoadSession
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE, SessionInput
from holdfast.contracts.state.run import RunState
from holdfast.run.sessions.opening import is_kept_from, reopen_session, start_session
from holdfast.workflows import failures, options
from holdfast.workflows.handing_back import once_there_is_room
from holdfast.workflows.inbound import messages
from holdfast.workflows.opening import adopt_state, open_agent, require_plain_start
from holdfast.workflows.run_context import RunContext

KEPT_FROM_FEWER = "kept-from-fewer"
"""The patch by which words stay withheld where not all look at them now who did."""


async def open_session(run: RunContext, arguments: tuple[JsonValue, ...]) -> None:
    """Give a session its state. Raises ApplicationError (InvalidInput) where it can't open."""
    info = workflow.info()
    require_plain_start(info, SESSION_WORKFLOW_TYPE)
    if info.continued_run_id is not None:
        state = messages.read_run_state(arguments, SESSION_WORKFLOW_TYPE)
        await adopt_state(run, state, info)
        return
    try:
        given = messages.read_session_input(arguments)
    except InvalidInput as error:
        raise failures.build_start_refusal(str(error)) from None
    run.state = _build_state(given, AgentSnapshot.placeholder(given.agent), info)
    agent = await open_agent(given.agent, None, regulated=given.regulated)
    loaded = await _load(given)
    left = loaded.archived
    if (
        left is not None
        and left.state.brief.regulated
        and not (given.regulated or agent.regulated)
    ):
        # Whoever opens it again need not say so: its agent must be fit for that all the same.
        agent = await open_agent(given.agent, None, regulated=True)
    state = _build_state(given, agent, info)
    if left is None:
        run.state = state
        return
    is_kept = is_kept_from(state, left.state) and workflow.patched(KEPT_FROM_FEWER)
    run.state = reopen_session(state, left, is_kept=is_kept)


async def _load(given: SessionInput) -> LoadedSession:
    """
    Return how the session was left; raises ApplicationError where it may not be opened.

    It is a local activity, because any client could say what an ordinary one came to.
    """
    name = workflow.info().workflow_id
    with failures.refuse_start():
        return await once_there_is_room(
            lambda: workflow.execute_local_activity_method(
                SessionActivities.load_session,
                LoadSession(session_id=name, tenant=given.tenant, agent=given.agent),
                **options.load_session(f"how session {name} was left"),
            )
        )


def _build_state(given: SessionInput, agent: AgentSnapshot, info: workflow.Info) -> RunState:
    return start_session(
        given,
        agent,
        workflow.now(),
        run_id=info.workflow_id,
        first_execution_run_id=info.first_execution_run_id,
        execution=info.original_execution_run_id,
    )
