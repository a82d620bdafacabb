"""
What OpenAI bills beside tokens: https://developers.openai.com/api/docs/pricing.

A search of the web or of files has a price; to open a page that was found, to look for tools and
to use a remote connector cost tokens alone. Code is billed by container, images by tokens of their
own: their price isn't known here.
"""

from collections import Counter
from collections.abc import Iterable

from pydantic import JsonValue

from holdfast.adapters import pricing
from holdfast.adapters.openai import output_items
from holdfast.adapters.wire import as_object
from holdfast.contracts import usage
from holdfast.contracts.base import JsonObject

_FREE = frozenset({"mcp_call", "tool_search_call"})
_PRICED = frozenset({"web_search_call", "file_search_call"})


def count_hosted_tools(
    items: Iterable[JsonObject], tool_usage: JsonValue
) -> pricing.HostedToolUse:
    """Return what ran at OpenAI; *tool_usage* are its own counters, where it has some."""
    ran = Counter(map(_kind, items))
    counted = count_searches(tool_usage).values()
    others = output_items.HOSTED_CALLS.keys() - _FREE - _PRICED
    return pricing.HostedToolUse(
        web_searches=next(iter(counted), ran["web_search_call"]),
        file_searches=ran["file_search_call"],
        unpriced=sum(ran[kind] for kind in others),
    )


def count_searches(tool_usage: JsonValue) -> dict[str, int]:
    """Return how many searches of the web OpenAI counts, if it counts any."""
    web = as_object(as_object(tool_usage).get("web_search"))
    count = usage.parse_counter(web.get("num_requests"))
    return {"web_search_requests": count} if count else {}


def _kind(item: JsonObject) -> str:
    """Return the kind of an item; an empty text for a look at what a search has found."""
    match item:
        case {"type": "web_search_call", "action": {"type": "open_page" | "find_in_page"}}:
            return ""
        case _:
            return str(item.get("type"))
