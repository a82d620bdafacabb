"""Whether what a person answers is what the tool that asked promises to return."""

import json
from collections.abc import Iterable
from functools import lru_cache

from pydantic import JsonValue, TypeAdapter, ValidationError

from holdfast.contracts.approvals import JudgeInput, Question, Verdict
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_VALIDATION_ERROR_CHARS
from holdfast.contracts.signals import AnswerSignal, Message
from holdfast.contracts.texts import one_line, shorten
from holdfast.contracts.tools import takes_words
from holdfast.tools.schema import SchemaCheck

_JSON = TypeAdapter[JsonValue](JsonValue)
_MAX_FITTING_CHARS = 200

_KINDS = {
    "array": "a list, as in [...]",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "string": "words",
}


def after_answers(hearing: JudgeInput, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Refuse those answers, of those that were accepted, which the tool couldn't have returned."""
    return tuple(
        _after_answer(message, hearing, verdict)
        for message, verdict in zip(hearing.messages, verdicts, strict=True)
    )


def _after_answer(message: Message, hearing: JudgeInput, verdict: Verdict) -> Verdict:
    if not verdict.accepted or not isinstance(message, AnswerSignal):
        return verdict
    request = next(one for one in hearing.requests if one.request_id == message.request_id)
    reason = find_answer_flaw(request, message.text) if isinstance(request, Question) else None
    if reason is None:
        return verdict
    return Verdict(accepted=False, request_id=message.request_id, reason=reason, code="unreadable")


def find_answer_flaw(request: Question, text: str) -> str | None:
    """Say on one line why an answer isn't one, and what is; null where it fits."""
    schema = request.answer_schema
    if schema is None:
        return None
    value: JsonValue = text
    if not takes_words(schema):
        try:
            value = _read_json(text)
        except ValueError:
            return f"the answer is no JSON; write {describe_fitting(schema)}"
    flaws = _check(json.dumps(schema)).objections(value)
    if not flaws:
        return None
    said = shorten(one_line("; ".join(flaws)), MAX_VALIDATION_ERROR_CHARS)
    return f"the answer doesn't fit: {said}; write {describe_fitting(schema)}"


def describe_fitting(schema: JsonObject) -> str:
    """Say in a few words which answers a schema takes."""
    return shorten(_describe(schema), _MAX_FITTING_CHARS)


def _describe(schema: JsonObject) -> str:
    match schema:
        case {"const": value}:
            return _write(value, schema)
        case {"enum": list(values)}:
            return f"one of {', '.join(_write(value, schema) for value in values)}"
        case {"anyOf": list(ways)} | {"oneOf": list(ways)}:
            return " or ".join(_describe(way) for way in ways if isinstance(way, dict))
        case {"type": "object", "properties": dict(fields)}:
            inside = ", ".join(f"{json.dumps(name)}: ..." for name in fields)
            return f"an object, as in {{{inside}}}"
        case {"type": str(kind)} if kind in _KINDS:
            return _KINDS[kind]
        case _:
            return "JSON that fits the `answer_schema` of the request"


def _write(value: JsonValue, schema: JsonObject) -> str:
    plain = isinstance(value, str) and takes_words(schema)
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


def _read_json(text: str) -> JsonValue:
    """Read JSON as what builds the result does. Raises ValueError for what is none."""

    def refuse(name: str) -> float:
        raise ValueError(name)

    try:
        return _JSON.validate_python(json.loads(text, parse_constant=refuse))
    except (RecursionError, ValidationError):
        raise ValueError("nested too deeply") from None


@lru_cache(maxsize=64)
def _check(schema: str) -> SchemaCheck:
    return SchemaCheck(json.loads(schema), "an answer")
