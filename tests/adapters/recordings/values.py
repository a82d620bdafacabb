"""JSON values as they come: of any shape, so every look inside asks first."""

from typing import Any, TypeAlias, TypeGuard

Value: TypeAlias = Any
Body: TypeAlias = dict[str, Value]


def is_object(value: object) -> TypeGuard[Body]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Value]]:
    return isinstance(value, list)


def fields(value: object) -> Body:
    """An object's fields; what is no object has none."""
    return value if is_object(value) else {}


def entries(value: object) -> list[Body]:
    """A list's objects; what is no list has none."""
    return list(filter(is_object, value)) if is_list(value) else []
