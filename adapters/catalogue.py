"""What is known of models before they are asked: their windows and prices."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from holdfast.adapters.base import ModelAdapter
from holdfast.adapters.pricing import Listing
from holdfast.contracts.control import ModelFacts
from holdfast.tools.fair_threads import FairThreads

if TYPE_CHECKING:
    from genai_prices.types import TieredPrices

# In a thread: the first look loads the prices of all providers. None of the loop's, which an app's
# own code may keep: no run begins without it.
_READER = FairThreads(1, "prices")


class PriceList:
    """Knows what the price library does, under the names that *adapters* have for it."""

    def __init__(self, adapters: Mapping[str, ModelAdapter]) -> None:
        self._adapters = adapters

    async def facts(self, models: Iterable[str]) -> tuple[ModelFacts, ...]:
        """Return what is known of each model, in this order; null for what isn't known."""
        return await _READER.run("", lambda: tuple(map(self._facts, models)))

    def _facts(self, model: str) -> ModelFacts:
        provider, _, name = model.partition(":")
        adapter = self._adapters.get(provider)
        listing = adapter.find_listing(name) if adapter else None
        return _look_up(model, listing) if listing else ModelFacts(model=model)


def _look_up(model: str, listing: Listing) -> ModelFacts:
    known = _look_up_in_library(model, listing) if listing.seller else ModelFacts(model=model)
    if (price := listing.price) is None:
        return known
    return ModelFacts(
        model=model,
        context_tokens=known.context_tokens,
        input_price=price.input,
        output_price=price.output,
    )


def _look_up_in_library(model: str, listing: Listing) -> ModelFacts:
    # Imported late: it loads the prices of all providers.
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, known = get_snapshot().find_provider_model(listing.model, None, listing.seller, None)
    except LookupError:
        return ModelFacts(model=model)
    prices = known.get_prices(datetime.now(UTC))
    return ModelFacts(
        model=model,
        context_tokens=known.context_window,
        input_price=_price(prices.input_mtok),
        output_price=_price(prices.output_mtok),
    )


def _price(listed: "Decimal | TieredPrices | None") -> Decimal | None:
    """Return a price for a million tokens; where it has tiers, that of calls with few."""
    return listed if listed is None or isinstance(listed, Decimal) else listed.base
