"""What a call leaves out of its arguments: defaults, written as a call would write them."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import cast, get_type_hints

from pydantic import AliasChoices, BaseModel, JsonValue, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import from_json, to_json, to_jsonable_python

from holdfast.contracts.base import canonical_json


def fill_defaults(written: JsonValue, value: object) -> JsonValue:
    """Return JSON as it was written, with what the *value* that was read from it has beyond it."""
    match written, value:
        case _, RootModel():
            return fill_defaults(written, cast("RootModel[object]", value).root)
        case dict(), dict():
            entries = _entries(cast("dict[object, object]", value))
            return {key: fill_defaults(one, entries.get(key)) for key, one in written.items()}
        case dict(), _ if (members := _members(value)) is not None:
            given = {key: fill_defaults(one, members.get(key)) for key, one in written.items()}
            return given | {
                key: _as_json(one) for key, one in members.items() if key not in written
            }
        case list(), list() | tuple() | deque():
            found = list(cast("Iterable[object]", value))
            if len(found) != len(written):
                return written
            return [fill_defaults(*pair) for pair in zip(written, found, strict=True)]
        case list(), set() | frozenset():
            return _fill_set(written, list(cast("Iterable[object]", value)))
        case _:
            return written


def _fill_set(written: list[JsonValue], found: list[object]) -> JsonValue:
    """Complete the members of a set, of which nobody knows where each was written."""
    said = sorted(map(_as_json, found), key=canonical_json)
    left_out = any(map(_members, found)) and any(one not in said for one in written)
    return said if left_out else written


def _as_json(value: object) -> JsonValue:
    """Write a value so that it is read as what it is."""
    if isinstance(value, RootModel):
        return _as_json(cast("RootModel[object]", value).root)
    if (members := _members(value)) is not None:
        return {key: _as_json(one) for key, one in members.items()}
    match value:
        case dict():
            entries = _entries(cast("dict[object, object]", value))
            return {key: _as_json(one) for key, one in entries.items()}
        case set() | frozenset():
            # Each process has an order of its own; JSON has to have one for all.
            return sorted(map(_as_json, cast("Iterable[object]", value)), key=canonical_json)
        case list() | tuple() | deque():
            return [_as_json(one) for one in cast("Iterable[object]", value)]
        case _:
            return from_json(to_json(value, inf_nan_mode="strings"))


def _entries(value: Mapping[object, object]) -> dict[str, object]:
    return {str(to_jsonable_python(key)): one for key, one in value.items()}


def _members(value: object) -> dict[str, object] | None:
    """Return what a model or a dataclass holds, by the names that a call has for it."""
    if isinstance(value, BaseModel):
        known = type(value).model_fields
    elif is_dataclass(value) and not isinstance(value, type):
        hints = get_type_hints(type(value), include_extras=True)
        known = {
            one.name: FieldInfo.from_annotated_attribute(hints[one.name], one.default)
            for one in fields(value)
            if one.init
        }
    else:
        return None
    return {_key(name, field): getattr(value, name) for name, field in known.items()}


def _key(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        alias = next((one for one in alias.choices if isinstance(one, str)), None)
    return alias if isinstance(alias, str) else name
