"""JSON Schemas: made from a signature, checked for what a contract needs, applied to arguments."""

import inspect
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, time
from itertools import islice
from typing import Annotated, Any, get_origin, get_type_hints

import jsonschema_rs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    create_model,
)
from pydantic.errors import PydanticUserError
from pydantic_core import SchemaValidator

from holdfast.contracts.base import JsonObject, stop_at_first_flaw
from holdfast.contracts.bounds import MAX_OBJECTION_CHARS, MAX_OBJECTIONS
from holdfast.contracts.errors import AppError
from holdfast.contracts.texts import clip_chars, one_line
from holdfast.tools import readings
from holdfast.tools.context import ToolContext
from holdfast.tools.core_schemas import require_readable_arguments
from holdfast.tools.readings import AMBIGUOUS
from holdfast.tools.values.two_part import find_short_part

_MODE_NAMES = {"mode", "action", "operation", "op", "command", "kind"}
_MAX_MODES = 7

_FREE_FORM = {
    **dict.fromkeys(("command", "cmd", "shell", "script", "code"), "command"),
    **dict.fromkeys(("sql", "statement"), "statement"),
    **dict.fromkeys(("url", "uri", "endpoint"), "address"),
}
"""Arguments that say by their names what a text in them does, and for that it may be anything."""

_TELLING = {"command", "cmd", "shell", "sql", "url", "uri"}
"""Those that say so as a part of a longer name too: a `postal_code` is no code."""

_NARROWING = {"enum", "const", "pattern"}


class Signature:
    """What a tool takes and gives, as types. Raises AppError where they can't be used."""

    def __init__(
        self,
        name: str,
        arguments: type[BaseModel],
        returns: type[object],
        context_parameter: str | None = None,
    ) -> None:
        self.arguments = arguments
        self.context_parameter = context_parameter
        with translate_definition_errors(name):
            self.returns: TypeAdapter[object] = TypeAdapter(returns)
            # All flaws of a result would be described, for seconds: of its models, too.
            quick = stop_at_first_flaw(self.returns.core_schema)
            self.returns.validator = SchemaValidator(quick, _use_prebuilt=False)
            self.input_schema: JsonObject = _close(
                {"required": [], **self.arguments.model_json_schema(by_alias=True)}
            )
            shown = find_short_part(returns)
            self.is_two_part = shown is not None
            told = self.returns if shown is None else shown
            self.output_schema: JsonObject = told.json_schema(mode="serialization")
        require_readable_arguments(name, self.arguments.__pydantic_core_schema__)

    def values(self, parsed: BaseModel) -> dict[str, object]:
        """Return what the function takes of arguments that were read."""
        return {
            field.alias or name: getattr(parsed, name)
            for name, field in type(parsed).model_fields.items()
        }


def read_signature(name: str, function: Callable[..., object]) -> Signature:
    """Read what a tool's function takes and gives. Raises AppError where that can't be."""
    with translate_definition_errors(name):
        hints = get_type_hints(function, include_extras=True)
    context_parameter: str | None = None
    fields: dict[str, tuple[object, object]] = {}
    for parameter in inspect.signature(function).parameters.values():
        if hints.get(parameter.name) is ToolContext:
            context_parameter = parameter.name
        else:
            _check_parameter(name, parameter, hints)
            # An alias, because a field of a model can't have just any name.
            named = Annotated[hints[parameter.name], Field(alias=parameter.name)]
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[f"argument_{len(fields)}"] = (named, default)
    if hints.get("return", None) is None:
        raise AppError(f"tool {name!r}: say what it returns with a return annotation")
    if hints["return"] in (Any, object):
        raise AppError(f"tool {name!r}: it returns anything at all; say what (or JsonValue)")
    with translate_definition_errors(name):
        arguments = _arguments_model(name, fields)
    returns: type[object] = hints["return"]
    return Signature(name, arguments, returns, context_parameter)


@contextmanager
def translate_definition_errors(name: str) -> Generator[None]:
    """Make one line of whatever keeps a tool from being defined."""
    try:
        yield
    except ValidationError as error:
        raise AppError(f"tool {name!r}: {objections(error)}") from None
    except (PydanticUserError, NameError, TypeError) as error:
        raise AppError(f"tool {name!r}: its types are no JSON: {_reason(error)}") from None


def objections(error: ValidationError) -> str:
    """Say on one line what pydantic objects to, field by field."""
    return "; ".join(lines(error))


def lines(error: ValidationError) -> tuple[str, ...]:
    """Say on a short line for each field what pydantic objects to; its value isn't quoted."""
    return tuple(
        clip_chars(one_line(f"{_place(list(entry['loc']))}{entry['msg']}"), MAX_OBJECTION_CHARS)
        for entry in error.errors(include_url=False, include_input=False)[:MAX_OBJECTIONS]
    )


def _reason(error: Exception) -> str:
    """Say on one line why a type is no JSON, without the link that pydantic adds."""
    return one_line(str(error)).split(" For further information")[0]


def _check_parameter(name: str, parameter: inspect.Parameter, hints: Mapping[str, object]) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise AppError(f"tool {name!r}: name each argument instead of *{parameter.name}")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise AppError(
            f"tool {name!r}: argument {parameter.name!r} must go by its name, without /"
        )
    if parameter.name not in hints:
        raise AppError(f"tool {name!r}: argument {parameter.name!r} has no type; annotate it")


def output_schema(agent: str, shape: type[object]) -> JsonObject:
    """
    Return the schema of an answer in a declared shape; fields that it doesn't have are refused.

    Raises AppError where the shape is no JSON object: providers take nothing else.
    """
    if not _is_type(shape):
        raise AppError(f"agent {agent!r}: its output must be a class: a model or a dataclass")
    try:
        schema = TypeAdapter(shape).json_schema()
    except PydanticUserError as error:
        raise AppError(f"agent {agent!r}: its output is no JSON: {_reason(error)}") from None
    if schema.get("type") != "object":
        raise AppError(f"agent {agent!r}: its output must be an object: a model or a dataclass")
    closed = _close(schema)
    SchemaCheck(closed, f"agent {agent!r}")
    return closed


def _is_type(shape: object) -> bool:
    return isinstance(shape, type) or get_origin(shape) is not None


def _reads(read: Callable[[str], object], shortest: int) -> Callable[[str], bool]:
    def is_one(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return len(text) >= shortest

    return is_one


_FORMATS = {
    "date-time": _reads(datetime.fromisoformat, len("2026-11-22T10")),
    "time": _reads(time.fromisoformat, len("10:00")),
}
"""As pydantic reads what it calls so: JSON Schema would have an offset in each."""


class SchemaCheck:
    """
    Validates JSON against a JSON Schema; compiled once, good for any number of values.

    Patterns take time linear in a text. Raises AppError for a schema that can't be used: such
    patterns look neither ahead nor back, and refer to no group.
    """

    def __init__(self, schema: JsonObject, whose: str = "schema") -> None:
        self._schema = schema
        self._is_plain = readings.is_plain(schema)
        try:
            self._validator = jsonschema_rs.validator_for(
                schema,
                formats=_FORMATS,
                validate_formats=True,
                pattern_options=jsonschema_rs.RegexOptions(),
            )
        except ValueError as error:
            flaw = clip_chars(one_line(str(error)), MAX_OBJECTION_CHARS)
            raise AppError(f"{whose}: its schema can't be used: {flaw}") from None

    def objections(self, value: JsonValue) -> tuple[str, ...]:
        """
        Say what is wrong with a value, one line each; nothing when it is valid.

        The value is quoted there, and may be as large as a model's reply: so they are cut.
        """
        if self.is_ambiguous(value):
            return (AMBIGUOUS,)
        found = readings.flaws(self._validator, self._schema, value)
        return tuple(flaw.said[:MAX_OBJECTION_CHARS] for flaw in islice(found, MAX_OBJECTIONS))

    def is_ambiguous(self, value: JsonValue) -> bool:
        """Whether a value can be read in so many ways that nobody can find the right one soon."""
        if self._is_plain:
            return False
        return readings.readings(self._schema, value, tagged=True).too_many


def flaws(schema: JsonObject) -> tuple[str, ...]:
    """Say what a schema of arguments lacks to be a contract; nothing when it is one."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties", {}), dict):
        return ("its input schema is no object with properties",)
    found: list[str] = []
    if not isinstance(schema.get("required"), list):
        found.append("its input schema doesn't list the required arguments")
    if schema.get("additionalProperties") is not False:
        found.append("its input schema lets unknown arguments pass")
    definitions = _object(schema.get("$defs"))
    for name, entry in _object(schema.get("properties")).items():
        if not isinstance(entry, dict) or not _has_type(entry):
            found.append(f"argument {name!r} has no type")
        elif name in _MODE_NAMES and (choices := _choices(entry, definitions)) > _MAX_MODES:
            found.append(
                f"argument {name!r} chooses between {choices} things to do; "
                "make each a tool of its own"
            )
    return tuple(found)


def find_text_arguments(schema: JsonObject) -> tuple[str, ...]:
    """Return the arguments, of a schema of arguments, that are free text."""
    return tuple(
        name
        for name, entry in _object(schema.get("properties")).items()
        if isinstance(entry, dict)
        and entry.get("type") == "string"
        and not entry.keys() & {"format", "enum", "const"}
    )


def find_warnings(schema: JsonObject, scoped: str | None) -> tuple[str, ...]:
    """
    Say which arguments let a tool do more than can be ruled on; *scoped* is kept in bounds.

    A tool with such arguments works. Nobody can allow one thing that it does and forbid another.
    """
    definitions = _object(schema.get("$defs"))
    found: list[str] = []
    for name, entry in _object(schema.get("properties")).items():
        texts = [one for one in _alternatives(_object(entry), definitions) if _is_any_text(one)]
        if name == scoped:
            continue
        if texts and (thing := _find_free_form(name.casefold())):
            found.append(f"argument {name!r} takes any {thing}: say which with a scope or a type")
        elif name in _MODE_NAMES and (texts or _choices(_object(entry), definitions) > 1):
            found.append(f"argument {name!r} chooses what is done: make each a tool of its own")
        elif _is_identifier(name) and any("maxLength" not in one for one in texts):
            found.append(f"argument {name!r} takes any text: give it a pattern or a length")
    return tuple(found)


def _find_free_form(name: str) -> str | None:
    told = next((word for word in name.split("_") if word in _TELLING), name)
    return _FREE_FORM.get(told)


def _alternatives(entry: JsonObject, definitions: JsonObject) -> Iterator[JsonObject]:
    """Yield the schemas one of which an argument fits: its own, by reference, or of a union."""
    reference, union = entry.get("$ref"), entry.get("anyOf")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        others = {one: schema for one, schema in definitions.items() if one != name}
        yield from _alternatives(_object(definitions.get(name)), others)
    elif isinstance(union, list):
        for one in union:
            yield from _alternatives(_object(one), definitions)
    else:
        yield entry


def _is_any_text(entry: JsonObject) -> bool:
    return entry.get("type") == "string" and not entry.keys() & _NARROWING


def _is_identifier(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id"))


def _arguments_model(name: str, fields: Mapping[str, tuple[object, object]]) -> type[BaseModel]:
    # pydantic's overloads describe literal keyword arguments, not a mapping of them.
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]


def _has_type(entry: JsonObject) -> bool:
    words = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
    return any(word in entry for word in words)


def _choices(entry: JsonObject, definitions: JsonObject) -> int:
    """Count what an argument chooses from: directly, by reference, or as one of several types."""
    enums = [one.get("enum") for one in _alternatives(entry, definitions)]
    return sum(len(enum) for enum in enums if isinstance(enum, list))


def _close(schema: JsonObject) -> JsonObject:
    """Let no object of a schema have fields that it doesn't name."""
    inner = {name: _close_value(value) for name, value in schema.items()}
    return {**inner, "additionalProperties": False} if _is_open(schema) else inner


def _close_value(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return _close(value)
        case list():
            return [_close_value(entry) for entry in value]
        case _:
            return value


def _is_open(schema: JsonObject) -> bool:
    return (
        schema.get("type") == "object"
        and isinstance(schema.get("properties"), dict)
        and "additionalProperties" not in schema
    )


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _place(path: list[str | int]) -> str:
    return f"{'.'.join(str(part) for part in path)}: " if path else ""


def may_be_address(schema: JsonValue) -> bool:
    """Whether an argument takes what leads elsewhere than the same text does as a path."""
    if not isinstance(schema, dict):
        return False
    kinds = schema.get("anyOf") or schema.get("oneOf")
    return schema.get("format") == "uri" or (
        isinstance(kinds, list) and any(map(may_be_address, kinds))
    )
