"""The activities that decide and record: local, quick, and their results are in history."""

from typing import NamedTuple, Protocol, TypeGuard

import structlog
from temporalio import activity

from activities.callers import check_run
from activities.switchboard import Switchboard
from contracts.approvals import ApprovalRecord, Hearing, Proof, Verdict, Verdicts
from contracts.base import JsonObject, digest
from contracts.decisions import AuthorizeCalls, Decided, Decision, Deny, Refused, Ruling, Rulings
from contracts.errors import ToolError
from contracts.run import AuditEvent
from contracts.switches import Switch
from contracts.tools import AnyCall, Draft, MalformedCall, ToolCall
from policy.approvals import Trust, judge
from policy.case import Facts
from policy.engine import decide
from policy.repetition import effect
from policy.rules import Policy
from policy.trust import LOCAL_ISSUER, TrustedIssuer
from tools.registry import ToolRegistry
from tools.tool import Tool

log = structlog.get_logger()

SPELLED_OUT = 20
"""How many refusals of one hearing keep their reason: a flood of them is an event of history."""


LONGEST_QUOTE = 200
"""Characters of what a ruling quotes of a call: a model may write a megabyte in many calls."""

LONGEST_RULING = 500
"""Characters of a ruling's reason."""


class Keyring(Protocol):
    """Knows whose signatures count now."""

    async def trusted(self, hearing: Hearing) -> tuple[TrustedIssuer, ...]:
        """Return the issuers with their keys that the messages of a hearing may need."""
        ...

    async def own(self) -> TrustedIssuer:
        """Return the keys of people who sign on their own, as they are now."""
        ...


class Surroundings(NamedTuple):
    """What a worker decides with, beside the calls."""

    policy: Policy
    environment: str
    has_sandbox: bool


class PolicyActivities:
    """Rules on calls, judges what people say, and writes the audit log."""

    def __init__(
        self,
        registry: ToolRegistry,
        surroundings: Surroundings,
        keyring: Keyring,
        switchboard: Switchboard,
    ) -> None:
        self._registry = registry
        self._surroundings = surroundings
        self._keyring = keyring
        self._switchboard = switchboard

    @activity.defn
    async def authorize(self, asked: AuthorizeCalls) -> Rulings:
        """Rule on each call: is the tool known, are the arguments valid, may it run."""
        check_run(asked.run_id)
        switches = await self._switchboard.current()
        asked = asked.model_copy(update={"approvals": await self._still_signed(asked.approvals)})
        return Rulings(
            rulings=tuple(self._rule(asked, call, switches) for call in asked.calls),
            policy=self._surroundings.policy.digest,
        )

    @activity.defn
    async def judge(self, hearing: Hearing) -> Verdicts:
        """Say which messages count, and why the others don't."""
        check_run(hearing.run_id)
        issuers = await self._keyring.trusted(hearing)
        trust = Trust(groups=self._surroundings.policy.groups, issuers=issuers)
        return Verdicts(verdicts=_bounded(judge(hearing, trust)))

    @activity.defn
    async def record(self, event: AuditEvent) -> None:
        """Write an audit line to the worker's log; in history it is the marker's summary."""
        log.info("run.audited", run_id=event.run_id, audit_event=event.event, text=event.text)

    async def _still_signed(
        self, approvals: tuple[ApprovalRecord, ...]
    ) -> tuple[ApprovalRecord, ...]:
        """Leave out what people signed with a key of their own that isn't trusted any more."""
        if not any(_signed_with_own_key(record.proof) for record in approvals):
            return approvals
        trusted = (await self._keyring.own()).keys
        return tuple(
            record
            for record in approvals
            if not _signed_with_own_key(record.proof) or _is_by_one_of(trusted, record.proof)
        )

    def _rule(self, asked: AuthorizeCalls, call: AnyCall, switches: tuple[Switch, ...]) -> Ruling:
        tool = self._registry.get(call.name) if call.name in asked.visible_tools else None
        if tool is None:
            known = ", ".join(asked.visible_tools) or "none"
            return Refused(
                call_id=call.call_id,
                tool=_cut(call.name, LONGEST_QUOTE),
                type="unknown_tool",
                reason=f"no tool {_cut(call.name, LONGEST_QUOTE)!r} (known: {known})",
                next_valid_actions=("use one of the known tools", "answer without a tool"),
            )
        if isinstance(call, MalformedCall):
            return _invalid(call, "the arguments are no JSON object")
        if objections := tool.objections(call.arguments):
            return _invalid(call, "; ".join(objections))
        return self._decided(asked, call, tool, switches)

    def _decided(
        self, asked: AuthorizeCalls, call: ToolCall, tool: Tool, switches: tuple[Switch, ...]
    ) -> Ruling:
        try:
            values = tool.values(call.arguments)
        except ToolError as error:
            return _invalid(call, error.reason)
        facts = Facts(
            tenant=asked.tenant,
            actor=asked.actor,
            agent=asked.agent,
            now=asked.now,
            environment=self._surroundings.environment,
            approvals=asked.approvals,
            draft=_draft(asked, call, tool),
            unresolved=asked.unresolved,
            switches=switches,
            sandbox=self._surroundings.has_sandbox,
            values=values,
        )
        return Decided(
            call_id=call.call_id,
            tool=call.name,
            arguments_digest=digest(call.arguments),
            risk=tool.contract.risk,
            scope=_cut(_scope(tool, values), LONGEST_QUOTE),
            decision=_fitting(decide(call, tool.contract, facts, self._surroundings.policy)),
            effect="" if tool.contract.risk.changes_nothing else effect(call.name, values),
        )


def _signed_with_own_key(proof: Proof | None) -> TypeGuard[Proof]:
    return proof is not None and proof.issuer == LOCAL_ISSUER


def _is_by_one_of(keys: tuple[JsonObject, ...], proof: Proof) -> bool:
    return any((key.get("kid"), key.get("sub")) == (proof.key, proof.subject) for key in keys)


def _draft(asked: AuthorizeCalls, call: ToolCall, tool: Tool) -> Draft | None:
    """Return the draft of a call, if the tool that is its draft variant today made it."""
    wanted = (call.call_id, tool.contract.draft)
    return next((one for one in asked.drafts if (one.call_id, one.tool) == wanted), None)


def _invalid(call: AnyCall, reason: str) -> Refused:
    return Refused(
        call_id=call.call_id,
        tool=call.name,
        type="invalid_arguments",
        reason=_cut(reason, LONGEST_RULING),
        next_valid_actions=("correct the arguments and call again",),
    )


def _fitting(decision: Decision) -> Decision:
    """Cut what a decision quotes of the arguments; all rulings of a turn are one payload."""
    reason = _cut(decision.reason, LONGEST_RULING)
    if isinstance(decision, Deny):
        actions = tuple(_cut(action, LONGEST_QUOTE) for action in decision.next_valid_actions)
        return decision.model_copy(update={"reason": reason, "next_valid_actions": actions})
    return decision.model_copy(update={"reason": reason})


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _scope(tool: Tool, values: JsonObject) -> str:
    scope = tool.contract.resource_scope
    named = values.get(scope.argument) if scope.argument is not None else None
    return f"{scope.kind}:{named}" if named is not None else scope.kind


def _bounded(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Leave out why, where so many are refused at once that nobody would read it."""
    spelled, kept = 0, list[Verdict]()
    for verdict in verdicts:
        spelled += not verdict.accepted
        many = not verdict.accepted and spelled > SPELLED_OUT
        reason = f"refused: {verdict.code}" if many else verdict.reason
        kept.append(verdict.model_copy(update={"reason": reason}))
    return tuple(kept)
