"""What a model call consumes."""

from decimal import Decimal
from typing import Annotated, Self, TypeAlias

from pydantic import Field, PlainSerializer

from contracts.base import Contract

Money: TypeAlias = Annotated[Decimal, PlainSerializer(float, when_used="json")]
"""An amount in US dollars; a JSON number outside, exact inside."""


class UsageMetrics(Contract):
    """
    Tokens and cost of one call, or of many: usages add.

    `input_tokens` includes `cached_tokens`. `estimated_cost` is null as soon as one part of the
    sum has no known price: an unknown price is never counted as 0.
    """

    input_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    estimated_cost: Money | None = Decimal(0)

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Self) -> Self:
        """Add two usages."""
        unknown = self.estimated_cost is None or other.estimated_cost is None
        return type(self)(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            estimated_cost=None
            if unknown
            else (self.estimated_cost or Decimal(0)) + (other.estimated_cost or Decimal(0)),
        )
