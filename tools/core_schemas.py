"""What pydantic knows of a type and a JSON Schema doesn't say: types that no argument can have."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, TypeAdapter

from holdfast.contracts.base import list_core_schemas
from holdfast.contracts.errors import AppError

MASKED = (SecretStr, SecretBytes, Secret)
"""Types whose values are written as asterisks, whatever they hold."""


_CLASSES = ("model", "dataclass")


def require_readable_arguments(tool: str, schema: object) -> None:
    """Raise AppError where nobody but the function could read an argument."""
    for node in list_core_schemas(schema):
        if node["type"] == "generator":
            raise AppError(
                f"tool {tool!r}: an Iterable or Generator among its arguments would be read only "
                "as the function goes through it; use a list"
            )
        if _writes_asterisks(node):
            raise AppError(
                f"tool {tool!r}: a secret type among its arguments hides nothing, because the "
                "model writes them, and conditions and guardrails would read asterisks; use a "
                "str, or ctx.secret() for what nobody may read"
            )


@lru_cache(maxsize=1_000)
def find_certain_classes(kind: type[BaseModel]) -> frozenset[type[object]]:
    """Return the models and dataclasses in place of which nothing else may stand in a value."""
    nodes = list_core_schemas(kind.__pydantic_core_schema__)
    named = {node["ref"]: node for node in nodes if "ref" in node}
    found, choices = set[type[object]](), set[type[object]]()
    for node in nodes:
        if node["type"] in _CLASSES:
            found.add(cast("type[object]", node["cls"]))
        elif node["type"] in {"union", "tagged-union"}:
            choices |= _find_classes(node["choices"], named)
    return frozenset(found - choices)


def _find_classes(part: object, named: Mapping[object, Mapping[str, object]]) -> set[type[object]]:
    """Return the outermost models and dataclasses of a part of a core schema."""
    found, looked_up, left = set[type[object]](), set[object](), [part]
    while left:
        one = left.pop()
        if isinstance(one, list | tuple):
            left.extend(cast("Iterable[object]", one))
        if not isinstance(one, dict):
            continue
        node = cast("Mapping[str, object]", one)
        if node.get("type") in _CLASSES:
            found.add(cast("type[object]", node["cls"]))
        elif node.get("type") != "definition-ref":
            left.extend(node.values())
        elif (name := node["schema_ref"]) not in looked_up:  # types may be defined by themselves
            looked_up.add(name)
            left.append(named[name])
    return found


def _get_serializer(node: Mapping[str, object]) -> object:
    """Return the function that writes the values of a type, if there is one for them alone."""
    return node.get("function") if node["type"] == "function-plain" else None


def _writes_asterisks(node: Mapping[str, object]) -> bool:
    return any(_get_serializer(node) is mask for mask in _MASKS)


# pydantic says of these types nothing else that holds for all of them.
_MASKS = [
    found
    for kind in (SecretStr, SecretBytes, Secret[str])
    for node in list_core_schemas(TypeAdapter[object](kind).core_schema)
    if (found := _get_serializer(node)) is not None
]
