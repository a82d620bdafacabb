"""What calls changed, or may have: their effects, how one is undone, and what became of that."""

from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field, JsonValue

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.tools import TOOL_NAME_PATTERN, Risk


class UndoRulingChange(TypedDict, total=False):
    """What may change of it."""

    reason: str
    effects: tuple[str, ...]


class UndoRuling(Contract):
    """
    What the permission engine says of a call's undo, when it rules on the call.

    `approval_required`: the undo takes an approval, and those of the call don't cover it, or not
    yet. Only what is allowed ever runs, and then nobody is asked again. `recovery` is the
    documented way back that its approval takes, `effects` what calls have that do the same as it.
    """

    tool: str
    risk: Risk
    verdict: Literal["allow", "approval_required", "deny"]
    rule: str
    reason: str
    recovery: str = Field(default="", exclude_if=not_)
    effects: tuple[str, ...] = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[UndoRulingChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def as_shown(self) -> Self:
        """What people are shown of it, and approve."""
        return self.with_(effects=()) if self.effects else self


EffectOutcome: TypeAlias = Literal["done", "unknown"]
"""Whether a call did what it was asked for, as far as anybody knows."""

Period: TypeAlias = tuple[float, float]
"""From when to when, in seconds since 1970 by the server's clock."""


class KnownEffect(Contract):
    """
    What another part of the same work did, or may have done: this part doesn't do it again.

    `digest` is the same for calls that do the same, however they are written. It and `tool` are
    empty where nobody knows what was done.
    """

    tool: Annotated[str, Field(pattern=rf"^$|{TOOL_NAME_PATTERN}")]
    digest: Annotated[str, Field(pattern=r"^$|^[0-9a-f]{64}$")]
    outcome: EffectOutcome


class EffectChange(TypedDict, total=False):
    """What may change of it."""

    summary: str
    arguments: JsonObject | None
    part: str
    outcome: EffectOutcome
    reported: bool
    undo: UndoRuling | None
    call: ToolCall | None
    agents: tuple[str, ...]
    first_execution_run_id: str
    drafted: bool
    result: JsonValue
    time_limit: float
    sandboxed: bool
    place: int
    during: Period | None


class Effect(Contract):
    """
    What a call changed, or where the `outcome` is unknown may have; `summary` is one line.

    `arguments` are canonical: as the tool takes them, with defaults; left out where there is too
    much of them. `digest` is that of tool and arguments, and empty where nobody needs to know it
    again; `named` is that of a call that names what this one left out, where that is another. A
    `local` effect changed nothing but the workspace of its run. `part` is the run of this one's
    that did it, `reported` that it couldn't be taken back and was told. `undo` says whether it may
    be, and by which tool, which needs the `call`, what that answered, the `agents` (who made the
    call, then those that they worked for), and the name that the server gave its run; one was
    `drafted` for that call. `time_limit` (seconds) and `sandboxed` bound a lost call's time. Its
    `place` among all that its part did is told to the whole, and `during` what time it was done.
    """

    summary: str
    tool: str = Field(default="", exclude_if=not_)
    arguments: JsonObject | None = Field(default=None, exclude_if=lambda value: value is None)
    outcome: EffectOutcome = "done"
    digest: str = Field(default="", exclude_if=not_)
    named: str = Field(default="", exclude_if=not_)
    local: bool = Field(default=False, exclude_if=not_)
    part: str = Field(default="", exclude_if=not_)
    reported: bool = Field(default=False, exclude_if=not_)
    undo: UndoRuling | None = Field(default=None, exclude_if=not_)
    call: ToolCall | None = Field(default=None, exclude_if=not_)
    agents: tuple[str, ...] = Field(default=(), exclude_if=not_)
    first_execution_run_id: str = Field(default="", exclude_if=not_)
    drafted: bool = Field(default=False, exclude_if=not_)
    result: JsonValue = Field(default=None, exclude_if=lambda value: value is None)
    time_limit: float = Field(default=0, exclude_if=not_)
    sandboxed: bool = Field(default=False, exclude_if=not_)
    place: int = Field(default=0, exclude_if=not_)
    during: Period | None = Field(default=None, exclude_if=not_)

    def with_(self, **changes: Unpack[EffectChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def digests(self) -> tuple[str, ...]:
        """What calls have, the one or the other, that do the same."""
        return tuple(filter(None, (self.digest, self.named)))


class Compensation(Contract):
    """What became of a run's effects when its answer was blocked, latest first."""

    undone: tuple[str, ...] = ()
    not_undone: tuple[str, ...] = ()
