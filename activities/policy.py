"""The activities that decide and record: local, quick, and their results are in history."""

import asyncio
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from functools import partial
from math import inf
from typing import NamedTuple, Protocol

import structlog
from pydantic_core import PydanticSerializationError
from temporalio import activity
from temporalio.exceptions import ApplicationError

from holdfast.activities.authority.authorities import AuthorityFile
from holdfast.activities.authority.basis import Basis
from holdfast.activities.authority.refusals import Refusal, refuse_arguments
from holdfast.activities.authority.verdicts import judge_in_turn
from holdfast.activities.callers import (
    build_hand_back,
    find_calling_execution,
    require_app,
    require_run_caller,
)
from holdfast.activities.clock import Clock
from holdfast.activities.companions import Companions, describe_draft, exceeds_limits
from holdfast.activities.kill_switch.switches import KillSwitch
from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRecord,
    JudgeInput,
    Verdicts,
)
from holdfast.contracts.base import JsonObject, canonical_json, digest
from holdfast.contracts.bounds import (
    MAX_CANONICAL_BYTES,
    MAX_DEFAULT_ARGUMENTS_BYTES,
    MAX_RULING_QUOTE_CHARS,
    size,
)
from holdfast.contracts.calls import AnyCall, Draft, MalformedCall, ToolCall
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    AuthorizeCalls,
    Decided,
    Decision,
    Deny,
    Refused,
    Ruling,
    Rulings,
    RunAsDraftOnly,
    RunInSandbox,
    clip_decision,
    fit_into_payload,
    name_effect,
)
from holdfast.contracts.journal import AuditEvent, Journal
from holdfast.contracts.state.resets import find_reset
from holdfast.contracts.switches import Switch
from holdfast.contracts.texts import clip_chars
from holdfast.policy.allowlists import may_repeat
from holdfast.policy.approvals import find_key_claims, find_lapsed_reviews
from holdfast.policy.case import CallContext, DecisionFacts
from holdfast.policy.engine import decide
from holdfast.policy.rules import Policy
from holdfast.policy.signatures import KeyClaim
from holdfast.policy.trust import Trust, TrustedIssuer, is_address
from holdfast.policy.undoing import matches_shown_undo
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.sharing.quota import TenantQuota
from holdfast.tools.tool import Tool
from holdfast.tools.values.filling import TOO_MUCH_LEFT_OUT

MAX_INLINE_CALL_BYTES = 2_000
"""Bytes of a call, of which some take microseconds each: a hundred runs may ask at once."""

# More would only divide the same time, of one interpreter.
_RULERS = FairThreads(2, "rule")

MAX_LARGE_RULINGS = 20
"""
Local activities that wait for their turn there, of the hundred in which all is decided, each for
calls of more than 10 kB: a hundred with smaller ones have had theirs within a second.
"""

audit = structlog.get_logger()
"""What must stand there before the run goes on: a line that can't be written is an error."""


class Keyring(Protocol):
    """Knows whose signatures count now."""

    async def find_issuers(self, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        """Return the issuers that count, those of these keys with all keys that they have now."""
        ...


class PolicyEnvironment(NamedTuple):
    """What a worker decides with, beside the calls."""

    policy: Policy
    environment: str
    has_sandbox: bool
    app: str = ""


class _CurrentFacts(NamedTuple):
    """
    What holds at the moment of a decision: what is switched off, and whose signatures count.

    Its `basis` is what calls run by, where they run.
    """

    switches: tuple[Switch, ...]
    issuers: tuple[TrustedIssuer, ...]
    basis: Basis


class PolicyActivities:
    """Rules on calls, judges what people say, and writes the audit log."""

    def __init__(
        self,
        registry: ToolRegistry,
        environment: PolicyEnvironment,
        keyring: Keyring,
        switchboard: KillSwitch,
    ) -> None:
        self._registry = registry
        self._environment = environment
        self._keyring = keyring
        self._switchboard = switchboard
        self._companions = Companions(registry, environment.policy)
        self._authorities = AuthorityFile(environment.policy.authorities)
        self._large = TenantQuota(MAX_LARGE_RULINGS)

    @activity.defn
    async def authorize(self, asked: AuthorizeCalls) -> Rulings:
        """
        Rule on each call: is the tool known, are the arguments valid, may it run.

        Raises ApplicationError where it would wait with many of the tenant's large calls.
        """
        require_run_caller(asked.run_id)
        TENANT.set(asked.caller.tenant)
        self._require_tools(asked)
        with self._begin(asked) as free:
            if not free:
                raise ApplicationError("this worker rules on many large calls of this tenant")
            return await self._rule_on_all(asked)

    def _begin(self, asked: AuthorizeCalls) -> AbstractContextManager[bool]:
        large = (call for call in asked.calls if _measure(asked, call) > MAX_INLINE_BYTES)
        waits = activity.info().is_local and any(large)
        return self._large.take(asked.caller.tenant) if waits else nullcontext(enter_result=True)

    async def _rule_on_all(self, asked: AuthorizeCalls) -> Rulings:
        execution, clock = find_calling_execution().id, Clock(asked.now)
        given = asked.approvals if asked.execution == execution else ()
        reviewed = (record for review in asked.reviews for record in review.approvals)
        trust = await self._trust(set(), (*given, *reviewed))
        switches, basis = await self._switchboard.current(), await self._basis(clock.now())
        known = _CurrentFacts(switches, trust.issuers, basis)
        asked = asked.with_(approvals=given, now=clock.now())
        rulings, room = list[Ruling](), MAX_DEFAULT_ARGUMENTS_BYTES - asked.filled_bytes
        for call in asked.calls:
            if rulings:
                await asyncio.sleep(0)  # other runs' heartbeats, where many calls take long
            ruling = await self._rule_in_turn(asked, call, known)
            if isinstance(ruling, Decided) and ruling.filled:
                room -= size(ruling.filled)
                ruling = ruling if room >= 0 else refuse_arguments(call, TOO_MUCH_LEFT_OUT)
            rulings.append(ruling)
        return Rulings(
            rulings=fit_into_payload(tuple(rulings)),
            trust=asked.trust,
            caller=asked.caller,
            lapsed=find_lapsed_reviews(asked.reviews, trust, asked.now),
            policy=self._environment.policy.digest,
            signed=tuple(self._environment.policy.signals),
            execution=execution,
        )

    @activity.defn
    async def judge(self, hearing: JudgeInput) -> Verdicts:
        """Say which messages count, and why the others don't."""
        require_run_caller(hearing.run_id)
        require_app(hearing.app, self._environment.app)
        execution, clock = find_calling_execution().id, Clock(hearing.now)
        requests = (one for one in hearing.requests if isinstance(one, Approvable))
        given = (record for request in requests for record in request.approvals)
        trust = await self._trust(find_key_claims(hearing), given)
        was_reset = hearing.execution != execution
        since = find_reset(execution, hearing.now) if was_reset else None
        hearing = hearing.with_(now=clock.now(), reset_at=since)
        return await judge_in_turn(hearing, trust, execution)

    @activity.defn
    async def record(self, event: AuditEvent) -> Journal | None:
        """Write an audit line to the worker's log; in history it is the marker's summary."""
        require_run_caller(event.run_id)
        told = {} if event.regulated else {"text": event.text}
        audit.info("run.audited", run_id=event.run_id, audit_event=event.event, **told)
        if event.regulated:
            return Journal(events=event.journal, line=event.text.strip().partition("\n")[0])
        return Journal(events=event.journal) if event.journal else None

    @activity.defn
    async def mark_judged(self, run_id: str) -> None:
        """Stand in history, among the messages, where some of them have been judged."""
        require_run_caller(run_id)

    async def _basis(self, now: datetime) -> Basis:
        here = self._environment
        standing = await self._authorities.find_standing(now)
        return Basis(here.app, here.policy, here.environment, standing)

    def _require_tools(self, asked: AuthorizeCalls) -> None:
        """Hand calls back whose tools another worker may have; nothing is decided then."""
        require_app(asked.app, self._environment.app)
        wanted = {call.name for call in asked.calls} & set(asked.visible_tools)
        lacking = sorted(name for name in wanted if self._registry.get(name) is None)
        if lacking and not asked.gone:
            raise build_hand_back(f"this worker has no tool {lacking[0]!r}")

    async def _trust(self, claims: set[KeyClaim], given: Iterable[ApprovalRecord]) -> Trust:
        """Say whose signatures count now: of tokens that came, of approvals given before."""
        policy = self._environment.policy
        published = {one.issuer for one in policy.issuers if is_address(one.jwks)}
        proofs = (record.proof for record in given if record.proof is not None)
        kept = {KeyClaim(one.issuer, one.key) for one in proofs if one.issuer not in published}
        issuers = await self._keyring.find_issuers(claims | kept)
        return Trust(policy.groups, issuers, policy.signals)

    async def _rule_in_turn(
        self, asked: AuthorizeCalls, call: AnyCall, known: _CurrentFacts
    ) -> Ruling:
        """Rule on a call; on a large one beside the loop, where each tenant has its turn."""
        rule = partial(self._rule_or_refuse, asked, call, known)
        if _measure(asked, call) > MAX_INLINE_CALL_BYTES:
            return await _RULERS.run(asked.caller.tenant, rule)
        return rule()

    def _rule_or_refuse(
        self, asked: AuthorizeCalls, call: AnyCall, known: _CurrentFacts
    ) -> Ruling:
        """Rule on a call alone: whatever that raises leaves no other call undecided."""
        # Nothing is asked of anybody here, so another attempt would come to the same.
        with Refusal(call) as refusal:
            ruling = self._rule(asked, call, known)
            size(ruling)  # what can't be written would hold up the others
            return ruling
        return refusal.ruling

    def _rule(self, asked: AuthorizeCalls, call: AnyCall, known: _CurrentFacts) -> Ruling:
        tool = self._registry.get(call.name) if call.name in asked.visible_tools else None
        if tool is None:
            name = clip_chars(call.name, MAX_RULING_QUOTE_CHARS)
            visible = ", ".join(asked.visible_tools) or "none"
            return Refused(
                call_id=call.call_id,
                tool=name,
                type="unknown_tool",
                reason=f"no tool {name!r} (known: {visible})",
                next_valid_actions=("use one of the known tools", "answer without a tool"),
            )
        if isinstance(call, MalformedCall):
            return refuse_arguments(call, "the arguments are no JSON object")
        return self._decide(asked, call, tool, known)

    def _decide(
        self, asked: AuthorizeCalls, call: ToolCall, tool: Tool, known: _CurrentFacts
    ) -> Ruling:
        written = call.arguments
        given = call.with_arguments(asked.filled.get(call.call_id, {}))
        if objections := tool.objections(given.arguments):
            return refuse_arguments(call, "; ".join(objections))
        call = given.with_(arguments=tool.fill_defaults(given.arguments))
        compared = tool.compare(call.arguments, written)
        facts = self._build_facts(asked, call, tool, known)._replace(
            **compared._asdict(),
            variant=describe_draft(self._registry, tool.contract, call.arguments, written),
        )
        rule_on_undo = partial(self._companions.rule_on_undo, written=written)
        shown = rule_on_undo(tool, CallContext(call, tool.contract, facts))
        approvals = tuple(one for one in asked.approvals if matches_shown_undo(one, shown))
        case = CallContext(call, tool.contract, facts._replace(approvals=approvals))
        decision = decide(call, tool.contract, case.facts, self._environment.policy)
        drafting = case.as_draft() if isinstance(decision, RunAsDraftOnly) else None
        doing = self._select_tool(tool, decision)
        loader = self._registry.get(asked.loads.get(tool.contract.name, ""))
        return Decided(
            call_id=call.call_id,
            tool=call.name,
            arguments_digest=digest(call.arguments),
            risk=tool.contract.risk,
            scope=clip_chars(_scope(tool, compared.values), MAX_RULING_QUOTE_CHARS),
            decision=clip_decision(decision),
            filled=call.diff_arguments(given.arguments),
            effect=name_effect(call, (drafting or case).effect),
            named=_find_named_effect(doing, call, written, (drafting or case).effect),
            repeatable=may_repeat(drafting or case),
            canonical=_canonical(call, compared.values),
            undo=shown if isinstance(decision, ApprovalRequired) else rule_on_undo(doing, case),
            basis=known.basis.digest(doing, for_another=doing is not tool) if doing else "",
            at=asked.now,
            draft_risk=doing.contract.risk if doing and doing is not tool else None,
            companion_forbidden=self._companions.is_any_forbidden(asked, tool, case),
            loads_by=known.basis.digest(loader, for_another=True) if loader else "",
            exceeds=doing is not None and exceeds_limits(asked, doing.contract),
            by_tools=_name_tools(asked, call, decision),
        )

    def _build_facts(
        self, asked: AuthorizeCalls, call: ToolCall, tool: Tool, known: _CurrentFacts
    ) -> DecisionFacts:
        return DecisionFacts(
            caller=asked.caller,
            metadata=asked.metadata,
            agent=asked.agent,
            path=asked.path,
            ceiling=asked.ceiling,
            now=asked.now,
            environment=self._environment.environment,
            trust=asked.trust,
            draft=_find_draft(asked, call, tool),
            unresolved=asked.unresolved,
            done=asked.done,
            lost=asked.lost,
            planning=asked.planning,
            planned=asked.planned,
            switches=known.switches,
            sandbox=self._environment.has_sandbox,
            issuers=known.issuers,
            authorities=known.basis.authorities,
        )

    def _select_tool(self, tool: Tool, decision: Decision) -> Tool | None:
        """Return the tool that runs by a decision; null where none does, or not yet."""
        match decision:
            case RunAsDraftOnly(draft=name):
                return self._registry.get(name)
            case Allow() | RunInSandbox():
                return tool
            case ApprovalRequired() | AskUser() | Deny():
                return None


def _name_tools(asked: AuthorizeCalls, call: ToolCall, decision: Decision) -> tuple[str, ...]:
    """Name the tools that run for a call beside its own, or in its place."""
    drafting = decision.draft if isinstance(decision, RunAsDraftOnly) else None
    return tuple(filter(None, (drafting, asked.loads.get(call.name))))


def _measure(asked: AuthorizeCalls, call: AnyCall) -> float:
    """Return the bytes of a call, which is read, compared and written several times."""
    try:
        return size((call, asked.filled.get(call.call_id)))
    except PydanticSerializationError:
        return inf


def _find_draft(asked: AuthorizeCalls, call: ToolCall, tool: Tool) -> Draft | None:
    """Return the draft of a call, if the tool that is its draft variant today made it."""
    wanted = (call.call_id, tool.contract.draft)
    return next((one for one in asked.drafts if (one.call_id, one.tool) == wanted), None)


def _find_named_effect(
    doing: Tool | None, call: ToolCall, written: JsonObject, effect: str
) -> str:
    """Return what a call has that names what this one left out; empty where it is the same."""
    if doing is None or call.arguments == written:
        return ""
    named = doing.effect(call.arguments)
    return "" if named == effect else named


def _canonical(call: ToolCall, values: JsonObject) -> JsonObject | None:
    """Return what the audit keeps of arguments that are written otherwise than the tool sees."""
    if values == call.arguments or len(canonical_json(values)) > MAX_CANONICAL_BYTES:
        return None
    return values


def _scope(tool: Tool, values: JsonObject) -> str:
    scope = tool.contract.resource_scope
    named = values.get(scope.argument) if scope.argument is not None else None
    return f"{scope.kind}:{named}" if named is not None else scope.kind
