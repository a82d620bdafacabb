"""What a response of Chat Completions consumed."""

from collections.abc import Mapping

from pydantic import JsonValue

from holdfast.adapters import pricing
from holdfast.adapters.openai_chat.servers import Target
from holdfast.adapters.wire import as_list, as_object, as_text
from holdfast.contracts.base import JsonObject
from holdfast.contracts.usage import UNKNOWN_USAGE, CallUsage, parse_counter

_NEEDED = ("prompt_tokens", "completion_tokens")
_CACHED = ("cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens")


def usage(raw: JsonObject, target: Target) -> CallUsage:
    """Read what a response consumed; where that isn't said, it is the least, at no known price."""
    counts = as_object(raw.get("usage"))
    prompt = _counters(as_object(counts.get("prompt_tokens_details")))
    completion = _counters(as_object(counts.get("completion_tokens_details")))
    native = {**completion, **prompt, **_counters(counts)}
    tokens = pricing.Tokens(
        input=native.get("prompt_tokens", 0),
        cache_read=_count_cache_reads(native),
        cache_write=native.get("cache_write_tokens", 0),
        output=native.get("completion_tokens", 0),
        reasoning=native.get("reasoning_tokens", 0),
    )
    model = as_text(raw.get("model")) or target.model
    price = target.server.find_price(target.model)
    listing = pricing.Listing(seller(target), model, price)
    provider = target.prefix.rstrip(":/")
    used = pricing.build_usage(provider, listing, tokens, native, _count_hosted_tools(raw))
    known = all(parse_counter(counts.get(name)) is not None for name in _NEEDED)
    return used if known else used + UNKNOWN_USAGE


def _count_cache_reads(native: Mapping[str, int]) -> int:
    """Return how many tokens were read from a cache, by whichever name."""
    return next(filter(None, map(native.get, _CACHED)), 0)


def _count_hosted_tools(raw: JsonObject) -> pricing.HostedToolUse:
    """Count the tools that the server ran itself: what they cost is in no list."""
    first = next(iter(as_list(raw.get("choices"))), None)
    message = as_object(as_object(first).get("message"))
    return pricing.HostedToolUse(unpriced=len(as_list(message.get("executed_tools"))))


def seller(target: Target) -> str:
    """Return the word that the price library has for a server; an empty one if it has none."""
    if not target.name:
        return "openai" if target.is_openai else ""
    # Imported late: it loads the prices of all providers.
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider(None, None, target.server.base_url).id
    except LookupError:
        return ""


def _counters(values: Mapping[str, JsonValue]) -> dict[str, int]:
    """Return the counters that count something, and an empty cache, under the server's names."""
    counters = ((name, parse_counter(value)) for name, value in values.items())
    return {
        name: count for name, count in counters if count or (count is not None and name in _CACHED)
    }
