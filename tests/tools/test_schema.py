"""Schemas made from a signature, and arguments held against them."""

from collections.abc import Callable
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.tools.context import ToolContext
from holdfast.tools.schema import SchemaCheck, flaws, read_signature
from tests.tools.sample_tools import Colour, order, whoami


class Box(BaseModel):
    """Something with a size."""

    size: int


class LooseBox(BaseModel):
    """Something with a size, and whatever else."""

    model_config = ConfigDict(extra="allow")

    size: int


async def typed(
    *,
    text: str,
    whole: int,
    number: float,
    yes: bool,
    several: list[str],
    some: dict[str, int],
    box: Box,
    colour: Colour,
    maybe: int | None,
) -> str:
    """Take one of each."""
    return f"{text}{whole}{number}{yes}{several}{some}{box}{colour}{maybe}"


async def bounded(
    age: Annotated[int, Field(ge=0, le=150, description="In years.")],
    name: Annotated[str, Field(min_length=1)] = "nobody",
    speed: Literal["slow", "fast"] = "slow",
    *,
    ctx: ToolContext,
) -> str:
    """Take what is within bounds."""
    return f"{age}{name}{speed}{ctx.run_id}"


async def defaulted(times: int = Field(default=1, ge=1, le=9)) -> str:
    """Take what has its bounds beside its default."""
    return str(times)


async def shadowing(*, json: str, copy: str, schema: str) -> str:
    """Take what pydantic has names for."""
    return json + copy + schema


async def protecting(*, model_config: str, model_dump: str) -> str:
    """Take what pydantic keeps for itself."""
    return model_config + model_dump


async def hidden(*, _place: str) -> str:
    """Take what begins with an underscore."""
    return _place


def schema(function: Callable[..., object]) -> JsonObject:
    return read_signature("it", function).input_schema


def test_the_types_of_a_signature_are_the_types_of_the_schema() -> None:
    """Each argument has the JSON type of its annotation; all without a default are required."""
    made = schema(typed)

    assert made["properties"] == {
        "text": {"title": "Text", "type": "string"},
        "whole": {"title": "Whole", "type": "integer"},
        "number": {"title": "Number", "type": "number"},
        "yes": {"title": "Yes", "type": "boolean"},
        "several": {"title": "Several", "type": "array", "items": {"type": "string"}},
        "some": {
            "title": "Some",
            "type": "object",
            "additionalProperties": {"type": "integer"},
        },
        "box": {"$ref": "#/$defs/Box"},
        "colour": {"$ref": "#/$defs/Colour"},
        "maybe": {"title": "Maybe", "anyOf": [{"type": "integer"}, {"type": "null"}]},
    }
    assert made["required"] == [
        *("text", "whole", "number", "yes", "several", "some", "box", "colour", "maybe")
    ]


def test_bounds_descriptions_and_defaults_are_in_the_schema() -> None:
    """What Field says of an argument the model reads; the context isn't an argument."""
    made = schema(bounded)

    assert made["properties"] == {
        "age": {
            "title": "Age",
            "type": "integer",
            "minimum": 0,
            "maximum": 150,
            "description": "In years.",
        },
        "name": {"title": "Name", "type": "string", "minLength": 1, "default": "nobody"},
        "speed": {
            "title": "Speed",
            "type": "string",
            "enum": ["slow", "fast"],
            "default": "slow",
        },
    }
    assert made["required"] == ["age"]


def test_bounds_may_stand_with_the_default() -> None:
    """A default that is a Field says the same as one in the annotation."""
    made = read_signature("it", defaulted)

    properties = made.input_schema["properties"]
    assert isinstance(properties, dict)
    assert properties["times"] == {
        "title": "Times",
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "default": 1,
    }
    assert made.input_schema["required"] == []
    assert made.values(made.arguments.model_validate({})) == {"times": 1}


@pytest.mark.parametrize("function", [typed, bounded, whoami.function, order.function])
def test_a_made_schema_is_a_contract(function: Callable[..., object]) -> None:
    """No unknown argument passes, and the required ones are listed."""  # PF-03 PF-04
    made = schema(function)

    assert made["type"] == "object"
    assert made["additionalProperties"] is False
    assert isinstance(made["required"], list)
    assert flaws(made) == ()


def test_a_tool_without_arguments_has_an_empty_schema() -> None:
    """A tool that takes nothing takes nothing."""

    async def poll() -> str:
        return "not yet"

    made = schema(poll)

    assert (made["properties"], made["required"]) == ({}, [])
    assert SchemaCheck(made).objections({}) == ()
    assert SchemaCheck(made).objections({"x": 1}) != ()


@pytest.mark.parametrize(
    ("function", "names"),
    [
        pytest.param(shadowing, ["json", "copy", "schema"], id="shadowing"),
        pytest.param(protecting, ["model_config", "model_dump"], id="protected"),
        pytest.param(hidden, ["_place"], id="hidden"),
    ],
)
def test_an_argument_may_have_any_name(function: Callable[..., object], names: list[str]) -> None:
    """Whatever Python takes as a name of an argument is one, without a word of warning."""
    signature = read_signature("it", function)

    arguments: dict[str, JsonValue] = dict.fromkeys(names, "x")
    assert schema(function)["required"] == names
    parsed = signature.arguments.model_validate(arguments)

    assert signature.values(parsed) == arguments


def test_the_result_has_a_schema_too() -> None:
    """What a tool returns is described as it is written."""
    assert read_signature("it", bounded).output_schema == {"type": "string"}
    assert order.contract.output_schema["additionalProperties"] is not False


ORDER: JsonObject = {"lines": [{"article": "lamp", "price": 9.95}], "colour": "red"}


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="only what is required"),
        pytest.param({"size": 1}, id="smallest"),
        pytest.param({"size": 9}, id="largest"),
        pytest.param({"size": 3.0}, id="a whole number is one"),
        pytest.param({"speed": "fast", "note": None}, id="enum and null"),
        pytest.param({"lines": []}, id="empty list"),
        pytest.param({"lines": [{"article": "x", "price": "9.95", "pieces": 2}]}, id="decimal"),
    ],
)
def test_valid_arguments_have_no_objections(changes: JsonObject) -> None:
    """What fits the schema passes."""
    assert order.objections({**ORDER, **changes}) == ()


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        pytest.param({"colour": None}, "colour", "null", id="null"),
        pytest.param({"colour": "blue"}, "colour", '"blue"', id="not in the enum"),
        pytest.param({"colour": 7}, "colour", "7", id="wrong type"),
        pytest.param({"speed": "quick"}, "speed", '"quick"', id="not in the literal"),
        pytest.param({"size": 0}, "size", "minimum of 1", id="too small"),
        pytest.param({"size": 10}, "size", "maximum of 9", id="too large"),
        pytest.param({"size": 2.5}, "size", "2.5", id="no whole number"),
        pytest.param({"size": "3"}, "size", '"3"', id="text for a number"),
        pytest.param({"size": True}, "size", "true", id="true for a number"),
        pytest.param({"size": 10**30}, "size", "maximum of 9", id="far too large"),
        pytest.param({"lines": {}}, "lines", "array", id="object for a list"),
        pytest.param({"lines": [7]}, "lines.0", "object", id="number for a model"),
        pytest.param({"lines": [{"price": 1}]}, "lines.0", '"article"', id="missing inside"),
        pytest.param(
            {"lines": [{"article": 1, "price": 1}]}, "lines.0.article", "string", id="type inside"
        ),
    ],
)
def test_an_objection_names_the_place(changes: JsonObject, place: str, words: str) -> None:
    """Whoever called reads which argument is wrong, and in which way."""
    # HG-16 TS-09 SV-03 SV-04
    objections = order.objections({**ORDER, **changes})

    assert {objection.partition(": ")[0] for objection in objections} == {place}
    assert words in " ".join(objections)


def test_missing_and_unknown_arguments_are_named() -> None:
    """All that is wrong is said at once."""  # PF-03 PF-04
    assert set(order.objections({"colour": "red", "coluor": "red", "ctx": 1})) == {
        "Additional properties are not allowed ('coluor', 'ctx' were unexpected)",
        '"lines" is a required property',
    }


@pytest.mark.parametrize(
    ("made", "flaw"),
    [
        ({"type": "string"}, "its input schema is no object with properties"),
        ({"type": "object", "properties": []}, "its input schema is no object with properties"),
        (
            {"type": "object", "additionalProperties": False},
            "its input schema doesn't list the required arguments",
        ),
        ({"type": "object", "required": []}, "its input schema lets unknown arguments pass"),
        (
            {"type": "object", "required": [], "additionalProperties": True},
            "its input schema lets unknown arguments pass",
        ),
        (
            {
                "type": "object",
                "required": [],
                "additionalProperties": False,
                "properties": {"x": {"title": "X"}},
            },
            "argument 'x' has no type",
        ),
    ],
)
def test_a_schema_with_holes_is_no_contract(made: JsonObject, flaw: str) -> None:
    """A schema that doesn't say what it takes can't be checked."""  # TC-02 SV-01
    assert flaws(made) == (flaw,)


def _enum(choices: int, argument: str = "mode") -> JsonObject:
    names: list[JsonValue] = [f"choice {number}" for number in range(choices)]
    return {
        "type": "object",
        "required": [],
        "additionalProperties": False,
        "properties": {argument: {"type": "string", "enum": names}},
    }


@pytest.mark.parametrize(("choices", "flawed"), [(2, False), (7, False), (8, True), (12, True)])
def test_a_mode_has_few_choices(choices: int, *, flawed: bool) -> None:
    """A tool that does many things by a mode is many tools."""  # PI-03
    found = flaws(_enum(choices))

    assert bool(found) is flawed
    if flawed:
        assert found == (
            f"argument 'mode' chooses between {choices} things to do; make each a tool of its own",
        )


@pytest.mark.parametrize(
    ("argument", "flawed"),
    [
        *((name, True) for name in ("mode", "action", "operation", "op", "command", "kind")),
        ("country", False),
    ],
)
def test_a_mode_has_several_names(argument: str, *, flawed: bool) -> None:
    """Whatever else an argument may be one of a dozen of is a value, and no thing to do."""
    # PI-03
    assert bool(flaws(_enum(12, argument))) is flawed


def test_objections_are_few_and_short() -> None:
    """They quote a value that may have a megabyte, and go into history."""
    check = SchemaCheck({"type": "array", "items": {"type": "integer"}})

    found = check.objections(["x" * 100_000 for _ in range(50)])

    assert len(found) == 20
    assert max(map(len, found)) <= 500


async def packed(box: Box, more: list[Box], loose: LooseBox, some: dict[str, int]) -> str:
    """Take boxes."""
    return f"{box}{more}{loose}{some}"


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        pytest.param({}, True, id="known fields"),
        pytest.param({"box": {"size": 1, "colour": "red"}}, False, id="in an argument"),
        pytest.param({"more": [{"size": 1, "colour": "red"}]}, False, id="in a list"),
        pytest.param({"loose": {"size": 1, "colour": "red"}}, True, id="said to be open"),
        pytest.param({"some": {"any": 1}}, True, id="any names"),
    ],
)
def test_no_unknown_field_passes_at_any_depth(changes: JsonObject, *, valid: bool) -> None:
    """A field that a model made up is told, not dropped, unless the tool takes any."""
    # SV-02 PF-03
    arguments: JsonObject = {
        "box": {"size": 1},
        "more": [{"size": 2}],
        "loose": {"size": 3},
        "some": {},
    }

    assert (SchemaCheck(schema(packed)).objections({**arguments, **changes}) == ()) is valid


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("uuid", "d9428888-122b-11e1-b85c-61cd3cbb3210", "abc"),
        ("date", "2026-11-22", "tomorrow"),
        ("date-time", "2026-11-22T10:00:00Z", "2026-11-22"),
        ("date-time", "2026-11-22T10:00:00", "now"),
        ("time", "10:00", "noon"),
        ("email", "a@b.org", "a at b"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("uri", "https://x.org/a", "x org"),
    ],
)
def test_formats_are_asserted(format_: str, good: str, bad: str) -> None:
    """A format is no comment: what isn't in it doesn't fit."""
    # SV-05
    check = SchemaCheck({"type": "string", "format": format_})

    assert check.objections(good) == ()
    assert check.objections(bad) == (f'"{bad}" is not a "{format_}"',)
