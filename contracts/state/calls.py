"""How far one call of the current turn has come, as a frozen value."""

from decimal import Decimal
from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.approvals import ApprovalRecord
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Expense
from holdfast.contracts.calls import AnyCall, Draft, ToolCall, ToolResult
from holdfast.contracts.decisions import Decided, Decision, Ruling, RunAsDraftOnly, decision_of


class CallStateChange(TypedDict, total=False):
    """What may change of it."""

    call: AnyCall
    ruling: Ruling | None
    draft: Draft | None
    approvals: tuple[ApprovalRecord, ...]
    result: ToolResult | None
    guarded: str
    cost: Expense
    sent_back: int
    stale: bool
    drafted_bytes: int


class CallState(Contract):
    """
    How far one call of the current turn has come.

    `guarded` is the reading by which guardrails have looked at it, and `cost` what they think that
    it costs. `sent_back` is how often it was decided and didn't begin: its worker decides by
    something else, the decision was too old, or guardrails had looked at another reading. Its
    ruling is `stale` since the run has waited, or another call ran: before it begins it is decided
    anew. What was drafted for it had `drafted_bytes`, shown or not.
    """

    call: AnyCall
    ruling: Ruling | None = None
    draft: Draft | None = None
    approvals: tuple[ApprovalRecord, ...] = ()
    result: ToolResult | None = None
    guarded: str = Field(default="", exclude_if=not_)
    cost: Expense = Field(default=Decimal(0), exclude_if=not_)
    sent_back: int = Field(default=0, exclude_if=not_)
    stale: bool = Field(default=False, exclude_if=not_)
    drafted_bytes: int = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[CallStateChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def decision(self) -> Decision | None:
        """The latest decision about the call, if the engine has made one."""
        return decision_of(self.ruling)

    @property
    def arguments(self) -> JsonObject:
        """Its arguments as their types write them; of a call that can't be read there are none."""
        canonical = self.ruling.canonical if isinstance(self.ruling, Decided) else None
        if canonical is None and isinstance(self.call, ToolCall):
            return self.call.arguments
        return canonical or {}

    @property
    def reading(self) -> str:
        """What guardrails look at, if the engine has decided about the call."""
        return self.ruling.reading if isinstance(self.ruling, Decided) else ""

    @property
    def drafting(self) -> RunAsDraftOnly | None:
        """The decision by which the call's draft variant runs in its place, if it does."""
        return self.decision if isinstance(self.decision, RunAsDraftOnly) else None
