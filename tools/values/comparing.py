"""What a function takes of a call, as JSON that can be compared with that of another call."""

from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import Field as DataclassField
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from itertools import repeat
from typing import NamedTuple, cast

from pydantic import BaseModel, JsonValue, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from holdfast.contracts.base import JsonObject
from holdfast.tools.core_schemas import MASKED, find_certain_classes
from holdfast.tools.values.filling import argument_name
from holdfast.tools.values.members import MemberOrder


def write_values(parsed: BaseModel) -> JsonObject:
    """
    Turn arguments that were read into JSON, under the names of a call, with all defaults.

    A decimal is a number; one with more digits than a number holds stays text, because it would
    become another one. Bytes are the text that they are; those that are none are base64.
    """
    writer = _Writer()
    return {
        field.alias or name: writer.write(getattr(parsed, name)).full
        for name, field in type(parsed).model_fields.items()
    }


def select_distinctive(parsed: BaseModel, written: JsonObject) -> JsonObject:
    """
    Return what arguments say beyond defaults, the same however they were *written*.

    What they don't name says nothing, whatever it was made to be when they were read. Decimals
    have no zeros at their end, and times no zone. Where a value may be of another class it says of
    which it is: that may be all that tells "open" from "close".
    """
    writer, sparse = _Writer(find_certain_classes(type(parsed)), canonical=True), JsonObject()
    for name, field in type(parsed).model_fields.items():
        if name in parsed.model_fields_set:
            key = field.alias or name
            forms = writer.write(getattr(parsed, name), written.get(key))
            if not writer.is_default(type(parsed), name, field, forms):
                sparse[key] = forms.sparse
    return sparse


class _Forms(NamedTuple):
    """A value in full, and without members that have their default."""

    full: JsonValue
    sparse: JsonValue


class _Members(NamedTuple):
    """The fields of a value, which of them a call named, what it said of them, and the values."""

    known: Mapping[str, FieldInfo]
    named: AbstractSet[str]
    said: JsonValue
    values: Iterable[tuple[str, object]]


class _Writer:
    """
    Writes values from the innermost outwards, each once, in both forms at a time.

    What a call said of a value stands beside it, as far as its type leaves that to be seen.
    *canonical* is for what is compared alone, where equal values are written alike, and those of
    other than *certain* classes say of which they are, by a name that no member has.
    """

    def __init__(
        self, certain: frozenset[type[object]] = frozenset(), *, canonical: bool = False
    ) -> None:
        self._certain = certain
        self._canonical = canonical
        self._order = MemberOrder()
        self._defaults: dict[tuple[type[object], str], JsonValue] = {}
        self._fields: dict[type[object], Mapping[str, FieldInfo]] = {}

    def write(self, value: object, said: JsonValue = None) -> _Forms:
        match value:
            case Decimal() if value.is_finite() and Decimal(repr(float(value))) == value:
                return _both(float(value))
            case Decimal() | datetime() | time() if self._canonical:
                return _both(_write_canonical(value))
            case RootModel():
                return self.write(cast("RootModel[object]", value).root, said)
            case set() | frozenset():
                full, sparse = self._write_all(cast("Iterable[object]", value), None)
                return _Forms(self._order.sort(full), self._order.sort(sparse))
            case list() | tuple() | deque():
                elements = cast("Sequence[object]", value)
                alike = isinstance(said, list) and len(said) == len(elements)
                return _Forms(*self._write_all(elements, said if alike else None))
            case dict():
                return self._write_entries(cast("dict[object, object]", value), said)
            case _ if (members := self._find_members(value, said)) is not None:
                return self._write_members(value, members)
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

    def _write_all(
        self, values: Iterable[object], said: JsonValue
    ) -> tuple[list[JsonValue], list[JsonValue]]:
        full, sparse = list[JsonValue](), list[JsonValue]()
        its_own = said if isinstance(said, list) else repeat(None)
        for one, words in zip(values, its_own, strict=False):
            # Numbers are many, and a call for each takes ten times as long at some depths.
            if type(one) is int or type(one) is float:
                full.append(one)
                sparse.append(one)
            else:
                forms = self.write(one, words)
                full.append(forms.full)
                sparse.append(forms.sparse)
        return full, sparse

    def _write_entries(self, value: Mapping[object, object], said: JsonValue) -> _Forms:
        full, sparse = JsonObject(), JsonObject()
        for key, member in value.items():
            name = str(self.write(key).full)
            full[name], sparse[name] = self.write(member, _find_member(said, name))
        return _Forms(full, sparse)

    def _find_members(self, value: object, said: JsonValue) -> _Members | None:
        """Return what a model or a dataclass holds."""
        if isinstance(value, BaseModel):
            return _Members(type(value).model_fields, value.model_fields_set, said, iter(value))
        if not is_dataclass(value) or isinstance(value, type):
            return None
        known = self._read_fields(type(value), fields(value))
        values = ((one.name, getattr(value, one.name)) for one in fields(value))
        return _Members(known, _find_named(known, said), said, values)

    def _write_members(self, value: object, members: _Members) -> _Forms:
        full, sparse = JsonObject(), JsonObject()
        if (kind := type(value)) not in self._certain:
            sparse[""] = f"{kind.__module__}.{kind.__qualname__}"
        for name, member in members.values:
            field = members.known.get(name)
            key = name if field is None else argument_name(name, field)
            forms = self.write(member, _find_member(members.said, key))
            full[name] = forms.full
            if field is None or (
                name in members.named and not self.is_default(type(value), name, field, forms)
            ):
                sparse[name] = forms.sparse
        return _Forms(full, sparse)

    def _read_fields(
        self, kind: type[object], members: tuple[DataclassField[object], ...]
    ) -> Mapping[str, FieldInfo]:
        if kind not in self._fields:
            self._fields[kind] = {one.name: _read_field(one) for one in members}
        return self._fields[kind]


def _find_named(known: Mapping[str, FieldInfo], said: JsonValue) -> AbstractSet[str]:
    """Return the fields of a dataclass that a call named; all where nobody can see that."""
    if not isinstance(said, dict):
        return known.keys()
    return {
        name
        for name, field in known.items()
        if field.is_required() or name in said or argument_name(name, field) in said
    }


def _find_member(said: JsonValue, name: str) -> JsonValue:
    return said.get(name) if isinstance(said, dict) else None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _write_canonical(value: Decimal | datetime | time) -> JsonValue:
    """Write equal values alike, however many zeros or whatever zone they were written with."""
    match value:
        case Decimal() if value.is_finite():
            _, digits, exponent = value.as_tuple()
            kept = "".join(map(str, digits)).rstrip("0")
            moved = cast("int", exponent) + len(digits) - len(kept)
            return f"{'-' * value.is_signed()}{kept}E{moved}"
        case datetime() if value.utcoffset() is not None:
            return str(value - _EPOCH)  # in UTC the first and the last year have no room for it
        case time() if (offset := value.utcoffset()) is not None:
            since = datetime.combine(_EPOCH, value) - _EPOCH.replace(tzinfo=value.tzinfo)
            return f"{(since - offset) % timedelta(days=1)}Z"
        case _:
            return to_jsonable_python(value)


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
