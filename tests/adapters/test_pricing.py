"""What model calls cost."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from holdfast.adapters import pricing
from holdfast.adapters.pricing import Listing, ModelPrice, Tokens
from holdfast.contracts.base import JsonObject


@pytest.mark.parametrize(
    ("seller", "model", "tokens", "dollars"),
    [
        pytest.param(
            "anthropic", "claude-sonnet-4-5", Tokens(10**6, 0, 0, 0), Decimal(6), id="long input"
        ),
        pytest.param(
            "openai", "gpt-4o", Tokens(1000, 200, 0, 50), Decimal("0.00275"), id="cached"
        ),
        pytest.param("openai", "no-such-model", Tokens(1, 0, 0, 1), None, id="unknown model"),
        pytest.param("no-such", "gpt-4o", Tokens(1, 0, 0, 1), None, id="unknown seller"),
        pytest.param("openai", "gpt-4o", Tokens(1, 2, 0, 1), None, id="impossible counts"),
        pytest.param("openai", "gpt-4o" + 300 * "x", Tokens(1, 0, 0, 1), None, id="long name"),
    ],
)
def test_price_is_exact_or_unknown(
    seller: str, model: str, tokens: Tokens, dollars: Decimal | None
) -> None:
    """An unknown price is null, never 0."""
    # AD-19
    assert pricing.estimate(Listing(seller, model), tokens) == dollars


@pytest.mark.parametrize(
    ("price", "dollars"),
    [
        pytest.param(ModelPrice(input=Decimal(2), output=Decimal(10)), "0.0025", id="one price"),
        pytest.param(
            ModelPrice(
                input=Decimal(2),
                output=Decimal(10),
                cached=Decimal("0.2"),
                cache_write=Decimal("2.5"),
            ),
            "0.002165",
            id="caches have their own",
        ),
        pytest.param(ModelPrice(input=Decimal(0), output=Decimal(0)), "0", id="free"),
    ],
)
def test_what_the_app_says_of_a_price_counts(price: ModelPrice, dollars: str) -> None:
    """It takes the place of the library's; what runs at the server beside the model is unknown."""
    # AD-19
    listing, tokens = Listing("openai", "gpt-4o", price), Tokens(1000, 200, 50, 50)

    assert pricing.estimate(listing, tokens) == Decimal(dollars)
    assert pricing.estimate(listing, tokens, pricing.HostedToolUse(unpriced=1)) is None


@pytest.mark.parametrize("flaw", [{"input": -1}, {"input": "NaN"}, {"output": 10**9}, {"in": 1}])
def test_an_impossible_price_is_refused(flaw: JsonObject) -> None:
    """A cost that can't be would keep no budget, or end every run."""
    with pytest.raises(ValidationError):
        ModelPrice.model_validate({"input": 1, "output": 1} | flaw)


def test_the_seller_need_not_be_the_provider() -> None:
    """A price is the seller's; counters stand under the name of the provider that counted."""
    # AD-15, AD-19
    used = pricing.build_usage(
        "gate", Listing("openai", "gpt-4o"), Tokens(1000, 0, 0, 0), {"n": 1}
    )

    assert used.estimated_cost == Decimal("0.0025")
    assert used.native == {"gate": {"n": 1}}
