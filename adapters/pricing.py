"""What a model call costs, as far as prices are known."""

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from contracts.usage import CallUsage


class Tokens(NamedTuple):
    """
    Tokens of one call.

    `input` is all of them: what was read from or written to a cache too. `output` includes those
    of `reasoning`.
    """

    input: int
    cache_read: int
    cache_write: int
    output: int
    reasoning: int = 0


def priced(
    provider: str, model: str, tokens: Tokens, native: Mapping[str, int] | None = None
) -> CallUsage:
    """Return what a call used, with its price; *native* are the provider's own counters."""
    return CallUsage(
        input_tokens=tokens.input,
        cached_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        reasoning_tokens=tokens.reasoning,
        estimated_cost=estimate(provider, model, tokens),
        native={provider: dict(native)} if native else {},
    )


def estimate(provider: str, model: str, tokens: Tokens) -> Decimal | None:
    """Return the price in US dollars; null, never 0, for a model without a known price."""
    # Imported late: it loads the prices of all providers.
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(
            input_tokens=tokens.input,
            cache_read_tokens=tokens.cache_read,
            cache_write_tokens=tokens.cache_write,
            output_tokens=tokens.output,
        )
        return calc_price(usage, model, provider_id=provider).total_price
    except (LookupError, ValueError):  # an unknown model; counts that contradict each other
        return None
