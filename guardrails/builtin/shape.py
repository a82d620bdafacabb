"""`spec_compliance`: an answer has the shape of a JSON Schema or an OpenAPI document."""

import json
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias, Unpack

import jsonschema_rs
from pydantic import InstanceOf, JsonValue
from pydantic_core import from_json

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.contracts.texts import clip_chars, one_line
from holdfast.guardrails.builtin.making import (
    BuiltinOptions,
    build_guardrail,
    builtin,
    run_beside,
)
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    not_applicable,
    passed,
    tripped,
)
from holdfast.guardrails.detectors.code_blocks import find_blocks
from holdfast.guardrails.detectors.openapi import (
    Component,
    build_component_schema,
    find_outside_references,
)
from holdfast.tools.readings import Problem, flaws

_MAX_OBJECTIONS = 10
_MAX_OBJECTION_CHARS = 300
_LINEAR = jsonschema_rs.RegexOptions()

Document: TypeAlias = InstanceOf[JsonObject]
"""Not looked at in depth: YAML has numbers as keys, and the component is what counts."""


@builtin
def spec_compliance(
    *,
    schema: Document | None = None,
    openapi: Document | None = None,
    component: str | None = None,
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """
    Trip on an answer that isn't JSON of a shape.

    The shape is a JSON Schema, or the *component* of an OpenAPI document (3.0 or 3.1). Raises
    AppError where that can't be used; whatever it refers to must be inside of it.
    """
    name = wishes.get("name", "spec_compliance")
    shape = _select_schema(name, schema, openapi, component)
    outside = next(find_outside_references(shape.schema), None)
    if outside is not None:
        raise AppError(
            f"guardrail {name!r}: {outside!r} is outside of the document; put it inside"
        )
    look = _Shape(shape)
    try:
        look.validator()
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        line = one_line(str(error))
        raise AppError(f"guardrail {name!r}: its schema can't be used: {line}") from None
    return build_guardrail("spec_compliance", "output", look, wishes)


def _select_schema(
    name: str, schema: JsonObject | None, openapi: JsonObject | None, component: str | None
) -> Component:
    if openapi is not None and component is not None and schema is None:
        try:
            return build_component_schema(openapi, component)
        except AppError as error:
            raise AppError(f"guardrail {name!r}: {error}") from None
    if schema is not None and openapi is None and component is None:
        return Component(schema, "2020-12")
    raise AppError(f"guardrail {name!r}: give either schema, or openapi and component")


@dataclass(frozen=True)
class _Shape:
    """The shape that an answer must have."""

    component: Component

    def validator(self) -> jsonschema_rs.Validator:
        schema, draft = self.component
        if draft == "4":
            return jsonschema_rs.Draft4Validator(
                schema, validate_formats=True, offline=True, pattern_options=_LINEAR
            )
        return jsonschema_rs.validator_for(
            schema, validate_formats=True, offline=True, pattern_options=_LINEAR
        )

    async def __call__(self, subject: Subject, context: GuardrailContext) -> GuardrailResult:
        if subject.kind != "answer":
            return not_applicable("only an answer has the shape of one")
        try:
            value = await run_beside(context, partial(_parse_value, subject))
        except ValueError:
            return tripped("the answer is no JSON", "answer with nothing but JSON")
        objections = await run_beside(context, partial(self._find_flaws, value))
        if not objections:
            return passed()
        # The model alone reads what quotes its answer.
        rules = dict.fromkeys(clip_chars(flaw.rule, _MAX_OBJECTION_CHARS) for flaw in objections)
        return tripped(
            f"the answer doesn't fit: {'; '.join(rules)}",
            *(clip_chars(flaw.said, _MAX_OBJECTION_CHARS) for flaw in objections),
        )

    def _find_flaws(self, value: JsonValue) -> list[Problem]:
        return list(islice(flaws(self.validator(), self.component.schema, value), _MAX_OBJECTIONS))


def _parse_value(subject: Subject) -> JsonValue:
    """Return an answer as data; raises ValueError where it is none."""
    if subject.data is not None:
        return subject.data
    text = subject.text.strip()
    if text.startswith(("```", "~~~")):
        found = [block for block in find_blocks(subject.text) if block.language in ("", "json")]
        text = found[0].content if len(found) == 1 else text
    value: JsonValue = from_json(text)
    # The other parser lets a number through that is larger than any.
    json.dumps(value, allow_nan=False)
    return value
