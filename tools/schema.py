"""JSON Schemas: made from a signature, checked for what a contract needs, applied to arguments."""

import inspect
from collections.abc import Callable, Mapping
from typing import get_type_hints

import jsonschema_rs
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from pydantic.fields import FieldInfo

from contracts.base import JsonObject
from contracts.errors import AppError
from tools.context import ToolContext

_MODE_NAMES = {"mode", "action", "operation", "op", "command", "kind"}
_MODE_LIMIT = 7


class Signature:
    """What a tool's function takes and gives, read once."""

    def __init__(self, name: str, function: Callable[..., object]) -> None:
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, tuple[object, object]] = {}
        self.context_parameter: str | None = None
        for parameter in inspect.signature(function).parameters.values():
            hint = hints.get(parameter.name)
            if hint is None:
                raise AppError(
                    f"tool {name!r}: argument {parameter.name!r} has no type; annotate it"
                )
            if hint is ToolContext:
                self.context_parameter = parameter.name
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise AppError(f"tool {name!r}: name each argument instead of *{parameter.name}")
            required = parameter.default is parameter.empty
            fields[parameter.name] = (hint, FieldInfo() if required else parameter.default)
        if hints.get("return", None) is None:
            raise AppError(f"tool {name!r}: say what it returns with a return annotation")
        self.arguments = _arguments_model(name, fields)
        self.returns: TypeAdapter[object] = TypeAdapter(hints["return"])

    def input_schema(self) -> JsonObject:
        """Return the schema of the arguments: no unknown ones, required ones listed."""
        return {"required": [], **self.arguments.model_json_schema()}

    def output_schema(self) -> JsonObject:
        """Return the schema of the result."""
        return self.returns.json_schema(mode="serialization")


class ArgumentCheck:
    """Validates arguments against a JSON Schema; compiled once, good for any number of calls."""

    def __init__(self, schema: JsonObject) -> None:
        self._validator = jsonschema_rs.validator_for(schema)

    def objections(self, arguments: JsonObject) -> tuple[str, ...]:
        """Say what is wrong with the arguments, one line each; nothing when they are valid."""
        return tuple(
            f"{_place(error.instance_path)}{error.message}"
            for error in self._validator.iter_errors(arguments)
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
    properties = schema.get("properties")
    for name, entry in (properties if isinstance(properties, dict) else {}).items():
        if not isinstance(entry, dict) or not _is_typed(entry):
            found.append(f"argument {name!r} has no type")
        elif name in _MODE_NAMES and _choices(entry) > _MODE_LIMIT:
            found.append(
                f"argument {name!r} chooses between {_choices(entry)} things to do; "
                "make each a tool of its own"
            )
    return tuple(found)


def _arguments_model(name: str, fields: Mapping[str, tuple[object, object]]) -> type[BaseModel]:
    # pydantic's overloads describe literal keyword arguments, not a mapping of them.
    return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)  # pyright: ignore[reportCallIssue, reportArgumentType, reportUnknownVariableType]


def _is_typed(entry: JsonObject) -> bool:
    words = ("type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref")
    return any(word in entry for word in words)


def _choices(entry: JsonObject) -> int:
    enum = entry.get("enum")
    return len(enum) if isinstance(enum, list) else 0


def _place(path: list[str | int]) -> str:
    return f"{'.'.join(str(part) for part in path)}: " if path else ""
