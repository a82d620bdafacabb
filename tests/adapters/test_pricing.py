"""What model calls cost."""

from decimal import Decimal

import pytest

from holdfast.adapters import pricing
from holdfast.adapters.pricing import Tokens


@pytest.mark.parametrize(
    ("provider", "model", "tokens", "dollars"),
    [
        pytest.param(
            "anthropic", "claude-sonnet-4-5", Tokens(10**6, 0, 0, 0), Decimal(6), id="long input"
        ),
        pytest.param(
            "openai", "gpt-4o", Tokens(1000, 200, 0, 50), Decimal("0.00275"), id="cached"
        ),
        pytest.param("openai", "no-such-model", Tokens(1, 0, 0, 1), None, id="unknown model"),
        pytest.param("no-such", "gpt-4o", Tokens(1, 0, 0, 1), None, id="unknown provider"),
        pytest.param("openai", "gpt-4o", Tokens(1, 2, 0, 1), None, id="impossible counts"),
    ],
)
def test_price_is_exact_or_unknown(
    provider: str, model: str, tokens: Tokens, dollars: Decimal | None
) -> None:
    """An unknown price is null, never 0."""
    # AD-19
    assert pricing.estimate(provider, model, tokens) == dollars
