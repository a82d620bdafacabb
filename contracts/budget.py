"""The limits of a run, and what it has used of them."""

from datetime import datetime
from decimal import Decimal
from operator import not_
from typing import Annotated, Self, TypeAlias, TypedDict, Unpack

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import MAX_COUNT, Count, Dollars, Number, Seconds
from holdfast.contracts.usage import CallUsage, as_number

Steps: TypeAlias = Annotated[Count, Field(le=1_000_000)]
Tries: TypeAlias = Annotated[Number, Field(le=100)]
Cost: TypeAlias = Annotated[Dollars, as_number]
Expense: TypeAlias = Annotated[Decimal, Field(ge=0, le=MAX_COUNT), as_number]
"""What something costs, in US dollars: nothing too."""


class Limits(Contract):
    """
    What a run may use before it stops, as history keeps it.

    `max_steps` counts model calls and is never absent. `max_wall_time` is in seconds and doesn't
    count waiting for people. `max_cost` is in US dollars. `loop_repeat_threshold`: so many
    identical calls in a row run, or so many rounds of the same few calls; the call that completes
    one more ends the run. `max_consecutive_failures`: so many failed calls in a row, whatever
    their arguments, end it too. `max_tool_calls` counts what runs
    at providers too, `max_parallel_calls` only calls of one turn that run here; `max_result_chars`
    is what all results together bring to the model. `max_model_retries` and `max_tool_retries`
    bound the attempts of one call.
    """

    max_steps: Steps = 50
    max_tokens: Count | None = None
    max_cost: Cost | None = None
    max_wall_time: Seconds | None = None
    loop_repeat_threshold: Count = 2
    max_consecutive_failures: Count = 5
    max_input_tokens: Count | None = None
    max_output_tokens: Count | None = None
    max_tool_calls: Number | None = None
    max_parallel_calls: Count | None = None
    max_result_chars: Count | None = None
    max_model_retries: Tries | None = None
    max_tool_retries: Tries | None = None

    def with_changes(self, change: "Budget") -> Self:
        """Return these limits with the fields that were given in *change*."""
        given = {name: getattr(change, name) for name in change.model_fields_set}
        return self.copy_with(given)


class Budget(Limits):
    """
    Limits as people write them: a field that doesn't exist is refused.

    Only what was given is written down: nobody set a default as a limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def with_(self, *, max_wall_time: Seconds | None) -> Self:
        """Return a copy with another max wall time."""
        return self.copy_with({"max_wall_time": max_wall_time})

    @model_serializer(mode="wrap")
    def _dump_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, object]:
        written: dict[str, object] = dump(self)
        return {name: value for name, value in written.items() if name in self.model_fields_set}


class LedgerChange(TypedDict, total=False):
    """What may change of it."""

    steps: int
    tool_calls: int
    hosted_calls: int
    usage: CallUsage
    failed_usage: CallUsage
    waited: float
    failures_in_a_row: int
    recent_calls: tuple[str, ...]
    recurrences: tuple[int, ...]
    result_chars: int
    retries: int
    last_call: CallUsage
    part_steps: int
    call_cost: Expense


class Ledger(Contract):
    """
    What a run has used. `waited` is in seconds, of waiting for people.

    `failed_usage` is the part of `usage` that attempts without a reply used up. `retries` are
    answers that were sent back or blocked, and approaches that were given up. `last_call` is what
    the latest model call used: about what the next one will. `recent_calls` are the fingerprints
    of the latest calls, `recurrences` how many calls in a row were the same as the one before, as
    the one before that, and so on. Only these, `last_call` and `failures_in_a_row` ever go down.
    `part_steps` are those of the `steps` that its parts took. `call_cost` (US dollars) is what
    calls that ran were thought to cost.
    """

    steps: int = 0
    tool_calls: int = 0
    hosted_calls: int = 0
    usage: CallUsage = Field(default_factory=CallUsage)
    failed_usage: CallUsage = Field(default_factory=CallUsage)
    waited: float = 0.0
    failures_in_a_row: int = 0
    recent_calls: tuple[str, ...] = ()
    recurrences: tuple[int, ...] = ()
    result_chars: int = 0
    retries: int = 0
    last_call: CallUsage = Field(default_factory=CallUsage)
    part_steps: int = Field(default=0, exclude_if=not_)
    call_cost: Expense = Field(default=Decimal(0), exclude_if=not_)

    def with_(self, **changes: Unpack[LedgerChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def turns(self) -> int:
        """Model calls of the run itself."""
        return self.steps - self.part_steps

    @property
    def cost(self) -> Decimal | None:
        """US dollars for models and calls, null where a price is unknown."""
        spent = self.usage.estimated_cost
        return None if spent is None else spent + self.call_cost

    @property
    def all_calls(self) -> int:
        """Calls of tools, wherever they ran."""
        return self.tool_calls + self.hosted_calls


class BudgetStatus(Contract):
    """What a run may use, has used, and since when; `ceiling` is what its parent leaves it."""

    limits: Limits
    ceiling: Budget | None
    ledger: Ledger
    started_at: datetime


class UsageReport(Contract):
    """
    Answer to the query `usage`: what was used, beside what may be.

    `failed_usage` is the part of `usage` that attempts without a reply used up. `hosted_calls` ran
    at providers. `call_cost` is what calls were thought to cost.
    """

    steps: int
    tool_calls: int
    hosted_calls: int = 0
    usage: CallUsage
    failed_usage: CallUsage = CallUsage()
    waited_seconds: float
    budget: Limits
    call_cost: Expense = Field(default=Decimal(0), exclude_if=not_)
