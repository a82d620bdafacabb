"""The activities that decide and record: local, quick, and their results are in history."""

import structlog
from temporalio import activity

from contracts.approvals import Disposition, Judgement
from contracts.base import digest
from contracts.decisions import AuthorizeCalls, Decided, Refused, Ruling, Rulings
from contracts.run import AuditEvent
from contracts.tools import AnyCall, MalformedCall, ToolCall
from policy.approvals import judge
from policy.engine import Facts, decide
from tools.registry import ToolRegistry
from tools.tool import Tool

log = structlog.get_logger()


class PolicyActivities:
    """Rules on calls, judges what people say, and writes the audit log."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry

    @activity.defn
    async def authorize(self, asked: AuthorizeCalls) -> Rulings:
        """Rule on each call: is the tool known, are the arguments valid, may it run."""
        return Rulings(rulings=tuple(self._rule(asked, call) for call in asked.calls))

    @activity.defn
    async def judge(self, judgement: Judgement) -> Disposition:
        """Say whether a person's message counts."""
        return judge(judgement)

    @activity.defn
    async def record(self, event: AuditEvent) -> None:
        """Write an audit line to the worker's log; in history it is the marker's summary."""
        log.info("run.audited", run_id=event.run_id, audit_event=event.event, text=event.text)

    def _rule(self, asked: AuthorizeCalls, call: AnyCall) -> Ruling:
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
        return _decided(asked, call, tool)


def _invalid(call: AnyCall, reason: str) -> Refused:
    return Refused(
        call_id=call.call_id,
        tool=call.name,
        type="invalid_arguments",
        reason=reason,
        next_valid_actions=("correct the arguments and call again",),
    )


def _decided(asked: AuthorizeCalls, call: ToolCall, tool: Tool) -> Decided:
    facts = Facts(
        tenant=asked.tenant, actor=asked.actor, agent=asked.agent, approvals=asked.approvals
    )
    scope = tool.contract.resource_scope
    named = call.arguments.get(scope.argument) if scope.argument is not None else None
    return Decided(
        call_id=call.call_id,
        tool=call.name,
        arguments_digest=digest(call.arguments),
        risk=tool.contract.risk,
        scope=f"{scope.kind}:{named}" if named is not None else scope.kind,
        decision=decide(call, tool.contract, facts),
    )
