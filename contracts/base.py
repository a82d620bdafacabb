"""What all contracts have in common, and how a JSON value becomes a digest."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cached_property
from math import inf, isfinite
from typing import Annotated, ClassVar, Self, TypeAlias, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    JsonValue,
    computed_field,
)
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function

JsonObject: TypeAlias = dict[str, JsonValue]
_CoreSchema: TypeAlias = dict[str, object]

_MAX_EXACT = 2**53 - 1
"""Beyond it not every integer is a float."""

_MIN_FRACTION, _MIN_DIGITS = 1e-4, 1e-6
"""Below the first Python writes a power of ten, below the second RFC 8785."""

_MIN_POWER = 1e21
"""From here on both do."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
"""Writes what is plain as RFC 8785 wants it, in C: four times as fast as its library."""

_MARK = "\ud800"
"""Half of a surrogate pair, which stands in no text that can be written."""

_COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset", "dict"})

_NO_SCHEMAS = frozenset({"default", "metadata", "expected"})
"""What an author wrote into a schema of pydantic, which may look like one."""

_set = object.__setattr__
"""Sets what pydantic keeps of a value that nobody else may change."""


def list_core_schemas(schema: object) -> list[_CoreSchema]:
    """List a core schema of pydantic's and all in it, as copies."""
    found: list[_CoreSchema] = []
    _copy_core_schema(schema, found)
    return found


def stop_at_first_flaw(schema: CoreSchema) -> CoreSchema:
    """Return a core schema of pydantic's in which no collection tells more than its first flaw."""
    found: list[_CoreSchema] = []
    copied = _copy_core_schema(schema, found)
    for one in found:
        if one["type"] in _COLLECTIONS:
            one["fail_fast"] = True
    return cast("CoreSchema", copied)


def _copy_core_schema(part: object, found: list[_CoreSchema]) -> object:
    """Copy a core schema, or a part of one, and add all that are *found* in it."""
    if isinstance(part, list | tuple):
        parts = [_copy_core_schema(one, found) for one in cast("Iterable[object]", part)]
        return tuple(parts) if isinstance(part, tuple) else parts
    if not isinstance(part, dict):
        return part
    given = cast("_CoreSchema", part)
    is_schema = isinstance(given.get("type"), str)  # else they are fields, by whatever names
    copied = {
        name: one if is_schema and name in _NO_SCHEMAS else _copy_core_schema(one, found)
        for name, one in given.items()
    }
    if is_schema:
        found.append(copied)
    return copied


class Contract(BaseModel):
    """
    A value that crosses a floor or enters history.

    Unknown fields are ignored: while a deployment rolls, an older worker reads what a newer one
    wrote. Of many values the first that doesn't fit is told, and no other is looked for, unless it
    `tells_all_flaws`, which is for files of one's own.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tells_all_flaws: ClassVar[bool] = False

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[BaseModel], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        return schema if cls.tells_all_flaws else stop_at_first_flaw(schema)

    def copy_with(self, changes: Mapping[str, object]) -> Self:
        """Copy it unchecked: what a contract's own `with_` takes, the type checker has seen."""
        copied = self.__copy__()
        vars(copied).update(changes)
        copied.__pydantic_fields_set__.update(changes)
        return copied

    def __copy__(self) -> Self:
        # Sixty times a step: pydantic's own looks for private and further fields, which none has.
        copied = type(self).__new__(type(self))
        _set(copied, "__dict__", dict(vars(self)))
        _set(copied, "__pydantic_fields_set__", set(self.__pydantic_fields_set__))
        _set(copied, "__pydantic_extra__", None)
        _set(copied, "__pydantic_private__", None)
        return copied


class Digested(Contract):
    """A value that is known by a digest of all its fields, but those that are `undigested`."""

    undigested: ClassVar[frozenset[str]] = frozenset()

    @computed_field
    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that a person judges; a decision may name it (docs/approvals.md)."""
        return digest(self._digest_basis())

    def _digest_basis(self) -> JsonObject:
        return self.model_dump(mode="json", exclude={*self.undigested, "digest"})

    def __copy__(self) -> Self:
        copied = super().__copy__()
        vars(copied).pop("digest", None)  # a copy with changes has another
        return copied


class Inbound(Contract):
    """A value that strangers send: unknown fields are refused, so no typo passes as intent."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AuthoredContract(Contract):
    """Base of values that people write in code, where unknown fields are refused."""

    # Not extra="forbid": what is read from history is made without fields, and may have more.
    def __new__(cls, **fields: object) -> Self:
        known = cls.model_fields
        unknown = next((name for name in fields if name not in known), None)
        if unknown is not None:
            from holdfast.contracts.errors import AppError  # which needs this module

            names = ", ".join(known)
            raise AppError(f"{cls.__name__} has no field {unknown!r} (it has: {names})")
        return super().__new__(cls)


class _IgnoreUnknownFields:
    def __get_pydantic_core_schema__(
        self, inbound: type[Inbound], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        def select_known_fields(value: object) -> object:
            if not isinstance(value, Mapping):
                return value
            given = cast("Mapping[str, object]", value)  # history is JSON
            return {name: field for name, field in given.items() if name in inbound.model_fields}

        return no_info_before_validator_function(select_known_fields, handler(inbound))


InboundT = TypeVar("InboundT", bound=Inbound)
Stored: TypeAlias = Annotated[InboundT, _IgnoreUnknownFields()]
"""An Inbound value in history, where it is a Contract: a newer worker may have written more."""


def canonical_json(value: JsonValue) -> bytes:
    """
    Render JSON so that equal values give equal bytes (RFC 8785).

    Numbers that RFC 8785 can't carry exactly (integers beyond 2^53, NaN, infinities) are written
    as strings, so that every JSON value has a canonical form.
    """
    plain = _PlainValues()
    text = _ENCODER.encode(plain.convert(value))
    if plain.marked and text.count(_MARK) == 2 * plain.marked:
        text = text.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")
    return text.encode()


def digest(value: JsonValue) -> str:
    """Return the SHA-256 of the canonical form, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def repair_surrogates(text: str) -> str:
    """
    Return a text with nothing but whole characters.

    A stream may tear one apart, and JSON may hold half of one. Halves that meet again become what
    they were; one that stays alone can't be written anywhere, and a mark takes its place.
    """
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def repair_surrogates_in(value: JsonValue) -> JsonValue:
    """Return a value with nothing but whole characters in all of its texts."""
    match value:
        case str():
            return repair_surrogates(value)
        case list():
            return [repair_surrogates_in(entry) for entry in value]
        case dict():
            return {
                repair_surrogates(name): repair_surrogates_in(entry)
                for name, entry in value.items()
            }
        case _:
            return value


class _PlainValues:
    """Makes plain values of others: those that the encoder writes as RFC 8785 wants these."""

    def __init__(self) -> None:
        self.marked = 0
        """Texts with a mark at both ends, which are numbers without these and their quotes."""

    def convert(self, value: JsonValue) -> JsonValue:
        # No `match`: each value of each transcript comes by here, and it takes three times longer.
        if value is None or type(value) is str:
            return value
        if isinstance(value, int):
            return value if -_MAX_EXACT <= value <= _MAX_EXACT else str(value)
        if isinstance(value, float):
            return self._convert_float(value)
        if isinstance(value, dict):
            return {name: self.convert(value[name]) for name in _sort_names(value)}
        if isinstance(value, (list, tuple)):
            return [self.convert(entry) for entry in value]
        return value

    def _convert_float(self, value: float) -> JsonValue:
        if value.is_integer() and -_MAX_EXACT <= value <= _MAX_EXACT:
            return int(value)
        size = abs(value)
        if _MIN_FRACTION <= size <= _MAX_EXACT or _MIN_POWER <= size < inf:
            return value
        if not isfinite(value):
            return str(value)
        if size > _MAX_EXACT:
            return int(Decimal(repr(value)))  # a float's digits: as an integer it has others
        self.marked += 1
        text = f"{Decimal(repr(value)):f}" if size >= _MIN_DIGITS else _write_power(value)
        return f"{_MARK}{text}{_MARK}"


def _sort_names(value: JsonObject) -> Iterable[str]:
    """Order the names of an object by their UTF-16."""
    if len(value) < 2:  # noqa: PLR2004
        return value
    if "".join(value).isascii():
        return sorted(value)
    return sorted(value, key=lambda name: name.encode("utf-16-be"))


def _write_power(value: float) -> str:
    """Write a tiny number with no zero before its power of ten."""
    return repr(value).replace("e-0", "e-")
