"""What a response of Chat Completions consumed."""

from collections.abc import Mapping

from pydantic import JsonValue

from adapters import pricing
from adapters.openai_chat.servers import Target
from adapters.wire import as_object, as_text
from contracts.base import JsonObject
from contracts.usage import CallUsage


def is_known(raw: JsonObject) -> bool:
    """Whether the server says what a response consumed; many servers don't."""
    return isinstance(raw.get("usage"), dict)


def usage(raw: JsonObject, target: Target) -> CallUsage:
    """Read what a response consumed; nothing, at an unknown price, where the server is silent."""
    if not is_known(raw):
        return CallUsage(estimated_cost=None)
    counts = as_object(raw.get("usage"))
    prompt = _counters(as_object(counts.get("prompt_tokens_details")))
    completion = _counters(as_object(counts.get("completion_tokens_details")))
    native = {**completion, **prompt, **_counters(counts)}
    cached = native.get("cached_tokens") or native.get("num_cached_tokens") or 0
    tokens = pricing.Tokens(
        input=native.get("prompt_tokens", 0),
        cache_read=cached or native.get("prompt_cache_hit_tokens", 0),
        cache_write=native.get("cache_write_tokens", 0),
        output=native.get("completion_tokens", 0),
        reasoning=native.get("reasoning_tokens", 0),
    )
    model = as_text(raw.get("model")) or target.model
    used = pricing.priced(seller(target), model, tokens)
    return used.model_copy(update={"native": {target.prefix.rstrip(":/"): native}})


def seller(target: Target) -> str:
    """Return the word that the price library has for a server; an empty one if it has none."""
    if not target.name:
        return "openai"
    # Imported late: it loads the prices of all providers.
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider(None, None, target.server.base_url).id
    except LookupError:
        return ""


def _counters(values: Mapping[str, JsonValue]) -> dict[str, int]:
    """Return the counters that count something, under the server's own names."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
    }
