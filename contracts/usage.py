"""What a model call consumes."""

from decimal import Decimal
from operator import not_
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

    def __add__(self, other: "UsageMetrics") -> Self:
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


class CallUsage(UsageMetrics):
    """
    Usage in detail. `cached_tokens` were read from a cache, `cache_write_tokens` written to one.

    Both are parts of `input_tokens`, as `reasoning_tokens` are of `output_tokens`. `native` are
    the providers' own counters, by provider and under their own names.
    """

    cache_write_tokens: int = Field(default=0, ge=0, exclude_if=not_)
    reasoning_tokens: int = Field(default=0, ge=0, exclude_if=not_)
    native: dict[str, dict[str, int]] = Field(default_factory=dict, exclude_if=not_)

    @classmethod
    def of(cls, usage: UsageMetrics) -> Self:
        """Return a usage of which no details are known."""
        return cls.model_validate(usage.model_dump())

    def __add__(self, other: UsageMetrics) -> Self:
        """Add two usages."""
        more = other if isinstance(other, CallUsage) else CallUsage.of(other)
        return (
            super()
            .__add__(other)
            .model_copy(
                update={
                    "cache_write_tokens": self.cache_write_tokens + more.cache_write_tokens,
                    "reasoning_tokens": self.reasoning_tokens + more.reasoning_tokens,
                    "native": {
                        name: _sum(self.native.get(name, {}), more.native.get(name, {}))
                        for name in sorted(self.native.keys() | more.native.keys())
                    },
                }
            )
        )

    @property
    def summary(self) -> UsageMetrics:
        """The four figures that the result of a run shows."""
        return UsageMetrics.model_validate(self.model_dump())


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted({*one, *other})}
