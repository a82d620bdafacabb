"""All tools of an app by name, checked when the worker starts."""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Reconciled
from holdfast.contracts.errors import AppError
from holdfast.contracts.tools import Risk, ToolContract
from holdfast.tools.tool import Tool, import_object

# The activities that are no tools: a model that names one asks for an unknown tool.
RESERVED = frozenset(
    {
        *("call_model", "authorize", "judge", "record", "mark_judged", "open_run", "notify"),
        *("find_worker", "read_earlier_run"),
        *("open_project", "snapshot_workspace", "restore_workspace"),
        *("load_session", "save_session", "save_conversation"),
    }
)

Role: TypeAlias = Literal["draft", "reconcile", "undo"]


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
            if tool.contract.needs_sandbox and not is_found_in_sandbox(tool):
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

    def select_for_sandbox(self, *, by_rule: bool) -> list[Tool]:
        """Return the tools that may run in the sandbox: by their contract, or where a rule can."""
        return [
            tool
            for _, tool in sorted(self._tools.items())
            if tool.contract.needs_sandbox or (by_rule and tool.contract.receiver is None)
        ]


def companions(tools: Sequence[Tool]) -> tuple[Tool, ...]:
    """
    Return the tools that draft, reconcile and undo for others, and that no model sees.

    Raises AppError where one is missing or can't stand in: a commit without its draft would have
    nothing to show, and nothing would take back what has no undo that works.
    """
    visible = {tool.contract.name: tool for tool in tools}
    found: dict[str, Tool] = {}
    looked_at: list[Tool] = []
    # A draft can be undone too, so companions have companions.
    while waiting := [tool for tool in (*tools, *found.values()) if tool not in looked_at]:
        for tool in waiting:
            looked_at.append(tool)
            for role, name in _list_companion_names(tool.contract):
                companion = _find_companion(tool, role, name, visible.get(name))
                if name not in visible:
                    found[name] = companion
    return tuple(found.values())


def _list_companion_names(contract: ToolContract) -> Iterator[tuple[Role, str]]:
    if contract.draft is not None:
        yield "draft", contract.draft
    if contract.reconcile is not None:
        yield "reconcile", contract.reconcile
    if contract.undo is not None:
        yield "undo", contract.undo


def _find_companion(tool: Tool, role: Role, name: str, visible: Tool | None) -> Tool:
    companion, of = visible or _find_in_module(tool, name), tool.contract.name
    if companion is None:
        raise AppError(
            f"tool {of!r}: its {role} {name!r} is no tool in {tool.module}, nor one of the agent's"
        )
    if flaw := _check_role(role, tool.contract, companion.contract):
        raise AppError(f"tool {of!r}: its {role} {name!r} {flaw}")
    return companion


def _find_in_module(tool: Tool, name: str) -> Tool | None:
    found: object = getattr(importlib.import_module(tool.module), name, None)
    return found if isinstance(found, Tool) else None


def _check_role(role: Role, contract: ToolContract, companion: ToolContract) -> str | None:
    if flaw := _check_risk(role, companion.risk):
        return flaw
    if _shape(companion.input_schema) != _shape(contract.input_schema):
        return "must take the same arguments"
    if companion.local or companion.sandboxed or companion.permission != "by_risk":
        return "must be a plain tool: not local, not sandboxed, without a permission of its own"
    if role == "undo" and (companion.undo is not None or companion.draft is not None):
        return "must have no undo and no draft of its own"
    if role == "reconcile" and companion.output_schema.get("title") != Reconciled.__name__:
        return "must return Reconciled"
    return None


def _check_risk(role: Role, risk: Risk) -> str | None:
    if role == "undo":
        return f"must need no sandbox, and {risk} does" if risk.needs_sandbox else None
    leaves = Risk.DRAFT_ONLY if role == "draft" else Risk.WRITE_INTERNAL
    if risk.changes_nothing or risk is leaves:
        return None
    return f"must change nothing or be {leaves}, and it is {risk}"


def _shape(schema: JsonObject) -> JsonObject:
    """Return what of a schema decides which arguments fit, without its title."""
    return {name: value for name, value in schema.items() if name not in {"title", "description"}}


def is_found_in_sandbox(tool: Tool) -> bool:
    """Whether a process in the sandbox finds it: there the script that serves is another one."""
    return tool.module != "__main__" and _importable(tool)


def _importable(tool: Tool) -> bool:
    if "<locals>" in tool.qualname:
        return False
    return import_object(tool.module, tool.qualname) is tool
