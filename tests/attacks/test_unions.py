"""Attacks by ambiguity: a value that is read more often with each level, or by each loop."""

from __future__ import annotations

import cProfile
import json
import pstats
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue, TypeAdapter

from holdfast import Risk, tool
from holdfast.activities.structured_output import validate
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.errors import ToolError
from holdfast.guardrails.builtin import spec_compliance
from holdfast.testing import call
from holdfast.tools.readings import AMBIGUOUS, MAX_READINGS, UNEXPLAINED, is_plain, readings
from holdfast.tools.schema import SchemaCheck, output_schema
from tests.activities.looking import answer, looked
from tests.builders import a_reply
from tests.memory.runs import MemoryRuns
from tests.sample import scripted, told

LISTS: JsonObject = {
    "type": "array",
    "items": {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "integer"}]},
}

DEPTH = 12
"""Seconds for who reads it all the same; each level more takes two to three times as long."""


class Not(BaseModel):
    """What a filter doesn't find."""

    arg: Not | Neg | Leaf
    op: Literal["not"]


class Neg(BaseModel):
    """The same in other words."""

    arg: Not | Neg | Leaf
    op: Literal["neg"]


class Leaf(BaseModel):
    """A name."""

    name: str


class TaggedNot(BaseModel):
    """What a filter with tags doesn't find."""

    arg: Tagged
    op: Literal["not"]


class TaggedNeg(BaseModel):
    """The same in other words."""

    arg: Tagged
    op: Literal["neg"]


class TaggedLeaf(BaseModel):
    """A name."""

    name: str
    op: Literal["leaf"]


Tagged = Annotated[TaggedNot | TaggedNeg | TaggedLeaf, Field(discriminator="op")]


class Node(BaseModel):
    """A tree."""

    children: list[Node] = []
    data: JsonValue = None


class Filter(BaseModel):
    """An answer that is a filter."""

    where: Not | Neg | Leaf


@tool(risk=Risk.READ_ONLY)
async def find(where: Not | Neg | Leaf) -> str:
    """Find records by a filter."""
    return f"found {type(where).__name__}"


@tool(risk=Risk.READ_ONLY)
async def find_tagged(where: Tagged) -> str:
    """Find records by a filter with tags."""
    return f"found {type(where).__name__}"


@tool(risk=Risk.READ_ONLY)
async def find_several(where: list[Not | Neg | Leaf]) -> str:
    """Find records by several filters."""
    return f"found {len(where)}"


@tool(risk=Risk.READ_ONLY)
async def draw(tree: Node) -> str:
    """Draw a tree on a page."""
    return f"drew {len(tree.children)}"


NAMED: JsonObject = {
    "not": {"$ref": "#nothing"},
    "definitions": {"Nothing": {"$anchor": "nothing", "const": "nothing"}},
}
"""A reference by a name, which only the library can follow."""


def negated(leaf: JsonValue, depth: int) -> JsonValue:
    for _ in range(depth):
        leaf = {"arg": leaf, "op": "neg"}
    return leaf


@pytest.mark.parametrize("leaf", [{"name": "a"}, {"name": 1}], ids=["fits", "doesn't fit"])
def test_what_can_be_read_in_too_many_ways_is_objected_to(leaf: JsonValue) -> None:
    """Nobody begins to read it: neither by the schema, nor to make what the function takes."""
    arguments: JsonObject = {"where": negated(leaf, DEPTH)}

    assert find.objections(arguments) == (AMBIGUOUS,)
    with pytest.raises(ToolError, match="it can be read in too many ways"):
        find.values(arguments)


def test_the_readings_of_a_deep_value_are_counted_in_no_time() -> None:
    """They are more than anybody could do, and counting them takes a step for each level."""
    arguments: JsonObject = {"where": negated({"name": "a"}, 90)}

    counted = readings(find.contract.input_schema, arguments, tagged=True)

    assert counted.all > 2**90
    assert counted.once < MAX_READINGS


@pytest.mark.slow
def test_an_ordinary_filter_is_read() -> None:
    """A few levels are fine, many filters beside each other too, and what is wrong is told."""
    few: JsonObject = {"where": negated({"name": "a"}, 8)}
    many: JsonObject = {"where": [negated({"name": "a"}, 1)] * 10_000}

    assert find.objections(few) == ()
    assert find.values(few) == few
    assert find_several.objections(many) == ()
    assert find_several.values(many) == many
    [objection] = find.objections({"where": negated({"name": 1}, 2)})
    assert objection.startswith("where: ")
    assert "is not valid under any of the schemas" in objection


def test_tags_make_a_value_plain() -> None:
    """A union whose tag says which type it is can be nested as deeply as one likes."""
    arguments: JsonObject = {"where": negated({"name": "a", "op": "leaf"}, 60)}

    assert find_tagged.objections(arguments) == ()
    assert find_tagged.values(arguments) == arguments
    wrong: JsonObject = {"where": negated({"name": 1, "op": "leaf"}, DEPTH)}
    assert find_tagged.objections(wrong) == (UNEXPLAINED,)


def test_what_is_no_union_is_plain() -> None:
    """A tree may be deep, and data be anything."""
    data: JsonValue = [{"a": [None, 1, "b"]} for _ in range(1_000)]
    tree: JsonValue = {"data": data}
    for _ in range(60):
        tree = {"children": [tree]}

    assert draw.objections({"tree": tree}) == ()


NUMBER: JsonObject = {"type": "integer"}
RECORD: JsonObject = {"properties": {"a": NUMBER}}


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"anyOf": [RECORD]}, id="any"),
        pytest.param({"oneOf": [RECORD]}, id="one"),
        pytest.param({"allOf": [RECORD]}, id="all"),
        pytest.param({"not": RECORD}, id="not"),
        pytest.param({"if": RECORD}, id="if"),
        pytest.param({"$ref": "#/$defs/record", "$defs": {"record": RECORD}}, id="reference"),
        pytest.param({"$dynamicRef": "#record"}, id="dynamic reference"),
        pytest.param({"$recursiveRef": "#"}, id="recursive reference"),
        pytest.param({"dependentSchemas": {"a": RECORD}}, id="dependent"),
        pytest.param({"dependencies": {"a": RECORD}}, id="dependencies"),
        pytest.param({"patternProperties": {"a": NUMBER}}, id="pattern"),
        pytest.param({"unevaluatedProperties": NUMBER}, id="other properties"),
        pytest.param({"items": NUMBER, "contains": NUMBER}, id="contains"),
        pytest.param({"items": NUMBER, "unevaluatedItems": NUMBER}, id="other items"),
        pytest.param({"items": NUMBER, "additionalItems": NUMBER}, id="additional items"),
    ],
)
def test_no_schema_that_has_a_part_read_twice_is_plain(more: JsonObject) -> None:
    """Of a plain one nothing is counted."""
    schema: JsonObject = {**RECORD, **more}
    values: list[JsonValue] = [{"a": 1}, [1]]
    counted = [readings(schema, value, tagged=True) for value in values]

    assert is_plain(RECORD)
    assert any(each.all > each.once for each in counted)
    assert not is_plain(schema)


def test_what_depends_on_a_field_is_read_with_it() -> None:
    """An older word for it, which the library still knows."""
    twice: JsonObject = {"properties": {"arg": {"$ref": "#"}}}
    check = SchemaCheck({**twice, "dependencies": {"arg": twice}})

    assert check.objections(negated(1, 18)) == (AMBIGUOUS,)


def test_no_flood_of_flaws_is_written_out() -> None:
    """All of them would be described, though twenty are kept."""
    wrong: list[JsonValue] = [{"name": 1}]

    assert len(find_several.objections({"where": wrong * 25})) == 20
    assert find_several.objections({"where": wrong * 10_000}) == (UNEXPLAINED,)
    large: JsonObject = {"name": 1, "more": "a" * 200_000}
    assert find.objections({"where": negated(large, 6)}) == (UNEXPLAINED,)


def test_an_ambiguous_answer_goes_back() -> None:
    """So it is with an answer in a declared shape."""
    schema = output_schema("it", Filter)
    said = json.dumps({"where": negated({"name": 1}, DEPTH)})

    reply = validate(a_reply(text=said), schema, {digest(schema): TypeAdapter(Filter)})

    assert reply.objections == (AMBIGUOUS,)


@pytest.mark.parametrize(
    ("anchor", "depth"), [pytest.param({}, DEPTH, id="deep"), pytest.param(NAMED, 1, id="unknown")]
)
async def test_a_guardrail_describes_no_flood(anchor: JsonObject, depth: int) -> None:
    """It finds that an answer doesn't fit, and says no more where that may take long."""
    schema = {**find.contract.input_schema, **anchor}
    said = json.dumps({"where": negated({"name": 1}, depth)})

    verdict = await looked(spec_compliance(schema=schema), answer(said))

    assert verdict.reason == f"the answer doesn't fit: {UNEXPLAINED}"


async def test_a_guardrail_counts_readings_beside_the_loop() -> None:
    """To count those of an answer of half a megabyte takes a second, in which nobody is alive."""
    said = json.dumps([{"wrong": 1}] * 1_000)
    with cProfile.Profile() as profile:  # of the loop's own thread
        verdict = await looked(spec_compliance(schema=LISTS), answer(said))
    done = pstats.Stats(profile).get_stats_profile().func_profiles

    assert verdict.tripwire_triggered
    assert "readings" not in done


async def test_an_ambiguous_call_is_refused_and_the_run_goes_on(memory_runs: MemoryRuns) -> None:
    """The model reads why, and its worker was never busy with it."""
    first = call("find", where=negated({"name": 1}, DEPTH))
    async with memory_runs.working(scripted([first, told], tools=(find,))):
        run = await memory_runs.start("it")
        await run.result()
        failure = await run.failure()

    assert (failure.type, failure.reason) == ("invalid_arguments", AMBIGUOUS)
