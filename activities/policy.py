"""The activities that decide and record: local, quick, and their results are in history."""

from typing import NamedTuple, Protocol

import structlog
from temporalio import activity

from activities.switchboard import Switchboard
from contracts.approvals import Hearing, Verdict, Verdicts
from contracts.base import JsonObject, digest
from contracts.decisions import AuthorizeCalls, Decided, Refused, Ruling, Rulings
from contracts.errors import ToolError
from contracts.run import AuditEvent
from contracts.switches import Switch
from contracts.tools import AnyCall, MalformedCall, ToolCall
from policy.approvals import Trust, judge
from policy.case import Facts
from policy.engine import decide
from policy.rules import Policy
from policy.trust import TrustedIssuer
from tools.registry import ToolRegistry
from tools.tool import Tool

log = structlog.get_logger()

SPELLED_OUT = 20
"""How many refusals of one hearing keep their reason: a flood of them is an event of history."""


class Keyring(Protocol):
    """Knows whose signatures count now."""

    async def trusted(self, hearing: Hearing) -> tuple[TrustedIssuer, ...]:
        """Return the issuers with their keys that the messages of a hearing may need."""
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
        switches = await self._switchboard.current()
        return Rulings(
            rulings=tuple(self._rule(asked, call, switches) for call in asked.calls),
            policy=self._surroundings.policy.digest,
        )

    @activity.defn
    async def judge(self, hearing: Hearing) -> Verdicts:
        """Say which messages count, and why the others don't."""
        issuers = await self._keyring.trusted(hearing)
        trust = Trust(groups=self._surroundings.policy.groups, issuers=issuers)
        return Verdicts(verdicts=_bounded(judge(hearing, trust)))

    @activity.defn
    async def record(self, event: AuditEvent) -> None:
        """Write an audit line to the worker's log; in history it is the marker's summary."""
        log.info("run.audited", run_id=event.run_id, audit_event=event.event, text=event.text)

    def _rule(self, asked: AuthorizeCalls, call: AnyCall, switches: tuple[Switch, ...]) -> Ruling:
        tool = self._registry.get(call.name) if call.name in asked.visible_tools else None
        if tool is None:
            known = ", ".join(asked.visible_tools) or "none"
            return Refused(
                call_id=call.call_id,
                tool=call.name,
                type="unknown_tool",
                reason=f"no tool {call.name!r} (known: {known})",
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
            draft=next((one for one in asked.drafts if one.call_id == call.call_id), None),
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
            scope=_scope(tool, values),
            decision=decide(call, tool.contract, facts, self._surroundings.policy),
        )


def _invalid(call: AnyCall, reason: str) -> Refused:
    return Refused(
        call_id=call.call_id,
        tool=call.name,
        type="invalid_arguments",
        reason=reason,
        next_valid_actions=("correct the arguments and call again",),
    )


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
