"""Telling somebody outside that a run waits for a person."""

from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError
from temporalio.workflow import ActivityConfig

from holdfast.activities.notifications import NotificationActivities
from holdfast.contracts.approvals import Request
from holdfast.contracts.journal import Notice
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import escape_invisible, shorten
from holdfast.run.texts.requests import describe, request_line
from holdfast.workflows.run_context import RunContext, is_cancellation

# A receiver that is down for a night should still hear of what waits in the morning.
RETRY_POLICY = RetryPolicy(
    initial_interval=timedelta(seconds=1), maximum_interval=timedelta(minutes=10)
)
SCHEDULE_TO_CLOSE_TIMEOUT = timedelta(days=1)


async def notify(run: RunContext) -> None:
    """Tell of each request once, in the background, as long as the run lasts."""
    while True:
        await workflow.wait_condition(lambda: bool(_select_new_requests(run.state)))
        request = _select_new_requests(run.state)[
            0
        ]  # what was decided meanwhile is told to nobody
        try:
            await workflow.execute_activity_method(
                NotificationActivities.notify,
                _build_notice(run.state, request),
                **_options(request),
            )
        except ActivityError as error:
            if is_cancellation(error):
                raise
            await run.record("nobody was told", request_line(request))
        number = max(_number(request), run.state.oversight.notified)
        run.state = run.state.with_oversight(notified=number)


def _select_new_requests(state: RunState) -> tuple[Request, ...]:
    return tuple(
        one for one in state.oversight.requests if _number(one) > state.oversight.notified
    )


def _number(request: Request) -> int:
    """Return the place of a request among all of the run: req-1 is the first."""
    return int(request.request_id.rpartition("-")[2])


def _build_notice(state: RunState, request: Request) -> Notice:
    return Notice(
        run_id=state.run_id,
        first_execution_run_id=state.first_execution_run_id,
        app=state.agent.app,
        agent=state.agent.name,
        tenant=state.brief.tenant,
        request_id=request.request_id,
        kind=request.kind,
        reason=request.kind
        if state.brief.regulated
        else escape_invisible(describe(request).notice),
        requested_at=request.requested_at,
        expires_at=request.expires_at,
    )


def _options(request: Request) -> ActivityConfig:
    return ActivityConfig(
        start_to_close_timeout=timedelta(seconds=30),
        schedule_to_close_timeout=SCHEDULE_TO_CLOSE_TIMEOUT,
        retry_policy=RETRY_POLICY,
        summary=shorten(f"tell of {request_line(request)}"),
    )
