"""What the runtime decides about a call before anything runs."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from contracts.approvals import ApprovalRecord
from contracts.base import Contract
from contracts.tools import AnyCall, ErrorType, Risk


class Allow(Contract):
    """The call may run now."""

    verdict: Literal["allow"] = "allow"
    rule: str
    reason: str


class ApprovalRequired(Contract):
    """A person must approve these exact arguments first."""

    verdict: Literal["approval_required"] = "approval_required"
    rule: str
    reason: str
    strength: Literal["plain", "strong"]


class AskUser(Contract):
    """The call is a question to a person; their answer is its result."""

    verdict: Literal["ask_user"] = "ask_user"
    rule: str
    reason: str
    question: str


class Deny(Contract):
    """The call doesn't run, and what the model may do instead."""

    verdict: Literal["deny"] = "deny"
    rule: str
    reason: str
    next_valid_actions: tuple[str, ...] = Field(min_length=1)


Decision: TypeAlias = Annotated[
    Allow | ApprovalRequired | AskUser | Deny, Field(discriminator="verdict")
]


class Decided(Contract):
    """The permission engine's decision about one call, as the audit keeps it."""

    kind: Literal["decided"] = "decided"
    call_id: str
    tool: str
    arguments_digest: str
    risk: Risk
    scope: str
    decision: Decision


class Refused(Contract):
    """The call never reached the permission engine: no such tool, or arguments that don't fit."""

    kind: Literal["refused"] = "refused"
    call_id: str
    tool: str
    type: ErrorType
    reason: str
    next_valid_actions: tuple[str, ...]


Ruling: TypeAlias = Annotated[Decided | Refused, Field(discriminator="kind")]


class AuthorizeCalls(Contract):
    """
    Input of the activity `authorize`: all calls of a turn, with what a decision depends on.

    `visible_tools` are the tools that this run has; any other name is an unknown tool.
    """

    run_id: str
    agent: str
    tenant: str
    actor: str
    calls: tuple[AnyCall, ...]
    approvals: tuple[ApprovalRecord, ...] = ()
    visible_tools: tuple[str, ...]


class Rulings(Contract):
    """Output of the activity `authorize`: one ruling a call, in call order."""

    rulings: tuple[Ruling, ...]
