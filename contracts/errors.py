"""
Everything that Holdfast raises on purpose.

* HoldfastError
  x InvalidInput            a run was started with an input that can't be used
  x NoWorker                nobody who works at a run answers
  x MessageRefused          a run didn't take what a person said
  x PayloadTooLarge         something is larger than a server takes
  x AppError                an app, agent or tool is defined in a way that can't work
    - PolicyRefused         a policy file says what no policy may
  x ModelError              one call of a model failed
    - ModelUnavailable      waiting or another model may help
    - ModelRejected         asking the same again can't help
    - ModelNotHere          this worker can't ask it, another may
  x ToolError               a tool says why it can't do what the model asked
    - ToolDenied            a worker says why it doesn't run a call at all
      - NotNow              the same, where it may run it in a moment
  x AnswerLost              a request was sent that may have changed something; no answer came
  x ToolTimeout             a tool was ended at its time limit
  x ToolCrashed             a tool raised something, or died, in its own process
  x TranscriptMismatch      an activity doesn't hold the transcript that the workflow means
"""

import contextlib
import traceback
from itertools import dropwhile
from pathlib import Path
from typing import Literal

from holdfast.contracts.calls import ErrorType
from holdfast.contracts.usage import CallUsage

MAX_WORDS_CHARS = 100_000
"""
Of an error that leaves a tool's process: far more than anybody is told, so that no secret is cut
before it is known.
"""

FailureKind = Literal[
    "rate_limited",
    "overloaded",
    "unavailable",  # no connection, or a fault on the other side
    "timeout",  # no answer in time
    "stalled",  # a stream that fell silent
    "cut_off",  # a stream that ended in the middle
    "unreadable",  # an answer that is no reply of a model
    "auth",
    "permission",
    "not_found",
    "invalid_request",
    "context_overflow",
    "content_filtered",
    "quota",
]
"""Why a call of a model failed; the type of the activity's failure in history."""

OutcomeCode = Literal[
    "accepted",
    "unreadable",
    "unknown_request",
    "closed",
    "expired",
    "wrong_kind",
    "changed",
    "require_stronger_auth",
    "invalid_token",
    "stale_authentication",
    "self_approval",
    "wrong_group",
    "approved_already",
    "over",
    "full",
    "forwarded",
    "reset",
]
"""What became of a message, in one word."""


_OURS = str(Path(__file__).parents[1])


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose."""


class InvalidInput(HoldfastError):
    """A run was started with an input that can't be used; the message says what to change."""


class NoWorker(HoldfastError):
    """Nobody who works at a run answers: workers are down, or of another queue."""


class MessageRefused(HoldfastError):
    """
    A run didn't take what a person said.

    `reason` says why, `code` says it in one word (docs/approvals.md).
    """

    def __init__(self, reason: str, code: OutcomeCode) -> None:
        super().__init__(f"refused: {reason}")
        self.reason = reason
        self.code: OutcomeCode = code


class PayloadTooLarge(HoldfastError):
    """What is to be sent is larger than a server takes (contracts/bounds.py)."""


class AppError(HoldfastError):
    """An app, agent or tool can't work as it is defined; the message says what to change."""


class PolicyRefused(AppError):
    """A policy file can't be used; `lines` are everything that is wrong, each with its line."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        more = len(lines) - 1
        hint = f" (and {more} more: see 'holdfast policy check')" if more else ""
        super().__init__(f"{lines[0]}{hint}")
        self.lines = lines


class ModelError(HoldfastError):
    """One call of a model failed; `usage` is what the provider says it used all the same."""

    def __init__(self, message: str, kind: FailureKind, usage: CallUsage | None = None) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.usage = usage


class ModelUnavailable(ModelError):
    """Waiting or another model may help; `retry_after` is in seconds, if the provider says so."""

    def __init__(
        self,
        message: str,
        retry_after: float | None = None,
        *,
        kind: FailureKind = "unavailable",
        usage: CallUsage | None = None,
    ) -> None:
        super().__init__(message, kind, usage)
        self.retry_after = retry_after


class ModelRejected(ModelError):
    """The provider refused the request as such: asking the same again can't help."""

    def __init__(
        self,
        message: str,
        *,
        kind: FailureKind = "invalid_request",
        usage: CallUsage | None = None,
    ) -> None:
        super().__init__(message, kind, usage)


class ModelNotHere(ModelError):
    """The worker that was asked has no way to the model; one of another release may have."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "not_found")


class ToolError(HoldfastError):
    """
    Raised by a tool to tell the model why it can't do what was asked. Never retried.

    *type* is one word of the error vocabulary, *next_valid_actions* are what the model may do
    instead.
    """

    def __init__(
        self, type: ErrorType, reason: str, next_valid_actions: tuple[str, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.type: ErrorType = type
        self.reason = reason
        self.next_valid_actions = next_valid_actions


class ToolDenied(ToolError):
    """Raised by a worker instead of running a call: there is no right, or no place, to run it."""

    def __init__(self, reason: str, next_valid_actions: tuple[str, ...] = ()) -> None:
        super().__init__("permission_denied", reason, next_valid_actions)


class NotNow(ToolDenied):
    """Raised by a worker that can't begin a call, for a reason that passes; nothing happened."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, ("ask for it again later", "go on without it"))
        self.type = "rate_limited"


class AnswerLost(HoldfastError):
    """
    A request was sent that may have changed something, and its answer is lost.

    No ToolError: whether anything was done nobody knows.
    """


class ToolTimeout(HoldfastError):
    """A tool was ended at its time limit."""


class ToolCrashed(HoldfastError):
    """
    A tool raised in its own process; `kind` is the name of what it raised.

    `stack` is for the worker's log alone, and may have secrets in it.
    """

    def __init__(self, kind: str, message: str, stack: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.stack = stack


class TranscriptMismatch(HoldfastError):
    """An activity doesn't hold the transcript that the workflow means."""


def safe_str(error: BaseException) -> str:
    """Return the words of an error, which may have forgotten how to say them."""
    with contextlib.suppress(BaseException):  # what it raises in their place is no better
        return str(error)
    return ""


def format_stack(error: BaseException, *, leading: tuple[str, ...] = ()) -> str:
    """
    Write the stack of an error, without the frames of ours that only lead to an app's own code.

    Nor those that lie in other *leading* folders. It may quote anything: clear it of secrets.
    """
    told = traceback.TracebackException.from_exception(error)
    ours = (_OURS, *leading)
    own = list(dropwhile(lambda frame: frame.filename.startswith(ours), told.stack))
    if own:
        told.stack = traceback.StackSummary.from_list(own)
    return "".join(told.format())


def format_short_stack(error: BaseException) -> str:
    """Write the end of a stack, as much as a message of a tool's process holds."""
    with contextlib.suppress(BaseException):  # an error may have forgotten how to say what it is
        return format_stack(error)[-MAX_WORDS_CHARS:]
    return ""
