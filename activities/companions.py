"""What is ruled of the tools that draft, take back and find out for others, each as of a call."""

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_RULING_REASON_CHARS
from holdfast.contracts.control import UndoRuling
from holdfast.contracts.decisions import AuthorizeCalls
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.errors import ToolError
from holdfast.contracts.texts import clip_chars
from holdfast.contracts.tools import ToolContract
from holdfast.policy.case import CallContext, DraftVariant
from holdfast.policy.engine import deny_above_ceiling
from holdfast.policy.matching import find_forbidding_rule
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


def find_companion(asked: AuthorizeCalls, tool: Tool) -> str | None:
    """Name the tool that finds out what became of a call, or loads what its receiver needs."""
    return tool.contract.reconcile or asked.loads.get(tool.contract.name)


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
        # What an agent may not do by itself its run may do to take back what it did.
        facts = act.facts._replace(
            values=values,
            effect=effect,
            draft=None,
            variant=None,
            switches=(),
            lost=False,
            ceiling=Ceiling(),
        )
        ruling = rule_on(CallContext(call, undo.contract, facts), act, self._policy)
        return ruling.with_(reason=clip_chars(ruling.reason, MAX_RULING_REASON_CHARS))

    def is_forbidden(self, companion: str | None, act: CallContext) -> bool:
        """
        Whether what finds out about a call, or loads what it hands over, is forbidden.

        Who finds out is part of its write; what loads is kept back by a ceiling as any tool is.
        """
        finder = companion and self._registry.get(companion)
        if not finder:
            return False
        call = act.call.with_(name=finder.contract.name)
        try:
            values = finder.values(call.arguments)
        except ToolError:
            return True
        asked = CallContext(call, finder.contract, act.facts._replace(values=values))
        if act.contract.receiver is not None and deny_above_ceiling(asked, self._policy):
            return True
        return find_forbidding_rule(asked, self._policy) is not None
