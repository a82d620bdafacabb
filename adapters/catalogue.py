"""What is known of models before they are asked: their windows and prices."""

import asyncio
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from holdfast.adapters.openai_chat import servers as addresses
from holdfast.adapters.openai_chat import usage
from holdfast.adapters.openai_chat.servers import OPENAI_CHAT, ChatServer
from holdfast.contracts.control import ModelFacts
from holdfast.contracts.errors import ModelRejected

if TYPE_CHECKING:
    from genai_prices.types import TieredPrices

_PRICED_PROVIDERS = ("anthropic", "openai")
"""Providers that sell their own models, under the names that the price library has too."""


class PriceList:
    """Knows what the price library does; *servers* are those of `openai-chat:SERVER/NAME`."""

    def __init__(self, servers: Mapping[str, ChatServer] | None = None) -> None:
        self._servers = servers or {}

    async def facts(self, models: Iterable[str]) -> tuple[ModelFacts, ...]:
        """Return what is known of each model, in this order; null for what isn't known."""
        # In a thread: the first look loads the prices of all providers.
        return await asyncio.to_thread(lambda: tuple(map(self._facts, models)))

    def _facts(self, model: str) -> ModelFacts:
        seller, name = self._find_seller(model)
        return _look_up(model, seller, name) if seller else ModelFacts(model=model)

    def _find_seller(self, model: str) -> tuple[str, str]:
        """Return who sells a model, and its name there; nobody sells a scripted one."""
        provider, _, name = model.partition(":")
        if provider in _PRICED_PROVIDERS:
            return provider, name
        if provider != OPENAI_CHAT:
            return "", name
        try:
            target = addresses.target(self._servers, name)
        except ModelRejected:  # no such server: the call will say so
            return "", name
        return usage.seller(target), target.model


def _look_up(model: str, seller: str, name: str) -> ModelFacts:
    # Imported late: it loads the prices of all providers.
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, known = get_snapshot().find_provider_model(name, None, seller, None)
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
