"""What a model call costs, as far as prices are known."""

from decimal import Decimal
from typing import NamedTuple

from contracts.usage import UsageMetrics


class Tokens(NamedTuple):
    """Tokens of one call. `input` is all of them: what was read from or written to a cache too."""

    input: int
    cache_read: int
    cache_write: int
    output: int


def metrics(provider: str, model: str, tokens: Tokens) -> UsageMetrics:
    """Return what a call used, with its price."""
    return UsageMetrics(
        input_tokens=tokens.input,
        cached_tokens=tokens.cache_read,
        output_tokens=tokens.output,
        estimated_cost=estimate(provider, model, tokens),
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
