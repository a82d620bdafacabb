"""What a model call consumes."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from operator import not_
from typing import Annotated, Self, TypeAlias, TypedDict, Unpack

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)

from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import MAX_COUNTER_NAME_CHARS, MAX_COUNTERS

as_number = PlainSerializer(float, when_used="json")

CounterValue: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]
"""What a provider may say that one call used; whatever else it says is nothing known."""

MAX_PLAUSIBLE_TOKENS = 10**15
MAX_PLAUSIBLE_COST_USD = Decimal(10**12)
"""What no run uses: beyond them a figure is made up, and sums of such would have no end."""


_COUNTER_ADAPTER: TypeAdapter[int] = TypeAdapter(CounterValue)

Money: TypeAlias = Annotated[Decimal, as_number]
"""An amount in US dollars; a JSON number outside, exact inside."""


def parse_counter(value: object) -> int | None:
    """Return a counter of a provider's; null for what can be none."""
    try:
        return _COUNTER_ADAPTER.validate_python(value)
    except ValidationError:
        return None


def _cap_tokens(tokens: int) -> int:
    return min(tokens, MAX_PLAUSIBLE_TOKENS)


def _discard_implausible_cost(cost: Decimal | None) -> Decimal | None:
    return cost if cost is None or 0 <= cost <= MAX_PLAUSIBLE_COST_USD else None


def _select_counter_names(names: Iterable[str]) -> Iterable[str]:
    """Return the first names that a counter can have: usage goes where much else has to fit."""
    plain = (
        n for n in names if len(n) <= MAX_COUNTER_NAME_CHARS and n.isascii() and n.isprintable()
    )
    return islice(plain, MAX_COUNTERS)


def _bound_counters(native: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {
        provider: {name: _cap_tokens(counters[name]) for name in _select_counter_names(counters)}
        for provider, counters in native.items()
    }


NativeCounters: TypeAlias = Annotated[dict[str, dict[str, int]], AfterValidator(_bound_counters)]
"""Counters by provider and name, as many as a provider that means well can have."""


Tokens: TypeAlias = Annotated[int, Field(ge=0), AfterValidator(_cap_tokens)]

Cost: TypeAlias = Annotated[Money | None, AfterValidator(_discard_implausible_cost)]
"""What calls cost; null where that isn't known, which is never counted as 0."""


class UsageMetrics(Contract):
    """
    Tokens and cost of one call, or of many: usages add.

    `input_tokens` includes `cached_tokens`. `estimated_cost` is null as soon as one part of the
    sum has no known price: an unknown price is never counted as 0. Nor are unknown tokens: with
    them the figures are the least that was used, and no longer `tokens_known`.
    """

    input_tokens: Tokens = 0
    cached_tokens: Tokens = 0
    output_tokens: Tokens = 0
    estimated_cost: Cost = Decimal(0)
    tokens_known: bool = Field(default=True, exclude_if=bool)

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
            tokens_known=self.tokens_known and other.tokens_known,
        )


class CallUsage(UsageMetrics):
    """
    Usage in detail. `cached_tokens` were read from a cache, `cache_write_tokens` written to one.

    Both are parts of `input_tokens`, as `reasoning_tokens` are of `output_tokens`. `native` are
    the providers' own counters, by provider and under their own names.
    """

    cache_write_tokens: Tokens = Field(default=0, exclude_if=not_)
    reasoning_tokens: Tokens = Field(default=0, exclude_if=not_)
    native: NativeCounters = Field(default_factory=dict, exclude_if=not_)

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
                        name: _add_counters(self.native.get(name, {}), more.native.get(name, {}))
                        for name in sorted(self.native.keys() | more.native.keys())
                    },
                }
            )
        )

    @property
    def summary(self) -> UsageMetrics:
        """The figures that the result of a run shows."""
        return UsageMetrics.model_validate(self.model_dump())


def _add_counters(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    names = _select_counter_names({**one, **other})
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted(names)}


UNKNOWN_USAGE = CallUsage(estimated_cost=None, tokens_known=False)
"""What a call used of which its provider says nothing, or nothing that can be."""


MAX_LOST_ATTEMPTS = 2_500
"""
Attempts of one activity that may be lost with their workers: with pauses of 30 s about a day.

The server counts all attempts, so its limit is that of the failed ones and this. It is there for
what ends every worker that takes it up.
"""


class LiveText(Contract):
    """
    The end of what a model has said so far in an attempt.

    It begins behind `offset` characters; `seq` grows with each heartbeat that has more of it.
    """

    turn: int
    attempt: int
    seq: int
    offset: int
    text: str


class AttemptsChange(TypedDict, total=False):
    """What may change of it."""

    usage: CallUsage | None
    failed: int
    lost: int
    left: int
    progress: JsonValue
    live: LiveText | None
    used_up: bool


class Attempts(Contract):
    """
    What the attempts of an activity have come to: its heartbeats carry it from one to the next.

    `failed` ones failed by themselves; one that was `lost` with its worker isn't among them, nor
    one that a worker `left` to another one. `usage` is what those used up that brought no reply of
    a model, `progress` what a tool reports now, `live` what a model says now. `used_up` stands in
    the last failure: there would have been another attempt, but for the limit.
    """

    failed: int = Field(default=0, ge=0, exclude_if=not_)
    lost: int = Field(default=0, ge=0, exclude_if=not_)
    left: int = Field(default=0, ge=0, exclude_if=not_)
    usage: CallUsage | None = Field(default=None, exclude_if=not_)
    progress: JsonValue = Field(default=None, exclude_if=lambda value: value is None)
    live: LiveText | None = Field(default=None, exclude_if=not_)
    used_up: bool = Field(default=False, exclude_if=not_)

    def with_(self, **changes: Unpack[AttemptsChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @classmethod
    def from_details(cls, details: Sequence[object]) -> Self:
        """Read details of a heartbeat or a failure; of what no worker of ours wrote, nothing."""
        try:
            return cls.model_validate(details[0]) if details else cls()
        except ValidationError:
            return cls()
