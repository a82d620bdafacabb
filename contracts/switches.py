"""The kill switch: tools, agents and tenants that are switched off for all runs."""

from datetime import datetime
from operator import not_
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from contracts.base import Contract, Inbound

SWITCHES_TYPE = "HoldfastSwitches"

Kind: TypeAlias = Literal["tool", "agent", "tenant"]
Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]


def switches_id(task_queue: str) -> str:
    """Return the workflow id under which the switches of a task queue are kept."""
    return f"{task_queue}-switches"


class SwitchSignal(Inbound):
    """The signals `off` and `on` of the workflow `HoldfastSwitches`."""

    kind: Kind
    name: Name
    by: Name
    reason: Annotated[str, Field(max_length=2_000)] = ""


class Switch(Contract):
    """Something that is switched off: calls of this tool, agent or tenant are denied."""

    kind: Kind
    name: str
    by: str
    reason: str
    at: datetime


class SwitchState(Contract):
    """
    Everything that is switched off; also the input of `HoldfastSwitches`.

    `ignored` counts the signals that changed nothing because they couldn't be read.
    """

    switches: tuple[Switch, ...] = ()
    ignored: int = Field(default=0, exclude_if=not_)
