"""What a policy looks at is what the tool will see, in a form that can be compared."""

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated

import pytest
from pydantic import BaseModel, JsonValue, StringConstraints

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.tool import tool


class Colour(Enum):
    """A closed choice."""

    RED = "red"


class Line(BaseModel):
    """One line of an order."""

    price: Decimal
    colour: Colour = Colour.RED
    by_year: dict[int, Decimal] = {}


@tool(risk=Risk.READ_ONLY)
async def take(
    *,
    amount: Decimal,
    ctx: ToolContext,
    lines: tuple[Line, ...] = (),
    day: date | None = None,
    places: frozenset[int] = frozenset({7}),
    name: Annotated[str, StringConstraints(to_lower=True, strip_whitespace=True)] = "x",
    ratio: float = 1.5,
) -> str:
    """Take one of each."""
    return f"{amount}{ctx.run_id}{lines}{day}{places}{name}{ratio}"


DEFAULTS: JsonObject = {
    "lines": [],
    "day": None,
    "places": [7],
    "name": "x",
    "ratio": 1.5,
}


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        pytest.param({"amount": 1}, {"amount": 1.0}, id="defaults are filled in"),
        pytest.param({"amount": "29.00"}, {"amount": 29.0}, id="a decimal is a number"),
        pytest.param({"amount": 0.1}, {"amount": 0.1}, id="a number stays"),
        pytest.param(
            {"amount": "20.00000000000000000001"},
            {"amount": "20.00000000000000000001"},
            id="more digits than a number has",
        ),
        pytest.param({"amount": "1e400"}, {"amount": "1E+400"}, id="larger than a number"),
        pytest.param(
            {"amount": 1, "name": " ACME "},
            {"amount": 1.0, "name": "acme"},
            id="as the tool has it",
        ),
        pytest.param(
            {"amount": 1, "day": "2026-03-01"}, {"amount": 1.0, "day": "2026-03-01"}, id="a date"
        ),
        pytest.param(
            {"amount": 1, "lines": [{"price": "2.50", "by_year": {"2026": 3}}]},
            {
                "amount": 1.0,
                "lines": [{"price": 2.5, "colour": "red", "by_year": {"2026": 3.0}}],
            },
            id="inside",
        ),
    ],
)
def test_values_are_what_the_tool_sees(given: JsonObject, seen: JsonObject) -> None:
    """Conditions and scopes look at defaults and converted values; the context is no value."""
    assert take.values(given) == {**DEFAULTS, **seen}


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "much", [1]])
def test_what_the_tool_would_not_take_has_no_values(amount: JsonValue) -> None:
    """Where the tool itself would refuse, the call is invalid before anybody decides."""
    with pytest.raises(ToolError) as raised:
        take.values({"amount": amount})

    assert raised.value.type == "invalid_arguments"
    assert "amount" in raised.value.reason
