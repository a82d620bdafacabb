"""What a function takes of a call, as JSON that can be compared with that of another call."""

from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import Field as DataclassField
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import NamedTuple, cast

from pydantic import BaseModel, JsonValue, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from holdfast.contracts.base import JsonObject
from holdfast.tools.core_schemas import MASKED
from holdfast.tools.values.members import MemberOrder


class Comparable(NamedTuple):
    """Arguments in full, and what of them says more than defaults."""

    values: JsonObject
    distinctive: JsonObject


def compare(parsed: BaseModel) -> Comparable:
    """
    Turn arguments that were read into JSON that can be compared, under the names of a call.

    A decimal is a number; one with more digits than a number holds stays text, because it would
    become another one. Bytes are the text that they are; those that are none are base64.
    """
    writer, full, sparse = _Writer(), JsonObject(), JsonObject()
    for name, field in type(parsed).model_fields.items():
        forms = writer.write(getattr(parsed, name))
        full[field.alias or name] = forms.full
        if not writer.is_default(type(parsed), name, field, forms):
            sparse[field.alias or name] = forms.sparse
    return Comparable(full, sparse)


class _Forms(NamedTuple):
    """A value in full, and without members that have their default."""

    full: JsonValue
    sparse: JsonValue


class _Writer:
    """Writes values from the innermost outwards, each once, in both forms at a time."""

    def __init__(self) -> None:
        self._order = MemberOrder()
        self._defaults: dict[tuple[type[object], str], JsonValue] = {}
        self._fields: dict[type[object], Mapping[str, FieldInfo]] = {}

    def write(self, value: object) -> _Forms:
        match value:
            case Decimal() if value.is_finite() and Decimal(repr(float(value))) == value:
                return _both(float(value))
            case RootModel():
                return self.write(cast("RootModel[object]", value).root)
            case BaseModel():
                return self._write_members(value, type(value).model_fields, iter(value))
            case set() | frozenset():
                full, sparse = self._write_all(cast("Iterable[object]", value))
                return _Forms(self._order.sort(full), self._order.sort(sparse))
            case list() | tuple() | deque():
                return _Forms(*self._write_all(cast("Iterable[object]", value)))
            case dict():
                return self._write_entries(cast("dict[object, object]", value))
            case _ if is_dataclass(value) and not isinstance(value, type):
                members = ((one.name, getattr(value, one.name)) for one in fields(value))
                return self._write_members(
                    value, self._read_fields(type(value), fields(value)), members
                )
            case bytes() | bytearray():
                return _both(_text_or_base64(value))
            case _ if isinstance(value, MASKED):
                raise TypeError("what is written as asterisks can't be compared")
            case _:
                return _both(to_jsonable_python(value))

    def is_default(self, owner: type[object], name: str, field: FieldInfo, forms: _Forms) -> bool:
        """Whether a call that leaves an argument out says the same."""
        if field.is_required() or field.default_factory_takes_validated_data:
            return False
        if field.default_factory is not None:
            return self._write_default(field) == forms.full
        if (owner, name) not in self._defaults:
            self._defaults[owner, name] = self._write_default(field)
        return self._defaults[owner, name] == forms.full

    def _write_default(self, field: FieldInfo) -> JsonValue:
        return self.write(field.get_default(call_default_factory=True)).full

    def _write_all(self, values: Iterable[object]) -> tuple[list[JsonValue], list[JsonValue]]:
        full, sparse = list[JsonValue](), list[JsonValue]()
        for one in values:
            # Numbers are many, and a call for each takes ten times as long at some depths.
            if type(one) is int or type(one) is float:
                full.append(one)
                sparse.append(one)
            else:
                forms = self.write(one)
                full.append(forms.full)
                sparse.append(forms.sparse)
        return full, sparse

    def _write_entries(self, value: Mapping[object, object]) -> _Forms:
        full, sparse = JsonObject(), JsonObject()
        for key, member in value.items():
            name, forms = str(self.write(key).full), self.write(member)
            full[name], sparse[name] = forms
        return _Forms(full, sparse)

    def _write_members(
        self,
        value: object,
        known: Mapping[str, FieldInfo],
        members: Iterable[tuple[str, object]],
    ) -> _Forms:
        full, sparse = JsonObject(), JsonObject()
        for name, member in members:
            forms = self.write(member)
            full[name] = forms.full
            if name not in known or not self.is_default(type(value), name, known[name], forms):
                sparse[name] = forms.sparse
        return _Forms(full, sparse)

    def _read_fields(
        self, kind: type[object], members: tuple[DataclassField[object], ...]
    ) -> Mapping[str, FieldInfo]:
        if kind not in self._fields:
            self._fields[kind] = {one.name: _read_field(one) for one in members}
        return self._fields[kind]


def _both(value: JsonValue) -> _Forms:
    return _Forms(value, value)


def _text_or_base64(data: bytes | bytearray) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()


def _read_field(member: DataclassField[object]) -> FieldInfo:
    """Read what a dataclass says of a member, by its own words or by pydantic's."""
    written = member.default if isinstance(member.default, FieldInfo) else member
    return FieldInfo.from_annotated_attribute(object, written)
