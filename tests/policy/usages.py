"""What model calls of the tests use."""

from decimal import Decimal

from hypothesis import strategies as st

from holdfast.contracts.usage import CallUsage


def tokens(input_: int, output: int, cached: int = 0) -> CallUsage:
    return CallUsage(input_tokens=input_, output_tokens=output, cached_tokens=cached)


def cost(amount: str | None) -> CallUsage:
    return CallUsage(estimated_cost=None if amount is None else Decimal(amount))


def paid(read: int, written: int) -> CallUsage:
    return CallUsage(input_tokens=read, output_tokens=written, estimated_cost=Decimal(read) / 7)


USAGES = st.builds(paid, st.integers(0, 50), st.integers(0, 50))
