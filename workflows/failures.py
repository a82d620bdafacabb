"""What an activity's failure means for the run. Pure."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TypeVar, get_args

from pydantic import TypeAdapter, ValidationError
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    CancelledError,
    FailureError,
    RetryState,
    TimeoutType,
    is_cancelled_exception,
)
from temporalio.exceptions import TimeoutError as ActivityTimeout
from temporalio.workflow import ActivityConfig

from holdfast.activities.callers import NOT_AS_DECIDED, is_hand_back
from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import MAX_TOOL_REASON_CHARS
from holdfast.contracts.calls import AnyCall, ErrorType, ToolFailure
from holdfast.contracts.control import AttemptKind
from holdfast.contracts.errors import FailureKind, PayloadTooLarge
from holdfast.contracts.texts import shorten
from holdfast.contracts.tools import ToolContract
from holdfast.contracts.usage import Attempts, CallUsage

TOOL_TIMEOUT = "ToolTimeout"


UNREADABLE_RESULT = "UnreadableResult"


_CUT_OFF = {TOOL_TIMEOUT, "CancelledError", "ActivityPause", "ActivityReset", "WorkerShutdown"}
"""How an activity ends that its worker or an operator ended, before the tool was done."""


_MODEL_ERRORS: Mapping[str, FailureKind] = {kind: kind for kind in get_args(FailureKind)}
"""How a model's failure is called (contracts/errors.py)."""


_GO_ON = "go on without it"

_NOT_BEGUN = "not begun"

_RUN_ERRORS = {"TranscriptMismatch", "InvalidInput"}
"""What says that the run can't go on as it is, with whatever model."""


def message(error: FailureError) -> str:
    """Say on one line what failed an activity in the end."""
    cause = _cause(error)
    if isinstance(cause, ActivityTimeout):
        kind = cause.type.name.lower().replace("_", "-") if cause.type else "unknown"
        return f"no answer in time ({kind} time-out)"
    if isinstance(cause, ApplicationError):
        return shorten(cause.message, MAX_TOOL_REASON_CHARS)
    return shorten(str(cause or error), MAX_TOOL_REASON_CHARS)


def build_start_refusal(reason: str) -> ApplicationError:
    """Build the failure of a run that must not begin, and must not be tried again."""
    return ApplicationError(reason, _NOT_BEGUN, type="InvalidInput", non_retryable=True)


@contextmanager
def refuse_start() -> Generator[None]:
    """Have what fails within refuse the start of this workflow; a cancellation ends it."""
    try:
        yield
    except FailureError as error:
        if is_cancelled_exception(error):
            raise
        raise build_start_refusal(message(error)) from error


def is_start_refusal(error: BaseException | None) -> bool:
    """
    Whether this failure of a run says that it never began, in the words of that run itself.

    That an activity of it failed with such an error says nothing of what it had done before.
    """
    return isinstance(error, ApplicationError) and _NOT_BEGUN in error.details


def is_model_failure(error: FailureError) -> bool:
    """
    Whether another model may help where `call_model` failed: by the provider's doing, or a fault.

    A fault is what nobody raised on purpose; one of an adapter comes as a failure of its model.
    """
    cause = _cause(error)
    if isinstance(cause, ApplicationError):
        final = cause.non_retryable and not attempts(error).used_up
        deliberate = final or cause.type in _RUN_ERRORS
        return cause.type in _MODEL_ERRORS or not deliberate
    return True


def classify(error: FailureError) -> AttemptKind:
    """Say by one word why a `call_model` failed (run/limits/fallback.py)."""
    cause = _cause(error)
    if isinstance(cause, ActivityTimeout) and cause.type is TimeoutType.HEARTBEAT:
        return "worker_lost"
    named = "timeout" if isinstance(cause, ActivityTimeout) else ""
    if isinstance(cause, ApplicationError):
        named = cause.type or ""
    return _MODEL_ERRORS.get(named, "unavailable")


def is_schedule_to_start_timeout(error: FailureError) -> bool:
    """
    Whether no worker took an activity in time, so that it has never begun.

    The server numbers the event with which one begins; whoever makes up a failure can't.
    """
    cause = _cause(error)
    if not isinstance(cause, ActivityTimeout) or cause.type is not TimeoutType.SCHEDULE_TO_START:
        return False
    return isinstance(error, ActivityError) and not error.started_event_id


def is_retry_timeout(error: FailureError) -> bool:
    """Whether there was no time left for another attempt."""
    return isinstance(error, ActivityError) and error.retry_state is RetryState.TIMEOUT


def attempts(error: FailureError) -> Attempts:
    """
    Return what the attempts of an activity had come to when it failed.

    Where time ran out, or the worker was lost, the last heartbeat tells.
    """
    match _cause(error):
        case ApplicationError(details=details):
            return Attempts.from_details(details)
        case ActivityTimeout(last_heartbeat_details=details):
            return Attempts.from_details(details)
        case _:
            return Attempts()


def usage(error: FailureError) -> CallUsage:
    """Return what a failed `call_model` used up, as far as providers told."""
    return attempts(error).usage or CallUsage()


def is_handed_back(error: FailureError) -> bool:
    """Whether a worker left an activity to another one: nothing has begun then."""
    cause = _cause(error)
    return cause is not None and is_hand_back(cause)


def is_too_large(error: FailureError) -> bool:
    """Whether what an activity came to can't be sent."""
    cause = _cause(error)
    return isinstance(cause, ApplicationError) and cause.type == PayloadTooLarge.__name__


def find_disagreement(error: FailureError) -> str | None:
    """Say why a call has never begun that must be decided anew; null where none must."""
    cause = _cause(error)
    ours = isinstance(cause, ApplicationError) and cause.type == NOT_AS_DECIDED
    return message(error) if ours or is_handed_back(error) else None


def build_tool_failure(call: AnyCall, contract: ToolContract, error: FailureError) -> ToolFailure:
    """
    Turn a failed tool into the result that the model reads.

    Of a write that ended without an answer nobody knows whether it happened: it was cut off, or
    raised something that isn't a ToolError, by which a tool says that it did nothing.
    """
    cause = _cause(error)
    if is_schedule_to_start_timeout(error):
        reason = f"{message(error)}: nobody took it, so it didn't happen"
        return ToolFailure.of(call, "error", "timeout", reason, "ask for it again", _GO_ON)
    cut_off = isinstance(cause, ActivityTimeout | CancelledError) or (
        isinstance(cause, ApplicationError) and cause.type in _CUT_OFF
    )
    kind: ErrorType = "timeout" if cut_off else "internal_error"
    reason = message(error) if cut_off else _kind(error) + message(error)
    unread = isinstance(cause, ApplicationError) and cause.type == UNREADABLE_RESULT
    unsure = cut_off or unread or contract.side_effect != "local"
    if unsure and not contract.risk.changes_nothing:
        reason = f"{reason}; it may have happened all the same"
        find_out = "find out whether it happened before you ask for it again"
        return ToolFailure.of(call, "outcome_unknown", kind, reason, find_out)
    action = "ask for less at once" if cut_off else "try other arguments"
    return ToolFailure.of(call, "error", kind, reason, action, _GO_ON)


def _kind(error: FailureError) -> str:
    cause = _cause(error)
    return f"{cause.type}: " if isinstance(cause, ApplicationError) and cause.type else ""


def _cause(error: FailureError) -> BaseException | None:
    return error.cause if isinstance(error, ActivityError) else error


Answer = TypeVar("Answer")


async def execute_activity(
    activity: str, asked: Contract, answer: TypeAdapter[Answer], options: ActivityConfig
) -> Answer:
    """
    Return what an activity came to. Raises ApplicationError where nobody can read that.

    Left to Temporal, it would fail this workflow task, and each that is tried after it, for ever.
    """
    raw: RawValue | None = await workflow.execute_activity(
        activity, asked, result_type=RawValue, **options
    )
    try:
        return answer.validate_json(raw.payload.data if raw else b"")
    except ValidationError:
        raise ApplicationError(
            f"what {activity!r} came to can't be read", type=UNREADABLE_RESULT
        ) from None
