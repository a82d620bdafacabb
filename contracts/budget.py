"""The limits of a run, and what it has used of them."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Self, TypeAlias

from pydantic import ConfigDict, Field, PlainSerializer

from contracts.base import Contract, JsonObject
from contracts.usage import CallUsage, Money

Steps: TypeAlias = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Count: TypeAlias = Annotated[int, Field(strict=True, ge=1)]
Calls: TypeAlias = Annotated[int, Field(strict=True, ge=0)]
Tries: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=100)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=10 * 365 * 86400)]
Dollars: TypeAlias = Annotated[Money, Field(gt=Decimal(0))]


class Limits(Contract):
    """
    What a run may use before it stops, as history keeps it.

    `max_steps` counts model calls and is never absent. `max_wall_time` is in seconds and doesn't
    count waiting for people. `max_cost` is in US dollars. `loop_repeat_threshold`: so many
    identical calls in a row run, the next one ends the run. `max_consecutive_failures`: so many
    failed calls in a row, whatever their arguments, end it too. `max_parallel_calls` are those of
    one turn, `max_result_chars` what all results together bring to the model. `max_model_retries`
    and `max_tool_retries` bound the attempts of one call.
    """

    max_steps: Steps = 50
    max_tokens: Count | None = None
    max_cost: Dollars | None = None
    max_wall_time: Seconds | None = None
    loop_repeat_threshold: Count = 2
    max_consecutive_failures: Count = 5
    max_input_tokens: Count | None = None
    max_output_tokens: Count | None = None
    max_tool_calls: Calls | None = None
    max_parallel_calls: Count | None = None
    max_result_chars: Count | None = None
    max_model_retries: Tries | None = None
    max_tool_retries: Tries | None = None

    def changed_by(self, change: "Budget") -> Self:
        """Return these limits with the fields that were given in *change*."""
        given = {name: getattr(change, name) for name in change.model_fields_set}
        return self.model_copy(update=given)


class Budget(Limits):
    """Limits as people write them: a field that doesn't exist is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _given(budget: Budget) -> JsonObject:
    return budget.model_dump(mode="json", exclude_unset=True)


GivenBudget: TypeAlias = Annotated[Budget, PlainSerializer(_given)]
"""A budget of which only what was given is written down: nobody set a default as a limit."""


class Ledger(Contract):
    """
    What a run has used. `waited` is in seconds, of waiting for people.

    `failed_usage` is the part of `usage` that attempts without a reply used up. `retries` are
    answers that were sent back or blocked, and approaches that were given up. `last_call` is what
    the latest model call used: about what the next one will. Only the streaks (`..._in_a_row`) and
    `last_call` ever go down.
    """

    steps: int = 0
    tool_calls: int = 0
    hosted_calls: int = 0
    usage: CallUsage = CallUsage()
    failed_usage: CallUsage = CallUsage()
    waited: float = 0.0
    failures_in_a_row: int = 0
    last_fingerprint: str = ""
    repeats_in_a_row: int = 0
    result_chars: int = 0
    retries: int = 0
    last_call: CallUsage = CallUsage()


class Means(Contract):
    """What a run may use, has used, and since when; `ceiling` is what its parent leaves it."""

    limits: Limits
    ceiling: Budget | None
    ledger: Ledger
    started_at: datetime
