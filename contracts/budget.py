"""The limits of a run, and what it has used of them."""

from decimal import Decimal
from typing import Annotated, Self, TypeAlias

from pydantic import Field

from contracts.base import Contract, Inbound
from contracts.usage import Money, UsageMetrics

Steps: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=10 * 365 * 86400)]
Dollars: TypeAlias = Annotated[Money, Field(gt=Decimal(0))]


class Budget(Inbound):
    """
    What a run may use before it stops.

    `max_steps` counts model calls and is never absent. `max_wall_time` is in seconds and doesn't
    count waiting for people. `max_cost` is in US dollars. `loop_repeat_threshold`: so many
    identical calls in a row run, the next one ends the run. `max_consecutive_failures`: so many
    failed calls in a row, whatever their arguments, end it too.
    """

    max_steps: Steps = 50
    max_tokens: Count | None = None
    max_cost: Dollars | None = None
    max_wall_time: Seconds | None = None
    loop_repeat_threshold: Count = 2
    max_consecutive_failures: Count = 5

    def changed_by(self, change: Self) -> Self:
        """Return this budget with the fields that were given in *change*."""
        given = {name: getattr(change, name) for name in change.model_fields_set}
        return self.model_copy(update=given)


class Ledger(Contract):
    """
    What a run has used. `waited` is in seconds, of waiting for people.

    Only the streaks (`..._in_a_row`) ever go down.
    """

    steps: int = 0
    tool_calls: int = 0
    usage: UsageMetrics = UsageMetrics()
    waited: float = 0.0
    failures_in_a_row: int = 0
    last_fingerprint: str = ""
    repeats_in_a_row: int = 0
