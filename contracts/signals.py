"""What people say to a run, and what became of that: the closed set of signals."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field

from holdfast.contracts.base import Contract, Inbound
from holdfast.contracts.budget import Budget

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]


Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


class _Decision(Inbound):
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
    token: Text | None = None


class AnswerSignal(_Decision):
    """The signal `answer`: a person answers a question."""

    text: Text
    by: Name | None = None


class ResolutionSignal(_Decision):
    """The signal `resolution`: a person says how an escalated run goes on."""

    action: Literal["resume", "abort", "extend"]
    guidance: Text | None = None
    budget: Budget | None = None
    by: Name | None = None


class SteerSignal(Inbound):
    """
    The signal `steer`: words for the model, before its next turn.

    With `now` what changes nothing is broken off for them, so that this turn comes sooner.
    """

    text: Text
    by: Name | None = None
    now: bool = False


class SuspensionSignal(Inbound):
    """The signals `suspend` and `resume`; `by` is who sends them, as they say."""

    by: Name | None = None


class StopSignal(Inbound):
    """The signal `stop`: the run ends with a result; `by` is who sends it, as they say."""

    reason: Text
    by: Name | None = None


class HeldSignal(Inbound):
    """The signal `held`: a run that works for this one has come to rest, as it was told."""

    run_id: str


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
    "reset",
]
"""What became of a message, in one word."""


class MessageOutcome(Contract):
    """What became of a message. The answer to the update `decide`."""

    accepted: bool
    request_id: str
    reason: str
    code: OutcomeCode = Field(default="accepted", exclude_if=lambda code: code == "accepted")


Message: TypeAlias = ApprovalSignal | AnswerSignal | ResolutionSignal
"""What a person says to a request."""
