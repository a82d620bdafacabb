"""Arguments with everything that a call leaves out of them: read again, they are the same."""

import math
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AliasChoices, BaseModel, Field, RootModel

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import Risk
from holdfast.tools.tool import Tool, tool


class Size(StrEnum):
    SMALL = "small"


class Line(BaseModel, frozen=True):
    """A model whose fields have names of their own in JSON."""

    item: str
    count: int = Field(default=1, alias="number", serialization_alias="n")
    note: str = Field(default="", validation_alias=AliasChoices("remark", "comment"))


@dataclass
class Place:
    """A dataclass; nobody says what it works out by itself."""

    town: str
    street: Annotated[str, Field(alias="road")] = "High Street"
    known: bool = field(default=False, init=False)


class Lines(RootModel[list[Line]]):
    """A model that is a list."""


@tool(risk=Risk.WRITE_INTERNAL)
async def order(
    *,
    to: str,
    lines: Annotated[Lines, Field(default_factory=lambda: Lines([]))],
    named: Annotated[dict[int, Line], Field(default_factory=dict)],
    queue: Annotated[deque[Line], Field(default_factory=deque)],
    line: Line | None = None,
    places: tuple[Place, ...] = (),
    some: frozenset[Line] = frozenset(),
    price: Decimal = Decimal("1.50"),
    limit: float | str = math.inf,
    size: Size = Size.SMALL,
    path: Path = Path("a/b"),
) -> str:
    """Order several things for somebody."""
    return to


DEFAULTS: JsonObject = {
    "line": None,
    "lines": [],
    "places": [],
    "named": {},
    "some": [],
    "queue": [],
    "price": "1.50",
    "limit": "Infinity",
    "size": "small",
    "path": "a/b",
}
TEA: JsonObject = {"item": "tea"}
ALL_TEA: JsonObject = {"item": "tea", "number": 1, "remark": ""}


@pytest.mark.parametrize(
    ("written", "complete"),
    [
        ({}, {}),
        ({"line": TEA}, {"line": ALL_TEA}),
        ({"line": {"number": 2, **TEA}}, {"line": {**ALL_TEA, "number": 2}}),
        ({"lines": [TEA, ALL_TEA]}, {"lines": [ALL_TEA, ALL_TEA]}),
        ({"places": [{"town": "Ulm"}]}, {"places": [{"town": "Ulm", "road": "High Street"}]}),
        ({"named": {"1": TEA}}, {"named": {"1": ALL_TEA}}),
        ({"some": [TEA]}, {"some": [ALL_TEA]}),
        ({"queue": [TEA]}, {"queue": [ALL_TEA]}),
    ],
)
def test_what_is_left_out_is_filled_in(written: JsonObject, complete: JsonObject) -> None:
    """Each default under the name that a call has for it; what was written stays as it is."""
    asked: JsonObject = {"to": "ada", **written}

    found = order.fill_defaults(asked)

    assert found == {"to": "ada", **DEFAULTS, **complete}
    assert order.fill_defaults(found) == found
    assert list(found)[: len(asked)] == list(asked)


def test_what_is_complete_stays_word_by_word() -> None:
    """A number in text, a set in any order: nothing was left out, so nothing changes."""
    asked: JsonObject = {
        "to": "ada",
        **DEFAULTS,
        "price": "1.5",
        "some": [{**ALL_TEA, "item": "milk"}, ALL_TEA],
    }

    assert order.fill_defaults(asked) == asked


async def pay(to: str, amount: int = None) -> str:  # pyright: ignore[reportArgumentType] # noqa: RUF013 -- as people write it
    """Pay somebody what they are owed."""
    return f"{to} {amount}"


def test_a_default_that_is_no_argument_must_be_named() -> None:
    """Nobody can be shown such a default as what a call would say: the model says another."""
    sloppy: Tool = tool(risk=Risk.FINANCIAL)(pay)

    with pytest.raises(ToolError, match="name what was left out: amount: "):
        sloppy.fill_defaults({"to": "ada"})
    assert sloppy.fill_defaults({"to": "ada", "amount": 1}) == {"to": "ada", "amount": 1}
