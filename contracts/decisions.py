"""What the runtime decides about a call before anything runs."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from contracts.approvals import ApprovalRecord, Requirement
from contracts.base import Contract
from contracts.tools import AnyCall, Draft, ErrorType, Grant, Risk


class Allow(Contract):
    """The call may run now."""

    verdict: Literal["allow"] = "allow"
    rule: str
    reason: str


class RunInSandbox(Contract):
    """The call may run now, but only in the sandbox, and with nothing but what is granted."""

    verdict: Literal["run_in_sandbox"] = "run_in_sandbox"
    rule: str
    reason: str
    grant: Grant = Grant()


class RunAsDraftOnly(Contract):
    """
    The tool's draft variant runs instead, with the same arguments.

    `then`: the draft is all there will be, or it is what a person is asked to approve.
    """

    verdict: Literal["run_as_draft_only"] = "run_as_draft_only"
    rule: str
    reason: str
    draft: str
    then: Literal["result", "approval"]


class ApprovalRequired(Requirement):
    """A person must approve these exact arguments first."""

    verdict: Literal["approval_required"] = "approval_required"
    rule: str
    reason: str


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
    type: ErrorType = Field(
        default="permission_denied", exclude_if=lambda type_: type_ == "permission_denied"
    )


Decision: TypeAlias = Annotated[
    Allow | RunInSandbox | RunAsDraftOnly | ApprovalRequired | AskUser | Deny,
    Field(discriminator="verdict"),
]


MayRun: TypeAlias = Allow | RunInSandbox | RunAsDraftOnly
"""Decisions after which something runs; each is made anew after any wait."""


class Decided(Contract):
    """
    The permission engine's decision about one call, as the audit keeps it.

    `effect` is the same for calls that do the same, however their arguments are written: defaults
    left out, a number as text. It is empty for calls that change nothing.
    """

    kind: Literal["decided"] = "decided"
    call_id: str
    tool: str
    arguments_digest: str
    risk: Risk
    scope: str
    decision: Decision
    effect: str = Field(default="", exclude_if=not_)


class Refused(Contract):
    """The call never reached the permission engine: no such tool, or arguments that don't fit."""

    kind: Literal["refused"] = "refused"
    call_id: str
    tool: str
    type: ErrorType
    reason: str
    next_valid_actions: tuple[str, ...]


Ruling: TypeAlias = Annotated[Decided | Refused, Field(discriminator="kind")]


def decision_of(ruling: Ruling | None) -> Decision | None:
    """Return the engine's decision; null for a call that never reached it, or not yet."""
    return ruling.decision if isinstance(ruling, Decided) else None


class AuthorizeCalls(Contract):
    """
    Input of the activity `authorize`: all calls of a turn, with what a decision depends on.

    `visible_tools` are the tools that this run has; any other name is an unknown tool.
    `unresolved` are the fingerprints of writes of this run of which nobody knows whether they
    happened.
    """

    run_id: str
    agent: str
    tenant: str
    actor: str
    calls: tuple[AnyCall, ...]
    approvals: tuple[ApprovalRecord, ...] = ()
    drafts: tuple[Draft, ...] = ()
    unresolved: tuple[str, ...] = ()
    visible_tools: tuple[str, ...]
    now: datetime


class Rulings(Contract):
    """
    Output of the activity `authorize`: one ruling a call, in call order.

    `policy` is the digest of the policy that decided; without one, the risk classes' defaults did.
    """

    rulings: tuple[Ruling, ...]
    policy: str = Field(default="", exclude_if=not_)
