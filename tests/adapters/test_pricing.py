"""What model calls cost."""

from decimal import Decimal

import pytest

from holdfast.adapters import pricing
from holdfast.adapters.pricing import Listing, Tokens


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
    ],
)
def test_price_is_exact_or_unknown(
    seller: str, model: str, tokens: Tokens, dollars: Decimal | None
) -> None:
    """An unknown price is null, never 0."""
    # AD-19
    assert pricing.estimate(Listing(seller, model), tokens) == dollars


def test_the_seller_need_not_be_the_provider() -> None:
    """A price is the seller's; counters stand under the name of the provider that counted."""
    # AD-15, AD-19
    used = pricing.build_usage(
        "gate", Listing("openai", "gpt-4o"), Tokens(1000, 0, 0, 0), {"n": 1}
    )

    assert used.estimated_cost == Decimal("0.0025")
    assert used.native == {"gate": {"n": 1}}
