"""What is ruled of the tools that draft, take back and find out for others, each as of a call."""

from collections.abc import Iterator
from math import inf

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_RULING_REASON_CHARS
from holdfast.contracts.decisions import AuthorizeCalls
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.errors import ToolError
from holdfast.contracts.texts import clip_chars
from holdfast.contracts.tools import ToolContract
from holdfast.policy.case import CallContext, DraftVariant
from holdfast.policy.engine import deny_above_ceiling
from holdfast.policy.matching import find_forbidding_rule, may_belong_into_sandbox
from holdfast.policy.permission_checks import find_permission, tighten
from holdfast.policy.rules import Policy
from holdfast.policy.undoing import deny_invalid_arguments, rule_on
from holdfast.tools.registry import ToolRegistry
from holdfast.tools.tool import Tool


def describe_draft(
    registry: ToolRegistry, contract: ToolContract, arguments: JsonObject, written: JsonObject
) -> DraftVariant | None:
    """Say what would draft a call of a tool, and what that takes of its arguments."""
    variant = registry.get(contract.draft) if contract.draft is not None else None
    if variant is None:
        return None
    try:
        return DraftVariant(variant.contract, *variant.compare(arguments, written))
    except ToolError as error:
        return DraftVariant(variant.contract, arguments, "", flaw=error.reason)


def exceeds_limits(asked: AuthorizeCalls, contract: ToolContract) -> bool:
    """Whether a tool may take more here than the run counts with that began by another release."""
    seconds, characters = asked.limits.get(contract.name, (inf, inf))
    return contract.timeout > seconds or contract.max_result_chars > characters


def _list_companions(asked: AuthorizeCalls, name: str, own: str | None) -> Iterator[str]:
    """
    Name the tools that find out what became of a call, or load what its receiver needs.

    Whom the run asks it knows since it began; its own finder a tool may have by another release.
    """
    yield from dict.fromkeys(filter(None, (own, asked.finders.get(name), asked.loads.get(name))))


class Companions:
    """Rules on the companions of an app's tools."""

    def __init__(self, registry: ToolRegistry, policy: Policy) -> None:
        self._registry = registry
        self._policy = policy

    def rule_on_undo(
        self, doing: Tool | None, act: CallContext, written: JsonObject
    ) -> UndoRuling | None:
        """Rule on what would take back what a tool does, if anything could."""
        undo = doing and doing.contract.undo and self._registry.get(doing.contract.undo)
        if not undo:
            return None
        call = act.call.with_(name=undo.contract.name)
        try:
            values, effect = undo.compare(call.arguments, written)
        except ToolError as error:
            return deny_invalid_arguments(
                undo.contract, clip_chars(error.reason, MAX_RULING_REASON_CHARS)
            )
        # What an agent may not do by itself its run may do to take back what it did, and again.
        facts = act.facts._replace(
            values=values,
            effect=effect,
            draft=None,
            variant=None,
            switches=(),
            done=(),
            lost=False,
            ceiling=Ceiling(),
        )
        ruling = rule_on(CallContext(call, undo.contract, facts), act, self._policy)
        effects = tuple(dict.fromkeys((effect, undo.effect(call.arguments))))
        reason = clip_chars(ruling.reason, MAX_RULING_REASON_CHARS)
        return ruling.with_(reason=reason, effects=effects if ruling.verdict == "allow" else ())

    def is_any_forbidden(self, asked: AuthorizeCalls, tool: Tool, act: CallContext) -> bool:
        """
        Whether something that finds out about a call, or loads what it hands over, is forbidden.

        So it is where it might belong into the sandbox, in which neither runs. Who finds out is
        part of its write; what loads is kept back as any tool is, by a ceiling, or where a person
        would be asked about it, and where it changes something here: by that nobody ruled on it.
        """
        named = _list_companions(asked, tool.contract.name, tool.contract.reconcile)
        return any(self._is_forbidden(name, act) for name in named)

    def _is_forbidden(self, name: str, act: CallContext) -> bool:
        finder = self._registry.get(name)
        if finder is None:  # another worker may have it
            keeping = (one for one in self._policy.rules if one.effect in {"forbid", "sandbox"})
            return any(name in rule.match.tools for rule in keeping)
        call = act.call.with_(name=finder.contract.name)
        try:
            values = finder.values(call.arguments)
        except ToolError:
            return True
        asked = CallContext(call, finder.contract, act.facts._replace(values=values))
        loads, writes = act.contract.receiver is not None, not finder.contract.changes_nothing
        if loads and (writes or not self._may_load(asked)):
            return True
        return find_forbidding_rule(asked, self._policy) is not None or may_belong_into_sandbox(
            asked, self._policy
        )

    def _may_load(self, loading: CallContext) -> bool:
        if deny_above_ceiling(loading, self._policy) is not None:
            return False
        return tighten(loading, find_permission(loading, self._policy)).effect == "allow"
