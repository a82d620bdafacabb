"""What people say to a run, and what became of that: the closed set of signals."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self, TypeAlias, get_args

from pydantic import Field, model_validator

from holdfast.contracts.base import Contract, Inbound
from holdfast.contracts.budget import Budget
from holdfast.contracts.errors import OutcomeCode

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]


Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class _Signable(Inbound):
    """A message with, where it is signed, the `token` that proves who sent it."""

    token: Text | None = None

    def with_token(self, token: str) -> Self:
        """Return a copy that is signed."""
        return self.copy_with({"token": token})


class _Decision(_Signable):
    """
    What a person says about one request.

    `digest` is that of the request as they saw it: they decide about nothing else.
    """

    request_id: Name
    digest: Name | None = None

    def with_digest(self, digest: str) -> Self:
        """Return a copy that is about nothing but the request with this digest."""
        return self.copy_with({"digest": digest})


class ApprovalSignal(_Decision):
    """The signal `approval` and the update `decide`: a person decides about one request."""

    decision: Literal["approve", "reject"]
    approver: Name
    reason: Text | None = None


class AnswerSignal(_Decision):
    """The signal `answer`: a person answers a question."""

    text: Text
    by: Name | None = None


class ResolutionSignal(_Decision):
    """
    The signal `resolution`: a person says how an escalated run goes on.

    To `extend` takes a `budget` with the limits that are higher then, and nothing else takes one.
    """

    action: Literal["resume", "abort", "extend"]
    guidance: Text | None = None
    budget: Budget | None = None
    by: Name | None = None

    @model_validator(mode="after")
    def _require_extension(self) -> Self:
        extends = self.budget is not None and bool(self.budget.model_fields_set)
        if self.action == "extend" and not extends:
            raise ValueError("extend takes a budget with the limits to raise; resume takes none")
        if self.action != "extend" and self.budget is not None:
            raise ValueError(f"{self.action} changes no limit: extend takes the budget")
        return self


class ControlSignal(_Signable):
    """
    A signal about no request; `by` is who sends it, as they say.

    One that `comes_with_whole` takes no signature in a run that works for another: that one sends
    it on, and signs nothing.
    """

    comes_with_whole: ClassVar[bool] = False

    by: Name | None = None

    def with_sender(self, name: str) -> Self:
        """Return a copy by this person, whom a token proves or who nobody doubts."""
        return self.copy_with({"by": name or None})

    @property
    def words(self) -> str:
        """What is said."""
        return ""

    @property
    def why(self) -> str:
        """The reason beside that."""
        return ""


class SteerSignal(ControlSignal):
    """
    The signal `steer`: words for the model, before its next turn.

    With `now` what changes nothing is broken off for them, so that this turn comes sooner.
    """

    text: Text
    now: bool = False
    reason: Text | None = None

    @property
    def words(self) -> str:
        return self.text

    @property
    def why(self) -> str:
        return self.reason or ""


class SuspensionSignal(ControlSignal):
    """The signals `suspend` and `resume`; `by` is who sends them, as they say."""

    comes_with_whole = True

    reason: Text | None = None

    @property
    def why(self) -> str:
        return self.reason or ""


class StopSignal(ControlSignal):
    """The signal `stop`: the run ends with a result; `by` is who sends it, as they say."""

    comes_with_whole = True

    reason: Text

    @property
    def words(self) -> str:
        return self.reason


class CloseSignal(ControlSignal):
    """The signal `close`: a session ends when what was said before is answered."""

    reason: Text | None = None

    @property
    def why(self) -> str:
        return self.reason or ""


class HeldSignal(Inbound):
    """The signal `held`: a run that works for this one has come to rest, as it was told."""

    run_id: str


ControlName = Literal["steer", "suspend", "resume", "stop", "close"]

SignedSignal = Literal["answer", "resolution", ControlName]
"""The signals for which a policy may want a signature; an approval's is asked for by its rule."""

Control: TypeAlias = SteerSignal | SuspensionSignal | StopSignal | CloseSignal
"""A signal about no request. What it does is in run/inbound/controls.py."""

CONTROL_SIGNALS: Mapping[ControlName, type[Control]] = {
    "steer": SteerSignal,
    "suspend": SuspensionSignal,
    "resume": SuspensionSignal,
    "stop": StopSignal,
}
"""Those that every run hears, by name."""

CONTROL_NAMES: Mapping[str, ControlName] = {name: name for name in get_args(ControlName)}
"""Those that a session alone hears among them."""


class ControlMessage(Contract):
    """
    A signal about no request, to be judged: who says that they sent it, and what proves it.

    `digest` is that of all that was sent but the `token`.
    """

    signal: SignedSignal
    by: str = ""
    digest: str
    token: str | None = None


class UsedToken(Contract):
    """A token that has counted, by its issuer and its own id, and until when it would again."""

    issuer: str
    token_id: str
    until: datetime


class MessageOutcome(Contract):
    """What became of a message. The answer to the update `decide`."""

    accepted: bool
    request_id: str
    reason: str
    code: OutcomeCode = Field(default="accepted", exclude_if=lambda code: code == "accepted")

    def with_(self, *, request_id: str) -> Self:
        """Return a copy about the request with this id."""
        return self.copy_with({"request_id": request_id})


class RefusedMessage(Contract):
    """A message that changed nothing, kept for the audit."""

    signal: str
    request_id: str
    sender: str
    reason: str
    at: datetime
    code: OutcomeCode = "unreadable"


Message: TypeAlias = ApprovalSignal | AnswerSignal | ResolutionSignal
"""What a person says to a request."""

RunSignal: TypeAlias = Message | Control | HeldSignal

RUN_SIGNALS: Mapping[str, type[RunSignal]] = {
    "approval": ApprovalSignal,
    "answer": AnswerSignal,
    "resolution": ResolutionSignal,
    **CONTROL_SIGNALS,
    "held": HeldSignal,
}
"""What a run hears, by name."""
