"""All tools of an app by name, checked when the worker starts."""

from collections.abc import Iterable

from contracts.errors import AppError
from contracts.tools import ToolContract
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

    def get(self, name: str) -> Tool | None:
        """Return the tool with this name."""
        return self._tools.get(name)

    def contracts(self) -> tuple[ToolContract, ...]:
        """Return all contracts, in order of names."""
        return tuple(self._tools[name].contract for name in sorted(self._tools))


def _importable(tool: Tool) -> bool:
    if "<locals>" in tool.qualname:
        return False
    return imported(tool.module, tool.qualname) is tool
