"""What the runtime decides about a call before anything runs."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import accumulate
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import AfterValidator, Field

from holdfast.contracts.approvals import ApprovalRecord, Requirement, Review
from holdfast.contracts.base import Contract, JsonObject, digest
from holdfast.contracts.bounds import (
    MAX_BRIEF_TEXT_BYTES,
    MAX_RULING_QUOTE_CHARS,
    MAX_RULING_REASON_CHARS,
    MAX_RULINGS_BYTES,
    size,
)
from holdfast.contracts.calls import (
    DEFAULT_ACTOR,
    DEFAULT_TENANT,
    AnyCall,
    Draft,
    ErrorType,
    Grant,
    ToldTenant,
    ToolCall,
    fingerprint_effect,
)
from holdfast.contracts.delegation.ceilings import Ceiling, RisksWithout, ToolsWithout
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.signals import SignedSignal
from holdfast.contracts.texts import clip_chars, cut_with_note, normalize_domain
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import Trust


class Allow(Contract):
    """The call may run now."""

    verdict: Literal["allow"] = "allow"
    rule: str
    reason: str

    def with_(self, *, reason: str) -> Self:
        """Return a copy with another reason."""
        return self.copy_with({"reason": reason})


class RunInSandbox(Contract):
    """The call may run now, but only in the sandbox, and with nothing but what is granted."""

    verdict: Literal["run_in_sandbox"] = "run_in_sandbox"
    rule: str
    reason: str
    grant: Grant = Grant()

    def with_(self, *, reason: str) -> Self:
        """Return a copy with another reason."""
        return self.copy_with({"reason": reason})


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

    def with_(self, *, reason: str) -> Self:
        """Return a copy with another reason."""
        return self.copy_with({"reason": reason})


class ApprovalRequired(Requirement):
    """
    A person must approve these exact arguments first.

    `grant` is what the call may do then, if it runs in the sandbox.
    """

    verdict: Literal["approval_required"] = "approval_required"
    rule: str
    reason: str
    grant: Grant | None = Field(default=None, exclude_if=lambda grant: grant is None)

    def with_(self, *, reason: str) -> Self:
        """Return a copy with another reason."""
        return self.copy_with({"reason": reason})


class AskUser(Contract):
    """The call is a question to a person; their answer is its result."""

    verdict: Literal["ask_user"] = "ask_user"
    rule: str
    reason: str
    question: str

    def with_(self, *, reason: str) -> Self:
        """Return a copy with another reason."""
        return self.copy_with({"reason": reason})


class DenyChange(TypedDict, total=False):
    """What may change of it."""

    reason: str
    next_valid_actions: tuple[str, ...]


class Deny(Contract):
    """The call doesn't run, and what the model may do instead."""

    verdict: Literal["deny"] = "deny"
    rule: str
    reason: str
    next_valid_actions: tuple[str, ...] = Field(min_length=1)
    type: ErrorType = Field(
        default="permission_denied", exclude_if=lambda type_: type_ == "permission_denied"
    )

    def with_(self, **changes: Unpack[DenyChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


Decision: TypeAlias = Annotated[
    Allow | RunInSandbox | RunAsDraftOnly | ApprovalRequired | AskUser | Deny,
    Field(discriminator="verdict"),
]


MayRun: TypeAlias = Allow | RunInSandbox | RunAsDraftOnly
"""Decisions after which something runs; each is made anew after any wait."""


class Decided(Contract):
    """
    The permission engine's decision about one call, as the audit keeps it.

    `filled` are the arguments of which the call left something out, with their defaults: the call
    is decided, shown, approved and run with these, `arguments_digest` is that of all of them.
    `effect` is the same for calls that do the same, however a model wrote their arguments: with
    defaults left out, or a number as text; it is empty where the call's own arguments say so.
    `named` is that of a call that names what this one left out, where it is another one.
    Where the draft variant runs instead both are those of the draft, and `draft_risk` its class.
    `repeatable` says that what runs changes nothing. `canonical` are the arguments as the tool
    takes them, where those of the call are written otherwise. `undo` says whether what runs may be
    taken back, where a tool is named for that. `basis` is by what it was allowed, `at` when.
    `companion_forbidden`: the policy forbids the tool that would find out what became of the call,
    or load what its receiver needs. `loads_by` is by what that load was allowed. `exceeds`: what
    runs may take more than the run counts with, here. `by_tools` run for it beside its own, or
    in its place: what drafts it, or loads for its receiver. Earlier releases don't name them.
    """

    kind: Literal["decided"] = "decided"
    call_id: str
    tool: str
    arguments_digest: str
    risk: Risk
    scope: str
    decision: Decision
    filled: JsonObject = Field(default_factory=dict, exclude_if=not_)
    effect: str = Field(default="", exclude_if=not_)
    named: str = Field(default="", exclude_if=not_)
    repeatable: bool = Field(default=False, exclude_if=not_)
    canonical: JsonObject | None = Field(default=None, exclude_if=lambda value: value is None)
    undo: UndoRuling | None = Field(default=None, exclude_if=not_)
    basis: str = Field(default="", exclude_if=not_)
    at: datetime
    draft_risk: Risk | None = Field(default=None, exclude_if=not_)
    companion_forbidden: bool = Field(default=False, exclude_if=not_)
    loads_by: str = Field(default="", exclude_if=not_)
    exceeds: bool = Field(default=False, exclude_if=not_)
    by_tools: tuple[str, ...] = Field(default=(), exclude_if=not_)

    @property
    def reading(self) -> str:
        """What is the same while a call would run with the same arguments, by the same basis."""
        return digest([self.basis, self.arguments_digest, self.canonical])

    @property
    def runs_as(self) -> Risk:
        """The class of what runs."""
        return self.draft_risk or self.risk

    @property
    def reaches_out(self) -> bool:
        """
        Whether what runs changes more than the workspace, though its class says it doesn't.

        It may ask hosts, or leaves something behind that a tool has to take back.
        """
        asks = isinstance(self.decision, RunInSandbox) and bool(self.decision.grant.hosts)
        return asks or self.undo is not None


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


def find_effects(call: AnyCall, ruled: Decided) -> tuple[str, ...]:
    """Return what calls have, the one or the other, that do the same as this one."""
    effect = ruled.effect
    if not effect and isinstance(call, ToolCall):
        effect = fingerprint_effect(call.name, call.arguments)
    return tuple(filter(None, (effect, ruled.named)))


def name_effect(call: ToolCall, effect: str) -> str:
    """Return an effect as a ruling has it: empty where the call's own arguments say so."""
    return "" if effect == fingerprint_effect(call.name, call.arguments) else effect


def fill_arguments(call: AnyCall, ruling: Ruling) -> AnyCall:
    """Return a call with all the arguments that it had when it was ruled on."""
    if isinstance(call, ToolCall) and isinstance(ruling, Decided) and ruling.filled:
        return call.with_arguments(ruling.filled)
    return call


class AuthorizeCallsChange(TypedDict, total=False):
    """What may change of it."""

    calls: tuple[AnyCall, ...]
    filled: Mapping[str, JsonObject]
    approvals: tuple[ApprovalRecord, ...]
    drafts: tuple[Draft, ...]
    reviews: tuple[Review, ...]
    planning: bool
    planned: tuple[str, ...] | None
    gone: bool
    filled_bytes: int
    now: datetime


class Caller(Contract):
    """For whom calls are made, as the run's starter said; what nobody said is an empty text."""

    tenant: ToldTenant = DEFAULT_TENANT
    actor: str = Field(default=DEFAULT_ACTOR, exclude_if=DEFAULT_ACTOR.__eq__)
    session: str = Field(default="", exclude_if=not_)
    domain: Annotated[str, AfterValidator(normalize_domain)] = Field(default="", exclude_if=not_)
    task_kind: str = Field(default="", exclude_if=not_)


class AuthorizeCalls(Contract):
    """
    Input of the activity `authorize`: the calls of a turn, with what a decision depends on.

    `calls` are as the model wrote them, `filled` is what they left out, by their ids, as it was
    filled in when they were decided first. `visible_tools` are the tools that this run has; any
    other name is an unknown tool. One that this worker lacks another may have, unless all have
    been asked and it is `gone`. `unresolved` are the fingerprints of writes of this run of which
    nobody knows whether they happened, `done` those of what other parts of the same work did;
    `lost` says that nobody knows all of that. While it is `planning` the run changes nothing,
    and then only by the tools that are `planned`.
    `path` are the agents that this one works for. Nothing of the names `without_tools` and the
    classes `without_risks` runs in it. `execution` is that in which the approvals were given.
    `reviews` are those that were approved and release what the calls do. `loads` are the tools
    that load what the receivers of handoffs need, by those that hand over, `finders` those by
    which this run finds out what became of calls, by the tools of these. `limits` are the seconds
    that calls of tools, and drafts of them, may take, and the characters that a model reads of
    their results, as this run counts with them. `filled_bytes` is what
    calls of the same turn that were decided before left out of theirs. `trust` is the least of
    what the model had read.
    """

    run_id: str
    execution: str
    app: str = Field(default="", exclude_if=not_)
    agent: str
    path: tuple[str, ...] = Field(default=(), exclude_if=not_)
    without_tools: ToolsWithout = ()
    without_risks: RisksWithout = ()
    caller: Caller
    metadata: JsonObject = Field(default_factory=dict, exclude_if=not_)
    calls: tuple[AnyCall, ...]
    filled: Mapping[str, JsonObject] = Field(
        default_factory=dict[str, JsonObject], exclude_if=not_
    )
    approvals: tuple[ApprovalRecord, ...] = ()
    drafts: tuple[Draft, ...] = ()
    reviews: tuple[Review, ...] = Field(default=(), exclude_if=not_)
    unresolved: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    lost: bool = Field(default=False, exclude_if=not_)
    planning: bool = Field(default=False, exclude_if=not_)
    planned: tuple[str, ...] | None = Field(default=None, exclude_if=lambda named: named is None)
    visible_tools: tuple[str, ...]
    loads: Mapping[str, str] = Field(default_factory=dict[str, str], exclude_if=not_)
    finders: Mapping[str, str] = Field(default_factory=dict[str, str], exclude_if=not_)
    limits: Mapping[str, tuple[float, int]] = Field(
        default_factory=dict[str, tuple[float, int]], exclude_if=not_
    )
    gone: bool = Field(default=False, exclude_if=not_)
    filled_bytes: int = Field(default=0, exclude_if=not_)
    trust: Trust = "trusted"
    now: datetime

    def with_(self, **changes: Unpack[AuthorizeCallsChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def ceiling(self) -> Ceiling:
        """What agents before this one keep from it."""
        return Ceiling(without_tools=self.without_tools, without_risks=self.without_risks)


class Rulings(Contract):
    """
    Output of the activity `authorize`: one ruling a call, in call order.

    Those on the last calls are left out where all are too large to be sent together. `policy` is
    the digest of the policy that decided; without one, the risk classes' defaults did.
    `execution` is the one in which it decided, as the server says. `lapsed` are the reviews whose
    approvals count no more, by their requests' ids. `signed` signals take a signature. `trust` is
    that of what the model had read when it asked, `caller` for whom.
    """

    rulings: tuple[Ruling, ...]
    trust: Trust | None = Field(default=None, exclude_if=not_)
    caller: Caller = Field(default=Caller(), exclude_if=Caller().__eq__)
    lapsed: tuple[str, ...] = Field(default=(), exclude_if=not_)
    execution: str
    policy: str = Field(default="", exclude_if=not_)
    signed: tuple[SignedSignal, ...] = Field(default=(), exclude_if=not_)


def clip_decision(decision: Decision) -> Decision:
    """Cut what a decision quotes of the arguments; all rulings of a turn are one payload."""
    reason = clip_chars(decision.reason, MAX_RULING_REASON_CHARS)
    if isinstance(decision, Deny):
        actions = tuple(
            clip_chars(action, MAX_RULING_QUOTE_CHARS) for action in decision.next_valid_actions
        )
        return decision.with_(reason=reason, next_valid_actions=actions)
    return decision.with_(reason=reason)


def fit_into_payload(rulings: tuple[Ruling, ...]) -> tuple[Ruling, ...]:
    """Cut what rulings quote of their calls, and leave the last ones out, where it is too much."""
    if size(rulings) <= MAX_RULINGS_BYTES:
        return rulings
    brief = tuple(map(_shorten_ruling, rulings))
    return brief[: count_fitting(map(size, brief), MAX_RULINGS_BYTES) or 1]


def count_fitting(sizes: Iterable[int], room: int) -> int:
    """Return how many of the first entries have room together, each with a comma."""
    return sum(taken <= room for taken in accumulate(one + 1 for one in sizes))


def _shorten_ruling(ruling: Ruling) -> Ruling:
    if isinstance(ruling, Refused):
        fewer = {
            "tool": cut_with_note(ruling.tool, MAX_BRIEF_TEXT_BYTES),
            "reason": cut_with_note(ruling.reason, MAX_BRIEF_TEXT_BYTES),
        }
        return ruling.model_copy(update={**fewer, "next_valid_actions": _shorten_actions(ruling)})
    decision = ruling.decision
    decision = decision.with_(reason=cut_with_note(decision.reason, MAX_BRIEF_TEXT_BYTES))
    if isinstance(decision, Deny):
        decision = decision.with_(next_valid_actions=_shorten_actions(decision))
    undo = ruling.undo
    if undo is not None:
        undo = undo.with_(reason=cut_with_note(undo.reason, MAX_BRIEF_TEXT_BYTES))
    # As the tool takes its arguments guardrails look at the call: that is left as it is.
    fewer = {"scope": cut_with_note(ruling.scope, MAX_BRIEF_TEXT_BYTES)}
    return ruling.model_copy(update={**fewer, "decision": decision, "undo": undo})


def _shorten_actions(refusal: Refused | Deny) -> tuple[str, ...]:
    return tuple(
        cut_with_note(action, MAX_BRIEF_TEXT_BYTES) for action in refusal.next_valid_actions
    )
