"""An answer in a declared shape is read as data, or goes back with what is wrong with it."""

import json

import pytest
from pydantic import BaseModel, JsonValue, TypeAdapter, field_validator

from holdfast.activities.structured_output import UNKNOWN_SHAPE, validate
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.model import StopCause
from holdfast.tools.schema import output_schema
from tests.builders import a_call, a_reply

VERDICT: JsonObject = {
    "type": "object",
    "properties": {"guilty": {"type": "boolean"}, "years": {"type": "integer", "minimum": 0}},
    "required": ["guilty"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("text", "output"),
    [
        pytest.param('{"guilty": false}', {"guilty": False}, id="as asked"),
        pytest.param(' {"guilty": true, "years": 3}\n', {"guilty": True, "years": 3}, id="space"),
        pytest.param('```json\n{"guilty": true}\n```', {"guilty": True}, id="in a block"),
        pytest.param('```\n{"guilty": true}\n```\n', {"guilty": True}, id="in a plain block"),
    ],
)
def test_an_answer_that_fits_is_data(text: str, output: JsonValue) -> None:
    """JSON that fits the schema is the output, in a block of Markdown too."""
    # SV-06
    reply = validate(a_reply(text=text), VERDICT, {})

    assert (reply.output, reply.objections, reply.text) == (output, (), text)


@pytest.mark.parametrize(
    ("text", "objection"),
    [
        pytest.param("not guilty", "it is no JSON", id="words"),
        pytest.param("", "it is no JSON", id="nothing"),
        pytest.param('{"guilty": NaN}', "it is no JSON", id="a number that JSON lacks"),
        pytest.param('{"guilty": 1e999}', "it is no JSON", id="beyond any number"),
        pytest.param("```json" + "\n" * 50_000 + "{", "it is no JSON", id="nothing but breaks"),
        pytest.param("{}", '"guilty" is a required property', id="a field is missing"),
        pytest.param(
            '{"guilty": true, "years": -1}', "years: -1 is less than the minimum of 0", id="bounds"
        ),
        pytest.param(
            '{"guilty": true, "why": 1}',
            "Additional properties are not allowed ('why' was unexpected)",
            id="a field too many",
        ),
        pytest.param("[]", '[] is not of type "object"', id="another type"),
    ],
)
def test_an_answer_that_does_not_fit_says_why(text: str, objection: str) -> None:
    """Whatever the provider promised of its structured output, it is checked here again."""
    # SV-06 SV-08
    reply = validate(a_reply(text=text), VERDICT, {})

    assert (reply.output, reply.objections) == (None, (objection,))


def test_objections_are_bounded() -> None:
    """They quote what they object to; together with the answer they must fit into history."""
    numbers: JsonObject = {"type": "array", "items": {"type": "integer"}}
    schema: JsonObject = {"type": "object", "properties": {"all": numbers}}
    text = json.dumps({"all": ["x" * 1000] * 1000})

    objections = validate(a_reply(text=text), schema, {}).objections

    assert [len(objection) for objection in objections] == [500] * 20


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "pause"])
def test_only_finished_answers_are_checked(stop: StopCause) -> None:
    """What isn't an answer has no shape."""
    reply = a_reply(text="{", stop=stop)

    assert validate(reply, VERDICT, {}) == reply


def test_words_beside_calls_are_not_checked() -> None:
    """A turn with calls isn't the answer yet."""
    reply = a_reply(a_call(), text="let me see")

    assert validate(reply, VERDICT, {}) == reply


def test_without_a_shape_every_answer_fits() -> None:
    """An agent that declares no output gets words."""
    reply = a_reply(text="42")

    assert validate(reply, None, {}) == reply


class Term(BaseModel):
    years: int

    @field_validator("years")
    @classmethod
    def is_humane(cls, years: int) -> int:
        if years > 20:
            raise ValueError("twenty\n  at most")
        return years


TERM: JsonObject = output_schema("it", Term)
SHAPES = {digest(TERM): TypeAdapter[object](Term)}


def test_validators_object() -> None:
    """What the model of the answer objects to is said on a line, and quotes no value."""
    # SV-06
    said = validate(a_reply(text='```json\n{"years": 99}\n```'), TERM, SHAPES)
    good = validate(a_reply(text='{"years": 9}'), TERM, SHAPES)

    assert (said.objections, said.output) == (("years: Value error, twenty at most",), None)
    assert (good.objections, good.output, good.notes) == ((), {"years": 9}, ())


def test_a_worker_without_the_model_says_so() -> None:
    """A later deployment may have another shape: then the schema alone is checked, with a note."""
    good = validate(a_reply(text='{"years": 99}'), TERM, {})
    bad = validate(a_reply(text='{"years": "many"}'), TERM, {})

    assert (good.output, good.notes) == ({"years": 99}, (UNKNOWN_SHAPE,))
    assert bad.objections == ('years: "many" is not of type "integer"',)
