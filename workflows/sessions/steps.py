"""What a session does between messages."""

from collections.abc import Callable
from datetime import datetime

from temporalio import workflow

from holdfast.run.sessions import messages
from holdfast.run.step.kinds import AwaitMessage, EndMessage, SessionStep, TakeMessage
from holdfast.workflows import options, run_context
from holdfast.workflows.log import log_event
from holdfast.workflows.run_context import RunContext

FLOODED_IDLE = "flooded-idle"
"""The patch by which a session that waits for a message goes on anew where a flood fills it."""


async def execute_step(run: RunContext, step: SessionStep, has_flood: Callable[[], bool]) -> None:
    """Take one step."""
    match step:
        case TakeMessage():
            run.state = messages.take_message(run.state, workflow.now())
            run_context.publish_status(run)
        case EndMessage():
            _end_message(run)
        case AwaitMessage(until):
            await _await_message(run, until, has_flood)


def _end_message(run: RunContext) -> None:
    held, outcome = run.state.guarding.held, run.state.outcome
    run.state = messages.end_message(run.state, workflow.now())
    run.advanced = True
    if held:
        run_context.publish_claims(run.state)
    log_event("session.outcome", run.state, status=outcome)


async def _await_message(run: RunContext, until: datetime, has_flood: Callable[[], bool]) -> None:
    """Wait for a message; a flood of anything else has the session go on in a new execution."""
    run_context.publish_status(run)
    session = messages.require_session(run.state)
    try:
        await workflow.wait_condition(
            lambda: not _is_idle(run) or (has_flood() and workflow.patched(FLOODED_IDLE)),
            timeout=options.at_least(until - workflow.now()),
            timeout_summary="closes if nobody says anything more until then",
        )
    except TimeoutError:
        if _is_idle(run):
            why = f"nobody said anything for {session.idle_timeout:g} s"
            run.state = messages.close(run.state, why)


def _is_idle(run: RunContext) -> bool:
    """Whether nothing was said, and nobody has held the session or closed it."""
    session = messages.require_session(run.state)
    return not (session.waiting or session.closing is not None or run.state.suspended)
