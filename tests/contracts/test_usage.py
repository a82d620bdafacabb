"""Usages add; an unknown price stays unknown."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from holdfast.contracts.model import ModelCall
from holdfast.contracts.transcript import TranscriptDigest
from holdfast.contracts.usage import MAX_PLAUSIBLE_TOKENS, CallUsage, UsageMetrics

USAGES = st.builds(
    UsageMetrics,
    input_tokens=st.integers(0, 10**9),
    cached_tokens=st.integers(0, 10**9),
    output_tokens=st.integers(0, 10**9),
    estimated_cost=st.none() | st.decimals(0, 1000, places=6),
)


def test_usages_add() -> None:
    """Tokens and cost of two calls are those of both together."""
    one = UsageMetrics(
        input_tokens=10, cached_tokens=4, output_tokens=3, estimated_cost=Decimal("0.1")
    )
    other = UsageMetrics(
        input_tokens=1, cached_tokens=0, output_tokens=2, estimated_cost=Decimal("0.2")
    )

    assert one + other == UsageMetrics(
        input_tokens=11, cached_tokens=4, output_tokens=5, estimated_cost=Decimal("0.3")
    )


def test_total_counts_cached_tokens_once() -> None:
    """Cached tokens are part of the input, so the total is input and output."""
    assert UsageMetrics(input_tokens=10, cached_tokens=4, output_tokens=3).total_tokens == 13


@pytest.mark.parametrize("known", [Decimal(0), Decimal("0.1")])
def test_an_unknown_price_is_never_zero(known: Decimal) -> None:
    """A sum with one unknown part is unknown, whichever side it is on."""
    unknown = UsageMetrics(estimated_cost=None)
    priced = UsageMetrics(estimated_cost=known)

    assert (unknown + priced).estimated_cost is None
    assert (priced + unknown).estimated_cost is None


@given(USAGES, USAGES, USAGES)
def test_the_order_of_calls_doesnt_matter(
    one: UsageMetrics, two: UsageMetrics, three: UsageMetrics
) -> None:
    """However calls are grouped and ordered, they consumed the same."""
    assert one + (two + three) == (one + two) + three == three + one + two


@given(USAGES)
def test_nothing_used_changes_nothing(usage: UsageMetrics) -> None:
    """A usage begins at zero, in tokens and in money."""
    assert UsageMetrics() + usage == usage


@pytest.mark.parametrize("field", ["input_tokens", "cached_tokens", "output_tokens"])
def test_tokens_are_never_negative(field: str) -> None:
    """A negative count is an error of the adapter, not a discount."""
    with pytest.raises(ValidationError):
        UsageMetrics.model_validate({field: -1})


def test_money_is_a_number_outside() -> None:
    """In JSON an amount is a number, so that any language can read it."""
    assert UsageMetrics(estimated_cost=Decimal("0.25")).model_dump_json() == (
        '{"input_tokens":0,"cached_tokens":0,"output_tokens":0,"estimated_cost":0.25}'
    )


@pytest.mark.parametrize("cost", ["1e99999999", "1e400", "-1", "-1e999999"])
def test_what_no_run_uses_adds_up(cost: str) -> None:
    """A figure that is made up is bounded, or unknown: no sum of such fails the run."""
    said = CallUsage.model_validate(
        {"input_tokens": 10**4000, "native": {"it": {"tokens": 10**4000}}, "estimated_cost": cost}
    )

    total = said + said

    assert total.estimated_cost is None
    assert total.input_tokens == MAX_PLAUSIBLE_TOKENS
    assert (
        CallUsage.model_validate_json(total.model_dump_json()).input_tokens == MAX_PLAUSIBLE_TOKENS
    )


@given(USAGES)
def test_what_is_reserved_for_a_call_is_written_without_zeros(usage: UsageMetrics) -> None:
    """Each call that a budget limits has it in history, and reads the same."""
    # BY-70
    reserved = CallUsage.of(usage)
    call = ModelCall(
        run_id="r",
        turn=1,
        model="m",
        prefix="p",
        items=(),
        head=TranscriptDigest(),
        reserved=reserved,
    )

    written = call.model_dump_json()

    assert ModelCall.model_validate_json(written).reserved == reserved
    assert '_tokens":0' not in written
