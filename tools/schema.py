"""JSON Schemas: made from a signature, checked for what a contract needs, applied to arguments."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import islice
from types import TracebackType
from typing import Annotated, cast, get_origin, get_type_hints

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
from pydantic_core import to_jsonable_python

from contracts.base import JsonObject
from contracts.errors import AppError
from tools.context import ToolContext

_MODE_NAMES = {"mode", "action", "operation", "op", "command", "kind"}
_MODE_LIMIT = 7

LONGEST_OBJECTION = 500
"""Characters."""

MOST_OBJECTIONS = 20

_ANYTHING: TypeAdapter[object] = TypeAdapter(object)


class Signature:
    """What a tool's function takes and gives, read once. Raises AppError where that can't be."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        with Defining(name):
            hints = get_type_hints(function, include_extras=True)
        self.context_parameter: str | None = None
        fields: dict[str, tuple[object, object]] = {}
        for parameter in inspect.signature(function).parameters.values():
            if hints.get(parameter.name) is ToolContext:
                self.context_parameter = parameter.name
            else:
                _check_parameter(name, parameter, hints)
                # An alias, because a field of a model can't have just any name.
                named = Annotated[hints[parameter.name], Field(alias=parameter.name)]
                default = ... if parameter.default is parameter.empty else parameter.default
                fields[f"argument_{len(fields)}"] = (named, default)
        if hints.get("return", None) is None:
            raise AppError(f"tool {name!r}: say what it returns with a return annotation")
        with Defining(name):
            self.arguments = _arguments_model(name, fields)
            self.returns: TypeAdapter[object] = TypeAdapter(hints["return"])
            self.input_schema: JsonObject = _closed(
                {"required": [], **self.arguments.model_json_schema(by_alias=True)}
            )
            self.output_schema: JsonObject = self.returns.json_schema(mode="serialization")

    def values(self, arguments: JsonObject) -> dict[str, object]:
        """Turn JSON into what the function takes; raises pydantic's ValidationError."""
        parsed = self.arguments.model_validate(arguments)
        return {
            field.alias or name: getattr(parsed, name)
            for name, field in type(parsed).model_fields.items()
        }


def seen(values: Mapping[str, object]) -> JsonObject:
    """
    Turn what a function takes into JSON that can be compared.

    A decimal is a number; one with more digits than a number holds stays text, because it would
    become another one.
    """
    dumped = cast("dict[str, object]", _ANYTHING.dump_python(values))
    return {name: _comparable(value) for name, value in dumped.items()}


def _comparable(value: object) -> JsonValue:
    match value:
        case Decimal() if value.is_finite() and Decimal(repr(float(value))) == value:
            return float(value)
        case list() | tuple() | set() | frozenset():
            return [_comparable(entry) for entry in cast("Iterable[object]", value)]
        case dict():
            fields = cast("dict[object, object]", value)
            return {
                str(to_jsonable_python(name)): _comparable(entry) for name, entry in fields.items()
            }
        case _:
            return to_jsonable_python(value)


class Defining:
    """Whatever keeps a tool from being defined becomes one line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if isinstance(error, ValidationError):
            raise AppError(f"tool {self._name!r}: {objections(error)}") from None
        if isinstance(error, PydanticUserError | NameError | TypeError):
            raise AppError(
                f"tool {self._name!r}: its types are no JSON: {_reason(error)}"
            ) from None


def objections(error: ValidationError) -> str:
    """Say on one line what pydantic objects to, field by field."""
    return "; ".join(
        f"{'.'.join(str(part) for part in entry['loc'])}: {entry['msg']}"
        for entry in error.errors(include_url=False, include_input=False)
    )


def _reason(error: Exception) -> str:
    """Say on one line why a type is no JSON, without the link that pydantic adds."""
    return " ".join(str(error).split()).split(" For further information")[0]


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
    return _closed(schema)


def _is_type(shape: object) -> bool:
    return isinstance(shape, type) or get_origin(shape) is not None


class SchemaCheck:
    """Validates JSON against a JSON Schema; compiled once, good for any number of values."""

    def __init__(self, schema: JsonObject) -> None:
        self._validator = jsonschema_rs.validator_for(schema)

    def objections(self, value: JsonValue) -> tuple[str, ...]:
        """
        Say what is wrong with a value, one line each; nothing when it is valid.

        The value is quoted there, and may be as large as a model's reply: so they are cut.
        """
        return tuple(
            f"{_place(error.instance_path)}{error.message}"[:LONGEST_OBJECTION]
            for error in islice(self._validator.iter_errors(value), MOST_OBJECTIONS)
        )


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
        if not isinstance(entry, dict) or not _is_typed(entry):
            found.append(f"argument {name!r} has no type")
        elif name in _MODE_NAMES and (choices := _choices(entry, definitions)) > _MODE_LIMIT:
            found.append(
                f"argument {name!r} chooses between {choices} things to do; "
                "make each a tool of its own"
            )
    return tuple(found)


def _arguments_model(name: str, fields: Mapping[str, tuple[object, object]]) -> type[BaseModel]:
    # pydantic's overloads describe literal keyword arguments, not a mapping of them.
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]


def _is_typed(entry: JsonObject) -> bool:
    words = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
    return any(word in entry for word in words)


def _choices(entry: JsonObject, definitions: JsonObject) -> int:
    """Count what an argument chooses from: directly, by reference, or as one of several types."""
    reference = entry.get("$ref")
    if isinstance(reference, str):
        return _choices(_object(definitions.get(reference.rpartition("/")[2])), definitions)
    alternatives = entry.get("anyOf")
    if isinstance(alternatives, list):
        return sum(_choices(_object(one), definitions) for one in alternatives)
    enum = entry.get("enum")
    return len(enum) if isinstance(enum, list) else 0


def _closed(schema: JsonObject) -> JsonObject:
    """Let no object of a schema have fields that it doesn't name."""
    inner = {name: _closed_value(value) for name, value in schema.items()}
    return {**inner, "additionalProperties": False} if _is_open(schema) else inner


def _closed_value(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return _closed(value)
        case list():
            return [_closed_value(entry) for entry in value]
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
