"""The kill switch: tools, agents and tenants that are switched off for all runs, or everything."""

from datetime import datetime
from functools import cached_property
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field, model_validator

from holdfast.contracts.base import Contract, Inbound
from holdfast.contracts.bounds import MAX_SWITCH_NAME_CHARS, MAX_SWITCH_REASON_CHARS, size

SWITCHES_WORKFLOW_TYPE = "HoldfastSwitches"

SWITCHES = "holdfast-switches"
"""
The id of the workflow that keeps the switches of a namespace, and the queue of its tasks.

All runs of the namespace follow them, whatever queue they are on: who switches something off needs
to know no queue, and can't take the wrong one.
"""

SwitchKind: TypeAlias = Literal["tool", "agent", "tenant", "everything"]

EVERYTHING = "*"
"""The name of everything."""


Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_SWITCH_NAME_CHARS)]


class SwitchSignal(Inbound):
    """
    The signals `off` and `on` of the workflow `HoldfastSwitches`.

    A tool, an agent or a tenant has a `name`; the name of everything is `*`.
    """

    kind: SwitchKind
    name: Name
    by: Name
    reason: Annotated[str, Field(max_length=MAX_SWITCH_REASON_CHARS)] = ""

    @model_validator(mode="after")
    def _check_name_of_everything(self) -> Self:
        if (self.kind == "everything") is not (self.name == EVERYTHING):
            raise ValueError("everything is named '*', and nothing else is")
        return self


class SwitchChange(TypedDict, total=False):
    """What may change of it."""

    kind: SwitchKind
    name: str
    by: str
    reason: str


class Switch(Contract):
    """Something that is switched off: calls of this tool, agent or tenant are denied, or all."""

    kind: SwitchKind
    name: str
    by: str
    reason: str
    at: datetime

    @cached_property
    def written_bytes(self) -> int:
        """What it takes in a payload; there may be thousands, so it is measured once."""
        return size(self)

    def __copy__(self) -> Self:
        copied = super().__copy__()
        vars(copied).pop("written_bytes", None)
        return copied

    def with_(self, **changes: Unpack[SwitchChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class SwitchStateChange(TypedDict, total=False):
    """What may change of it."""

    switches: tuple[Switch, ...]
    ignored: int


class SwitchState(Contract):
    """
    Everything that is switched off; also the input of `HoldfastSwitches`.

    `ignored` counts the signals that changed nothing because they couldn't be read.
    """

    switches: tuple[Switch, ...] = ()
    ignored: int = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[SwitchStateChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
