"""How activities end, as a server tells it: in the shapes that the SDK turns into errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import RetryState, TimeoutType
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.activity_result import ActivityResolution
from temporalio.common import RetryPolicy

KINDS = {
    TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE: "StartToClose",
    TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START: "ScheduleToStart",
    TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE: "ScheduleToClose",
    TimeoutType.TIMEOUT_TYPE_HEARTBEAT: "Heartbeat",
}

REPEATED = {TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE, TimeoutType.TIMEOUT_TYPE_HEARTBEAT}
"""After these there may be another attempt: the others say that there is no time for one."""


@dataclass(frozen=True)
class Retry:
    """Another attempt, after so long; or none, and why."""

    pause: timedelta | None
    state: RetryState.ValueType = RetryState.RETRY_STATE_UNSPECIFIED


def build_timeout(
    kind: TimeoutType.ValueType, heartbeat: Sequence[Payload], before: Failure | None = None
) -> Failure:
    """Build the failure of an attempt that had no more time; *before* it another had failed."""
    failure = Failure(message=f"activity {KINDS[kind]} timeout", source="Server")
    failure.timeout_failure_info.timeout_type = kind
    if heartbeat:
        told = Payloads(payloads=heartbeat)
        failure.timeout_failure_info.last_heartbeat_details.CopyFrom(told)
    if before is not None:
        failure.cause.CopyFrom(before)
    return failure


def build_activity_failure(
    cause: Failure, name: str, activity_id: str, state: RetryState.ValueType, *, began: bool
) -> ActivityResolution:
    """Build what a run hears of an activity that failed for good."""
    timed_out = cause.HasField("timeout_failure_info")
    resolution = ActivityResolution()
    failure = resolution.failed.failure
    failure.message = "Activity task timed out" if timed_out else "Activity task failed"
    failure.cause.CopyFrom(cause)
    _describe(failure, name, activity_id, state, began=began)
    return resolution


def build_cancelled_activity(name: str, activity_id: str, *, began: bool) -> ActivityResolution:
    """Build what a run hears of an activity that was cancelled."""
    resolution = ActivityResolution()
    failure = resolution.cancelled.failure
    failure.message = "Activity cancelled"
    failure.cause.message = "Activity was cancelled"
    failure.cause.canceled_failure_info.SetInParent()
    state = RetryState.RETRY_STATE_CANCEL_REQUESTED
    _describe(failure, name, activity_id, state, began=began)
    return resolution


def _describe(
    failure: Failure, name: str, activity_id: str, state: RetryState.ValueType, *, began: bool
) -> None:
    """Say whose failure it is; the server numbers an event only when an attempt has begun."""
    told = failure.activity_failure_info
    told.activity_type.name = name
    told.activity_id = activity_id
    told.scheduled_event_id = 1
    told.started_event_id = int(began)
    told.retry_state = state


def plan_retry(
    failure: Failure, policy: RetryPolicy, attempt: int, left: timedelta | None
) -> Retry:
    """Say when another attempt begins after the one with this number failed."""
    told = failure.application_failure_info
    kind = told.type
    if failure.HasField("timeout_failure_info"):
        timeout = failure.timeout_failure_info.timeout_type
        if timeout not in REPEATED:
            return Retry(None, RetryState.RETRY_STATE_TIMEOUT)
        kind = f"TemporalTimeout:{KINDS[timeout]}"
    if told.non_retryable or kind in (policy.non_retryable_error_types or ()):
        return Retry(None, RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE)
    if policy.maximum_attempts and attempt >= policy.maximum_attempts:
        return Retry(None, RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED)
    longest = policy.maximum_interval or policy.initial_interval * 100
    # Beyond this exponent any coefficient that a policy has here leads past the longest pause.
    pause = policy.initial_interval * policy.backoff_coefficient ** min(attempt - 1, 60)
    pause = min(pause, longest)
    if told.HasField("next_retry_delay"):
        pause = told.next_retry_delay.ToTimedelta()
    if left is not None and pause >= left:
        return Retry(None, RetryState.RETRY_STATE_TIMEOUT)
    return Retry(pause)
