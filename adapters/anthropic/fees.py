"""
What Anthropic bills beside tokens: https://platform.claude.com/docs/en/about-claude/pricing.

A web search has a price, those that fail are free. Fetching, searching for tools and the MCP
connector cost tokens alone. Code that runs for a search or a fetch is free; other code is billed
by the time of its container, and an advisor by another model's tokens: neither is said here.
"""

from collections.abc import Iterable

from holdfast.adapters import pricing
from holdfast.contracts import usage
from holdfast.contracts.base import JsonObject

_FREE = frozenset({"web_search", "web_fetch", "mcp_tool_use"})
_TOOL_SEARCH = "tool_search_tool_"
_CODE = frozenset({"code_execution", "bash_code_execution", "text_editor_code_execution"})


def count_hosted_tools(
    content: Iterable[JsonObject], counters: JsonObject
) -> pricing.HostedToolUse:
    """Return what ran at Anthropic; *counters* are its own, where it has some."""
    names = [name for block in content if (name := _name(block))]
    web = {"web_search", "web_fetch"}.intersection(names) or any(counters.values())
    free = _FREE | _CODE if web else _FREE
    searches = usage.parse_counter(counters.get("web_search_requests"))
    return pricing.HostedToolUse(
        web_searches=names.count("web_search") if searches is None else searches,
        unpriced=sum(name not in free and not name.startswith(_TOOL_SEARCH) for name in names),
    )


def _name(block: JsonObject) -> str:
    """Return which tool a block calls; an empty text for any other block."""
    match block:
        case {"type": "server_tool_use", "name": str(name)}:
            return name
        case {"type": str(kind)} if kind.endswith("_tool_use"):
            return kind
        case _:
            return ""
