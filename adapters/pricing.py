"""What a model call costs, as far as prices are known."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field

from holdfast.contracts.base import Inbound
from holdfast.contracts.usage import CallUsage, Money

_Dollars: TypeAlias = Annotated[Money, Field(ge=0, le=Decimal(10**6), allow_inf_nan=False)]


class ModelPrice(Inbound):
    """
    What an app says that a model costs, in US dollars for a million tokens; 0 where it is free.

    Tokens that are read from a cache, or written to one, cost as much as others where nothing
    else is said.
    """

    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    cache_write: _Dollars | None = None

    def estimate(self, tokens: "Tokens") -> Decimal:
        """Return what a call cost."""
        cached = self.input if self.cached is None else self.cached
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(tokens.input - tokens.cache_read - tokens.cache_write, 0)
        parts = (
            (fresh, self.input),
            (tokens.cache_read, cached),
            (tokens.cache_write, written),
            (tokens.output, self.output),
        )
        return sum((count * price for count, price in parts), Decimal(0)) / _PRICED_TOKENS


_PRICED_TOKENS = 1_000_000

_MAX_NAME_CHARS = 300
"""Of a model that has a price: a server chose the name, and each pattern of the list is tried."""


class Listing(NamedTuple):
    """
    A model by the names that the price library has for its seller and for it.

    A *price* that the app names takes the place of the library's; then it need have no seller.
    """

    seller: str
    model: str
    price: ModelPrice | None = None


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


class HostedToolUse(NamedTuple):
    """
    What ran at the provider in one call, beside the model, and is billed by its number.

    `unpriced` were billed in another way, or nobody knows how.
    """

    web_searches: int = 0
    file_searches: int = 0
    unpriced: int = 0


NO_HOSTED_TOOL_USE = HostedToolUse()


def build_usage(
    provider: str,
    listing: Listing,
    tokens: Tokens,
    native: Mapping[str, int] | None = None,
    hosted: HostedToolUse = NO_HOSTED_TOOL_USE,
) -> CallUsage:
    """
    Return what a call used, with the price of its *listing*.

    *native* are the own counters of the *provider*, who need not be the seller.
    """
    return CallUsage(
        input_tokens=tokens.input,
        cached_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.output,
        reasoning_tokens=tokens.reasoning,
        estimated_cost=estimate(listing, tokens, hosted),
        native={provider: dict(native)} if native else {},
    )


def estimate(
    listing: Listing, tokens: Tokens, hosted: HostedToolUse = NO_HOSTED_TOOL_USE
) -> Decimal | None:
    """Return the price in US dollars; null, never 0, for whatever has no known price."""
    if hosted.unpriced:
        return None
    if listing.price is not None:
        return listing.price.estimate(tokens)
    if len(listing.model) > _MAX_NAME_CHARS:
        return None
    # Imported late: it loads the prices of all providers.
    from genai_prices import Usage, calc_price

    try:
        usage = Usage(
            input_tokens=tokens.input,
            cache_read_tokens=tokens.cache_read,
            cache_write_tokens=tokens.cache_write,
            output_tokens=tokens.output,
            web_searches=hosted.web_searches,
            storage_searches=hosted.file_searches,
        )
        price = calc_price(usage, listing.model, provider_id=listing.seller)
    except (LookupError, ValueError):  # an unknown model; counts that contradict each other
        return None
    # What has no price in the list would count as nothing.
    listed = price.model_price
    searched = (
        (hosted.web_searches, listed.web_searches_kcount),
        (hosted.file_searches, listed.storage_searches_kcount),
    )
    return None if any(n and fee is None for n, fee in searched) else price.total_price
