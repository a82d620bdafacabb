"""All tools of an app by name, checked when the worker starts."""

import importlib
from collections.abc import Iterable, Sequence

from contracts.base import JsonObject
from contracts.errors import AppError
from contracts.tools import Reconciled, Risk, ToolContract
from tools.execution import needs_sandbox
from tools.tool import Tool, imported

# The activities that are no tools: a model that names one asks for an unknown tool.
RESERVED = frozenset({"call_model", "authorize", "judge", "record", "open_run"})


class ToolRegistry:
    """The tools of an app. Raises AppError when two can't be told apart or one can't run."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = tool.contract.name
            if name in RESERVED:
                raise AppError(f"tool {name!r}: the name is taken by Holdfast itself; rename it")
            if self._tools.setdefault(name, tool) is not tool:
                raise AppError(f"tool {name!r}: two different tools have this name; rename one")
            if not tool.is_async and not _importable(tool):
                raise AppError(
                    f"tool {name!r}: a synchronous tool runs in a process of its own and must be "
                    "importable there; define it at the top of a module, or make it async"
                )
            if needs_sandbox(tool.contract) and not _importable(tool):
                raise AppError(
                    f"tool {name!r}: a tool in the sandbox runs in a process of its own and must "
                    "be importable there; define it at the top of a module"
                )

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name."""
        return self._tools.get(name)

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return all contracts, in order of names."""
        return tuple(self._tools[name].contract for name in sorted(self._tools))


def companions(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """
    Return the tools that draft and reconcile for others, and that no model sees.

    Raises AppError where one is missing or can't stand in: a commit without its draft would have
    nothing to show.
    """
    visible = {tool.contract.name: tool for tool in tools}
    found: dict[str, Tool] = {}
    for tool in tools:
        contract = tool.contract
        for role, name in (("draft", contract.draft), ("reconcile", contract.reconcile)):
            if name is None:
                continue
            companion = visible.get(name) or _beside(tool, name)
            if companion is None:
                raise AppError(
                    f"tool {contract.name!r}: its {role} {name!r} is no tool in {tool.module}, "
                    "nor one of the agent's"
                )
            if flaw := _unfit(role, tool, companion):
                raise AppError(f"tool {contract.name!r}: its {role} {name!r} {flaw}")
            if name not in visible:
                found[name] = companion
    return tuple(found.values())


def _beside(tool: Tool, name: str) -> Tool | None:
    found: object = getattr(importlib.import_module(tool.module), name, None)
    return found if isinstance(found, Tool) else None


def _unfit(role: str, tool: Tool, companion: Tool) -> str | None:
    risk, contract = companion.contract.risk, companion.contract
    if not (risk.changes_nothing or (role == "draft" and risk is Risk.DRAFT_ONLY)):
        return f"must change nothing, and {risk} does"
    if _shape(contract.input_schema) != _shape(tool.contract.input_schema):
        return "must take the same arguments"
    if contract.local or contract.sandboxed or contract.permission != "by_risk":
        return "must be a plain tool: not local, not sandboxed, without a permission of its own"
    if role == "reconcile" and contract.output_schema.get("title") != Reconciled.__name__:
        return "must return Reconciled"
    return None


def _shape(schema: JsonObject) -> JsonObject:
    """Return what of a schema decides which arguments fit, without its title."""
    return {name: value for name, value in schema.items() if name not in {"title", "description"}}


def _importable(tool: Tool) -> bool:
    if "<locals>" in tool.qualname:
        return False
    return imported(tool.module, tool.qualname) is tool
