"""What pydantic knows of a type and a JSON Schema doesn't say: types that no argument can have."""

from collections.abc import Mapping

from pydantic import Secret, SecretBytes, SecretStr, TypeAdapter

from holdfast.contracts.base import list_core_schemas
from holdfast.contracts.errors import AppError

MASKED = (SecretStr, SecretBytes, Secret)
"""Types whose values are written as asterisks, whatever they hold."""


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
