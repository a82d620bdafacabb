"""The limits of a run: each is one row here, and a field of `Limits` (contracts/budget.py)."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.usage import CallUsage

Share: TypeAlias = Literal["rest", "time", "same", "own"]
"""
What a run gets of the limit of the one that started it.

What is left, which several at once share equally; what is left, which passes for all of them
together; the limit itself; nothing, for it has one of its own.
"""


Counter: TypeAlias = Callable[[Ledger], int | Decimal | None]


@dataclass(frozen=True)
class LimitRow:
    """
    One limit of a run. What ends a run, what its parts get and what they cost it follow from here.

    `used` reads from a ledger how much was used, each a `unit`, null where nobody knows, and
    `unknown` says why not: of what models use, with a reply or without. `otherwise` is what to do
    if not to raise it.
    """

    name: str
    share: Share
    otherwise: str = ""
    unit: str = ""
    used: Counter | None = None
    unknown: str = ""


def _read_tokens(count: Callable[[CallUsage], int]) -> Counter:
    return lambda ledger: count(ledger.usage) if ledger.usage.tokens_known else None


_UNCOUNTED = "a model that was used doesn't say how much it used"
_UNPRICED = "a model or hosted tool that was used has no known price"

CALLS = LimitRow(
    "max_tool_calls", "rest", "split the task", "tool call", lambda ledger: ledger.all_calls
)
PARALLEL_CALLS = LimitRow(
    "max_parallel_calls", "same", "switch parallel_calls off in the agent's settings"
)
MODEL_RETRIES = LimitRow("max_model_retries", "same", "with another model")
WALL_TIME = LimitRow("max_wall_time", "time", "split the task")

LIMITS: tuple[LimitRow, ...] = (
    LimitRow("max_steps", "rest", "split the task", "model call", lambda ledger: ledger.steps),
    LimitRow(
        "max_tokens",
        "rest",
        "split the task",
        "token",
        _read_tokens(lambda usage: usage.total_tokens),
        _UNCOUNTED,
    ),
    LimitRow(
        "max_input_tokens",
        "rest",
        "lower the agent's max_context_bytes",
        "input token",
        _read_tokens(lambda usage: usage.input_tokens),
        _UNCOUNTED,
    ),
    LimitRow(
        "max_output_tokens",
        "rest",
        "ask for less to be written",
        "output token",
        _read_tokens(lambda usage: usage.output_tokens),
        _UNCOUNTED,
    ),
    LimitRow(
        "max_cost",
        "rest",
        "with a cheaper model",
        "US dollar",
        lambda ledger: ledger.cost,
        _UNPRICED,
    ),
    LimitRow(
        "max_result_chars",
        "rest",
        "have tools answer with less",
        "result character",
        lambda ledger: ledger.result_chars,
    ),
    CALLS,
    WALL_TIME,
    PARALLEL_CALLS,
    MODEL_RETRIES,
    LimitRow("max_tool_retries", "same"),
    LimitRow("loop_repeat_threshold", "own"),
    LimitRow("max_consecutive_failures", "own"),
)
"""Every limit of `Limits`, in the order in which they are looked at."""


def build_worst_case_ledger(ceiling: Budget) -> Ledger:
    """Return what a run has used that can't be known: all that it may use, where that ends."""
    tokens_in, tokens_out = ceiling.max_input_tokens or 0, ceiling.max_output_tokens or 0
    usage = CallUsage(
        input_tokens=max(tokens_in, (ceiling.max_tokens or 0) - tokens_out),
        output_tokens=tokens_out,
        estimated_cost=None if ceiling.max_cost is None else Decimal(ceiling.max_cost),
    )
    return Ledger(
        steps=ceiling.max_steps,
        tool_calls=ceiling.max_tool_calls or 0,
        usage=usage,
        failed_usage=usage,
        result_chars=ceiling.max_result_chars or 0,
    )
