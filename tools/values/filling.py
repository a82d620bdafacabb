"""What a call leaves out of its arguments: defaults, written as a call would write them."""

import contextlib
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import NamedTuple, cast, get_type_hints

from pydantic import AliasChoices, BaseModel, JsonValue, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import from_json, to_json, to_jsonable_python

from holdfast.contracts.base import canonical_json
from holdfast.contracts.bounds import MAX_DEFAULT_ARGUMENTS_BYTES
from holdfast.contracts.errors import ToolError
from holdfast.tools.values.members import MemberOrder

TOO_MUCH_LEFT_OUT = "what the calls leave out is too large to be filled in: name each argument"

_MIN_VALUE_BYTES = 2
"""Of JSON: a digit and a comma."""


def fill_defaults(written: JsonValue, read: BaseModel) -> JsonValue:
    """
    Return JSON as it was written, with what was *read* from it beyond it.

    Raises where a default can't be written so that it is read as what it is, and ToolError where
    so much was left out that no reply may leave it out.
    """
    try:
        return _Filling().fill(written, _Value(read, None))
    except _UnknownTextError:  # to write everything takes its time, and few arguments need it
        return _Filling().fill(written, _Value(read, _dump(read)))


def _dump(read: BaseModel) -> object:
    with contextlib.suppress(Exception):  # whatever a type's own serializer raises
        return read.model_dump(
            mode="json", by_alias=False, warnings=False, fallback=lambda _: None
        )
    return None


class _UnknownTextError(TypeError):
    """Bytes that no text is read as, or nobody has asked yet which."""


class _Value(NamedTuple):
    """A value that was read, and how its type writes it, where that could be found out."""

    value: object
    dumped: object


_NOTHING = _Value(None, None)


class _Filling:
    """Fills one call in, with no more values than may be filled in."""

    def __init__(self) -> None:
        self._left = MAX_DEFAULT_ARGUMENTS_BYTES // _MIN_VALUE_BYTES
        self._order = MemberOrder()

    def fill(self, written: JsonValue, read: _Value) -> JsonValue:
        match written, read.value:
            case _, RootModel():
                return self.fill(written, _unwrap(read))
            case dict(), dict():
                entries = dict(_entries(read))
                return {
                    key: self.fill(one, entries.get(key, _NOTHING)) for key, one in written.items()
                }
            case dict(), _ if (members := _members(read)) is not None:
                given = {
                    key: self.fill(one, members.get(key, _NOTHING)) for key, one in written.items()
                }
                return given | {
                    key: self._as_json(one) for key, one in members.items() if key not in written
                }
            case list(), list() | tuple() | deque():
                found = _elements(read)
                if len(found) != len(written):
                    return written
                # Others are many, and at some depths a call for each takes ten times as long.
                return [
                    self.fill(one, value) if isinstance(one, dict | list) else one
                    for one, value in zip(written, found, strict=True)
                ]
            case list(), set() | frozenset():
                return self._fill_set(written, _elements(read))
            case _:
                return written

    def _fill_set(self, written: list[JsonValue], found: list[_Value]) -> JsonValue:
        """Complete the members of a set, of which nobody knows where each was written."""
        if not any(map(_members, found)):
            return written
        self._left += _count_values(written)
        said = self._order.sort(map(self._as_json, found))
        complete = {canonical_json(one) for one in said}
        return written if complete.issuperset(map(canonical_json, written)) else said

    def _as_json(self, read: _Value) -> JsonValue:
        """Write a value so that it is read as what it is."""
        if isinstance(read.value, RootModel):
            return self._as_json(_unwrap(read))
        self._left -= 1
        if self._left < 0:
            raise ToolError("invalid_arguments", TOO_MUCH_LEFT_OUT)
        if (members := _members(read)) is not None:
            return {key: self._as_json(one) for key, one in members.items()}
        match read.value:
            case dict():
                return {key: self._as_json(one) for key, one in _entries(read)}
            case set() | frozenset():
                # Each process has an order of its own; JSON has to have one for all.
                return self._order.sort(map(self._as_json, _elements(read)))
            case list() | tuple() | deque():
                return [self._as_json(one) for one in _elements(read)]
            case bytes():
                return _as_text(read)
            case value:
                return from_json(to_json(value, inf_nan_mode="strings"))


def _count_values(written: JsonValue) -> int:
    match written:
        case dict():
            return 1 + sum(map(_count_values, written.values()))
        case list():
            return 1 + sum(map(_count_values, written))
        case _:
            return 1


def _as_text(read: _Value) -> str:
    """Write bytes, which are a text or base64: their type alone knows which."""
    if not isinstance(read.dumped, str):
        raise _UnknownTextError
    return read.dumped


def _unwrap(read: _Value) -> _Value:
    return read._replace(value=cast("RootModel[object]", read.value).root)


def _elements(read: _Value) -> list[_Value]:
    found = list(cast("Iterable[object]", read.value))
    return list(map(_Value, found, _pad(read.dumped, len(found))))


def _entries(read: _Value) -> Generator[tuple[str, _Value]]:
    found = cast("dict[object, object]", read.value)
    known = _as_dict(read.dumped)
    names, values = _pad([*known], len(found)), _pad([*known.values()], len(found))
    for (key, value), name, dumped in zip(found.items(), names, values, strict=True):
        text = _as_text(_Value(key, name)) if isinstance(key, bytes) else to_jsonable_python(key)
        yield str(text), _Value(value, dumped)


def _as_dict(dumped: object) -> dict[str, object]:
    return cast("dict[str, object]", dumped) if isinstance(dumped, dict) else {}


def _pad(dumped: object, count: int) -> list[object]:
    """Return what was written of so many elements: of each nothing, if of another number."""
    known = cast("list[object]", dumped) if isinstance(dumped, list) else []
    return known if len(known) == count else [None] * count


def _members(read: _Value) -> dict[str, _Value] | None:
    """Return what a model or a dataclass holds, by the names that a call has for it."""
    value = read.value
    if isinstance(value, RootModel):
        return None
    if isinstance(value, BaseModel):
        known = type(value).model_fields
    elif is_dataclass(value) and not isinstance(value, type):
        known = _read_fields(type(value))
    else:
        return None
    dumped = _as_dict(read.dumped)
    return {
        argument_name(name, field): _Value(getattr(value, name), dumped.get(name))
        for name, field in known.items()
    }


@cache
def _read_fields(kind: type[object]) -> Mapping[str, FieldInfo]:
    hints = get_type_hints(kind, include_extras=True)
    return {
        one.name: FieldInfo.from_annotated_attribute(hints[one.name], one.default)
        for one in (fields(kind) if is_dataclass(kind) else ())
        if one.init
    }


def argument_name(name: str, field: FieldInfo) -> str:
    """Return what a call names a field."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        alias = next((one for one in alias.choices if isinstance(one, str)), None)
    return alias if isinstance(alias, str) else name
