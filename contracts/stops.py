"""What can end a run without an answer: a closed vocabulary, and what a run says of it."""

from enum import Enum, unique
from operator import not_
from typing import Self

from pydantic import Field

from holdfast.contracts.base import Contract

_LARGER = "start a run with a larger {limit}, or {otherwise}"
_MEND = "mend what the detail names, then start the run again"


@unique
class StopReason(Enum):
    """
    What can end a run: the words for it, and what to do next, unless the place knows better.

    Fields in braces come from the place, most of them from other closed vocabularies: limits
    (run/limits/table.py), triggers (run/limits/triggers.py), FailureKind, StopCause.
    """

    LIMIT_REACHED = "{limit} ({most}) reached", _LARGER
    LIMIT_AHEAD = "{limit} ({most}) would be exceeded", _LARGER
    LIMIT_TOO_SMALL = "{limit} ({most}) can't be shared by {parts}", _LARGER
    LIMIT_UNKEEPABLE = (
        "{limit} ({most}) can't be kept",
        "start a run with another model, or without {limit}",
    )
    SAME_CALL = (
        "loop detected: same tool, same args",
        "look at the trace for what the tool keeps answering, or declare the tool pollable",
    )
    SAME_CYCLE = (
        "loop detected: same cycle of calls",
        "look at the trace for what the tool keeps answering, or declare the tool pollable",
    )
    FAILURES_IN_A_ROW = (
        "max_consecutive_failures ({most}) reached",
        "look at the trace for the errors, mend their cause, start again",
    )
    PAUSED = "{trigger}", "look at the trace, then start again with a clearer or smaller task"
    BLOCKED = "{why}", "read the reason; change the task or the guardrail, then start again"
    REJECTED = "{why}", "read what was rejected, change the task, start the run again"
    MODEL_FAILED = "model failed: {kind}", _MEND
    MODEL_STOPPED = "model stopped: {kind}", _MEND
    NO_MODEL = "no model answered", _MEND
    FALLBACKS_EXHAUSTED = "All model fallbacks exhausted", _MEND
    TOOL_FAILED = (
        "{tool} must succeed and failed",
        "look at what was taken back, mend what the detail names, then start the run again",
    )
    TOLD_TO_STOP = (
        "stopped by a person",
        "look at what was done; a run that tries it again goes on from there",
    )
    TIME_IS_UP = (
        "the time that it was given is over",
        "look at what was done; whoever gave it the task went on without it",
    )
    HISTORY_FULL = (
        "history full",
        "look at what was done, and what filled it; a run that tries it again goes on from there",
    )
    SESSION_CLOSED = (
        "the session was closed",
        "say it again: the next message opens the session again",
    )
    WORKER_LOST = "worker lost", "find out what ends the workers, then start the run again"
    NO_ANSWER = "no_final_answer_or_tool_call", "start the run again, or with another model"
    BACKTRACKS_EXCEEDED = (
        "Max backtracks exceeded",
        "read why each approach failed, then start again with a better task",
    )
    TIERS_FAILED = (
        "All workflows failed: {error}",
        "mend what the errors name, then start the run again",
    )
    CONTEXT_TOO_LARGE = (
        "the context can't be made smaller",
        "start again with a narrower task, or a model with a larger window",
    )
    STATE_TOO_LARGE = (
        "too large to go on in a new execution",
        "start a run with a smaller task, or ask for less at once",
    )
    DECISION_TOO_LARGE = (
        "a call is too large to be decided",
        "look at what was done, then start a run that asks for less at once",
    )
    PROJECT_NOT_OPENED = (
        "the project can't be opened",
        "look at the project and at the worker that has the sandbox, then start the run again",
    )
    WORKSPACE_NOT_KEPT = (
        "the workspace can't be kept",
        "look at the worker that has the sandbox, then start the run again",
    )
    WORKSPACE_NOT_RESTORED = (
        "the workspace can't be restored",
        "look at the worker that has the sandbox, then start the run again",
    )

    def __init__(self, words: str, next_safe_action: str) -> None:
        self.words = words
        self.next_safe_action = next_safe_action

    @property
    def quotes(self) -> bool:
        """Whether its words are those of a guardrail, a person or an error."""
        return "{why}" in self.words or "{error}" in self.words


class Stop(Contract):
    """
    Why a run ended without an answer, and what to do next.

    `ended_by` is who ended it, where a person did: by rejecting a review, by an abort, or by a
    stop, of which it is who sent that, as they say; or it is the time that a part was given.
    `quotes` says that `reason` is in the words of a guardrail, a person or an error, which are
    history's.
    """

    reason: str
    detail: str
    next_safe_action: str
    ended_by: str = Field(default="", exclude_if=not_)
    quotes: bool = Field(default=False, exclude_if=not_)

    def with_(self, *, detail: str) -> Self:
        """Return a copy with another detail."""
        return self.copy_with({"detail": detail})

    def describe_to_whole(self) -> str:
        """
        Say why a part ended, as the model of its whole may read it.

        What people say to a part isn't for that model, whose guardrails haven't looked.
        """
        return "a person rejected it" if self.ended_by and self.quotes else self.reason

    @classmethod
    def because(
        cls,
        reason: StopReason,
        detail: str,
        *,
        next_safe_action: str = "",
        ended_by: str = "",
        **fields: object,
    ) -> Self:
        """Say why, with the fields that the words of the reason have."""
        return cls(
            reason=reason.words.format(**fields),
            detail=detail,
            next_safe_action=next_safe_action or reason.next_safe_action.format(**fields),
            ended_by=ended_by,
            quotes=reason.quotes,
        )
