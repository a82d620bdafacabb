"""The same write once more, of which nothing but its form is another: of its value, or in time."""

import dataclasses
import re
from datetime import datetime, time
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, BeforeValidator, Field, JsonValue
from typing_extensions import TypeAliasType

from holdfast import Risk, Tiers, Tool, tool
from holdfast.contracts.base import JsonObject
from holdfast.testing import Reply, ScriptTurn, call, calls
from tests.memory.runs import MemoryRuns
from tests.sample import lines, note, scripted, told
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import staffed

ALLOWED = "{id: ok, effect: allow, match: {tools: [pay, remit, book, order, deliver]}}"
TWO = Tiers(full="coder", simplified="clerk")
TICKS = count()


class Order(BaseModel):
    """What is ordered, and when: another time whenever that is left out."""

    what: str
    at: int = Field(default_factory=lambda: next(TICKS))


@dataclasses.dataclass
class Parcel:
    """What is delivered, under a number that is another one whenever that is left out."""

    what: str
    number: UUID = dataclasses.field(default_factory=uuid4)


@tool(risk=Risk.WRITE_INTERNAL)
async def pay(
    log: str, amount: Decimal, reference: Annotated[UUID, Field(default_factory=uuid4)]
) -> str:
    """Pay an amount of some coin."""
    note(log, f"paid {amount}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL)
async def remit(log: str, what: Order) -> str:
    """Pay for what is ordered, under the number that it has."""
    note(log, f"remitted {what}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL)
async def book(log: str, at: datetime, until: time | None = None) -> str:
    """Book a room from this time on."""
    note(log, f"booked {at}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL)
async def order(log: str, orders: list[Order]) -> str:
    """Order all of this for somebody."""
    note(log, f"ordered {orders}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL)
async def deliver(log: str, parcels: dict[str, Parcel]) -> str:
    """Deliver all of this to somebody."""
    note(log, f"delivered {parcels}")
    raise ConnectionError("the line went dead")


class Open(BaseModel):
    """A valve that is to be open."""

    do: Literal["open"] = "open"
    valve: str


class Close(BaseModel):
    """A valve that is to be closed."""

    do: Literal["close"] = "close"
    valve: str


@dataclasses.dataclass
class On:
    """A lamp that is to be on."""

    lamp: str
    be: Literal["on"] = "on"


@dataclasses.dataclass
class Off:
    """A lamp that is to be off."""

    lamp: str
    be: Literal["off"] = "off"


class Step(BaseModel):
    """One thing that is to be done."""

    what: Annotated[Open | Close, Field(discriminator="do")]


class Sign(BaseModel):
    """Something that is to be written somewhere."""

    where: str


class Ban(Sign):
    """A sign that forbids."""

    be: Literal["ban"] = "ban"


class Welcome(Sign):
    """A sign that welcomes."""

    be: Literal["welcome"] = "welcome"


def choose(given: dict[str, str]) -> Sign:
    """Make the sign that is asked for."""
    kind = Ban if given.get("be") == "ban" else Welcome
    return kind.model_validate(given)


Lamps = TypeAliasType("Lamps", "dict[str, On | Off] | list[Lamps]")
"""Lamps by name, in as many lists of lists as somebody likes."""


@tool(risk=Risk.WRITE_INTERNAL)
async def move(
    log: str,
    valve: Open | Close | None = None,
    steps: list[Step] | None = None,
    lamps: Lamps | None = None,
    sign: Annotated[Sign, BeforeValidator(choose)] | None = None,
    either: Open | dict[str, str] | None = None,
) -> str:
    """Move valves, and switch lamps."""
    note(log, f"moved {valve} {steps} {lamps} {sign} {either}")
    return "moved"


TEA: JsonObject = {"what": "tea"}
A, B = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

SAME: list[tuple[Tool, JsonObject, JsonObject]] = [
    (pay, {"amount": "1.5"}, {"amount": "1.50"}),
    (pay, {"amount": "0.1234567890123456789"}, {"amount": "0.12345678901234567890"}),
    (pay, {"amount": "12345678901234567.1"}, {"amount": "12345678901234567.10"}),
    (pay, {"amount": "123456789012345678900"}, {"amount": "1234567890123456789E2"}),
    (pay, {"amount": "-1e-400"}, {"amount": "-10e-401"}),
    (book, {"at": "2026-01-01T12:00:00Z"}, {"at": "2026-01-01T13:00:00.000+01:00"}),
    (book, {"at": "9999-12-31T23:59:59-01:00"}, {"at": "9999-12-31T22:59:59-02:00"}),
    (
        book,
        {"at": "2026-01-01T12:00:00", "until": "23:30:00Z"},
        {"at": "2026-01-01T12:00:00", "until": "00:30:00+01:00"},
    ),
    (order, {"orders": [TEA]}, {"orders": [TEA]}),
    (order, {"orders": [TEA, {**TEA, "at": 1}]}, {"orders": [TEA, {**TEA, "at": "1"}]}),
    (deliver, {"parcels": {"a": TEA}}, {"parcels": {"a": TEA}}),
    (move, {"valve": {"valve": "7"}}, {"valve": {"do": "open", "valve": "7"}}),
    (move, {"lamps": [{"a": {"lamp": "7"}}]}, {"lamps": [{"a": {"lamp": "7", "be": "on"}}]}),
]

OTHERS: list[tuple[Tool, JsonObject, JsonObject]] = [
    (pay, {"amount": "0.1234567890123456789"}, {"amount": "0.1234567890123456788"}),
    (pay, {"amount": "1", "reference": A}, {"amount": "1", "reference": B}),
    (pay, {"amount": "12345678901234567890"}, {"amount": "1234567890123456789"}),
    (book, {"at": "2026-01-01T12:00:00Z"}, {"at": "2026-01-01T12:00:00"}),
    (book, {"at": "2026-01-01T12:00:00Z"}, {"at": "2026-01-01T12:00:00+01:00"}),
    (order, {"orders": [{**TEA, "at": 1}]}, {"orders": [{**TEA, "at": 2}]}),
    (
        deliver,
        {"parcels": {"a": {**TEA, "number": A}}},
        {"parcels": {"a": {**TEA, "number": B}}},
    ),
    (
        move,
        {"valve": {"do": "open", "valve": "7"}},
        {"valve": {"do": "close", "valve": "7"}},
    ),
    (
        move,
        {"steps": [{"what": {"do": "open", "valve": "7"}}]},
        {"steps": [{"what": {"do": "close", "valve": "7"}}]},
    ),
    (
        move,
        {"lamps": [{"a": {"lamp": "7", "be": "on"}}]},
        {"lamps": [{"a": {"lamp": "7", "be": "off"}}]},
    ),
    (
        move,
        {"sign": {"where": "7", "be": "ban"}},
        {"sign": {"where": "7", "be": "welcome"}},
    ),
    (move, {"either": {"valve": "7", "do": "open"}}, {"either": {"valve": "7", "do": "it"}}),
    (
        book,
        {"at": "2026-01-01T12:00:00", "until": "23:30:00Z"},
        {"at": "2026-01-01T12:00:00", "until": "23:30:00"},
    ),
]


@pytest.mark.parametrize(("made", "one", "other"), SAME)
def test_equal_values_do_the_same(made: Tool, one: JsonObject, other: JsonObject) -> None:
    """However they are written, and whatever is made of what they leave out."""
    # BY-11 BY-12
    effects = {made.effect({"log": "x", **arguments}) for arguments in (one, other)}

    assert len(effects) == 1


@pytest.mark.parametrize(("made", "one", "other"), OTHERS)
def test_other_values_do_something_else(made: Tool, one: JsonObject, other: JsonObject) -> None:
    """What a call names tells it from another one, be it what would be made anew."""
    effects = {made.effect({"log": "x", **arguments}) for arguments in (one, other)}

    assert len(effects) == 2


LOST: list[tuple[str, dict[str, JsonValue], dict[str, JsonValue]]] = [
    ("pay", {"amount": "0.1234567890123456789"}, {"amount": "0.12345678901234567890"}),
    ("pay", {"amount": "1"}, {"amount": "1"}),
    ("book", {"at": "2026-01-01T12:00:00Z"}, {"at": "2026-01-01T13:00:00+01:00"}),
    ("order", {"orders": [TEA]}, {"orders": [TEA]}),
    ("deliver", {"parcels": {"a": TEA}}, {"parcels": {"a": TEA}}),
]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["turns", "one turn", "tiers"])
@pytest.mark.parametrize(("name", "first", "second"), LOST)
async def test_a_lost_write_is_known_again(
    memory_runs: MemoryRuns,
    tmp_path: Path,
    where: str,
    name: str,
    first: dict[str, JsonValue],
    second: dict[str, JsonValue],
) -> None:
    """By the run itself, in the same turn, and by the next tier."""
    # BY-11 BY-12 NR-06
    log, rules = tmp_path / "log", policy(tmp_path, ALLOWED)
    one: Reply = call(name, log=str(log), **first)
    other: Reply = call(name, log=str(log), **second)
    tools = (pay, book, order, deliver)
    if where == "tiers":
        scripts = {"coder": [one], "clerk": [other, told]}
        app = staffed(scripts, tiers=TWO, tools=tools, policy=rules)
    else:
        script = [one, other, told] if where == "turns" else [calls(one, other), told]
        app = scripted(script, tools=tools, policy=rules)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await run.result()
        await memory_runs.stories(run)

    assert len(lines(log)) == 1


@pytest.mark.parametrize("name", ["pay", "remit"])
async def test_a_lost_write_is_known_by_all_that_it_had(
    memory_runs: MemoryRuns, tmp_path: Path, name: str
) -> None:
    """The next tier is told a call with what was made for it, and makes it just as it was told."""
    # BY-11 BY-12 NR-06
    log = str(tmp_path / "log")
    said: JsonObject = {"amount": "1"} if name == "pay" else {"what": TEA}

    def repeat(turn: ScriptTurn) -> Reply:
        if turn.number > 1:
            return told(turn)
        reference = re.search(r'reference="([0-9a-f-]+)"', turn.goal)
        at = re.search(r'"at": ?([0-9]+)', turn.goal)
        if reference is not None:
            return call(name, log=log, amount="1", reference=reference[1])
        assert at is not None, turn.goal
        return call(name, log=log, what={**TEA, "at": int(at[1])})

    scripts = {"coder": [call(name, log=log, **said)], "clerk": repeat}
    rules = policy(tmp_path, ALLOWED)
    app = staffed(scripts, tiers=TWO, tools=(pay, remit), policy=rules)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        await memory_runs.stories(run)

    assert result.answer == f"{name} denied"
    assert len(lines(log)) == 1
