"""What an activity's failure means for the run. Pure."""

from typing import get_args

from temporalio.exceptions import ActivityError, ApplicationError, FailureError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeout

from contracts.errors import FailureKind
from contracts.tools import LONGEST_REASON, AnyCall, ErrorType, ToolContract, ToolFailure
from contracts.usage import CallUsage
from workflows.summaries import shortened

TOOL_TIMEOUT = "ToolTimeout"
_CUT_OFF = {TOOL_TIMEOUT, "CancelledError", "ActivityPause", "ActivityReset"}
"""How an activity ends that its worker or an operator ended, before the tool was done."""

_MODEL_ERRORS = {*get_args(FailureKind), "ModelUnavailable", "ModelRejected"}
"""The last two are how an earlier release called all of them."""

_OURS = {"TranscriptMismatch", "InvalidInput"}
"""What says that the run can't go on as it is, with whatever model."""


def message(error: FailureError) -> str:
    """Say on one line what failed an activity in the end."""
    cause = _cause(error)
    if isinstance(cause, ActivityTimeout):
        kind = cause.type.name.lower().replace("_", "-") if cause.type else "unknown"
        return f"no answer in time ({kind} time-out)"
    if isinstance(cause, ApplicationError):
        return shortened(cause.message, LONGEST_REASON)
    return shortened(str(cause or error), LONGEST_REASON)


def refused(reason: str) -> ApplicationError:
    """Build the failure of a run that must not begin, and must not be tried again."""
    return ApplicationError(reason, type="InvalidInput", non_retryable=True)


def is_refusal(error: FailureError) -> bool:
    """Whether an activity says that the input of the run can't be used."""
    cause = _cause(error)
    return isinstance(cause, ApplicationError) and cause.type == "InvalidInput"


def is_the_models(error: FailureError) -> bool:
    """
    Whether another model may help where `call_model` failed: by the provider's doing, or a fault.

    A fault is what nobody raised on purpose, for instance in an adapter.
    """
    cause = _cause(error)
    if isinstance(cause, ApplicationError):
        deliberate = cause.non_retryable or cause.type in _OURS
        return cause.type in _MODEL_ERRORS or not deliberate
    return isinstance(cause, ActivityTimeout)


def kind(error: FailureError) -> str:
    """Say by one word why a `call_model` failed (contracts/errors.py)."""
    cause = _cause(error)
    named = (cause.type or "") if isinstance(cause, ApplicationError) else "timeout"
    return named if named in get_args(FailureKind) else "unavailable"


def was_never_taken(error: FailureError) -> bool:
    """Whether no worker took an activity in time, so that it has never begun."""
    cause = _cause(error)
    return isinstance(cause, ActivityTimeout) and cause.type is TimeoutType.SCHEDULE_TO_START


def usage(error: FailureError) -> CallUsage:
    """
    Return what a failed `call_model` used up, as far as providers told.

    Where time ran out, the last heartbeat tells what the attempts before had used.
    """
    match _cause(error):
        case ApplicationError(details=details):
            known = details
        case ActivityTimeout(last_heartbeat_details=details):
            known = details
        case _:
            known = ()
    return CallUsage.model_validate(known[0]) if known else CallUsage()


def tool_failure(call: AnyCall, contract: ToolContract, error: FailureError) -> ToolFailure:
    """
    Turn a failed tool into the result that the model reads.

    Of a write that ended without an answer nobody knows whether it happened: it was cut off, or
    raised something that isn't a ToolError, by which a tool says that it did nothing.
    """
    cause = _cause(error)
    if was_never_taken(error):
        return _failed(
            call, "timeout", f"{message(error)}: nobody took it, so it didn't happen", _LATER
        )
    cut_off = isinstance(cause, ActivityTimeout) or (
        isinstance(cause, ApplicationError) and cause.type in _CUT_OFF
    )
    kind: ErrorType = "timeout" if cut_off else "internal_error"
    reason = message(error) if cut_off else _kind(error) + message(error)
    if not contract.risk.changes_nothing and (cut_off or contract.side_effect != "local"):
        return ToolFailure(
            status="outcome_unknown",
            call_id=call.call_id,
            name=call.name,
            type=kind,
            reason=f"{reason}; it may have happened all the same",
            next_valid_actions=("find out whether it happened before you ask for it again",),
        )
    return _failed(call, kind, reason, _LESS if cut_off else _OTHER)


def never_happened(call: AnyCall, finder: ToolContract) -> ToolFailure:
    """Build the result of a call that was cut off, and that is known to have done nothing."""
    return _failed(call, "timeout", f"it didn't happen, says {finder.name}", _LATER)


_LATER = ("ask for it again", "go on without it")
_LESS = ("ask for less at once", "go on without it")
_OTHER = ("try other arguments", "go on without it")


def _failed(call: AnyCall, kind: ErrorType, reason: str, actions: tuple[str, ...]) -> ToolFailure:
    return ToolFailure(
        status="error",
        call_id=call.call_id,
        name=call.name,
        type=kind,
        reason=reason,
        next_valid_actions=actions,
    )


def _kind(error: FailureError) -> str:
    cause = _cause(error)
    return f"{cause.type}: " if isinstance(cause, ApplicationError) and cause.type else ""


def _cause(error: FailureError) -> BaseException | None:
    return error.cause if isinstance(error, ActivityError) else error
