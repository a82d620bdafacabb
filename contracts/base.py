"""What all contracts have in common, and how a JSON value becomes a digest."""

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Annotated, ClassVar, Self, TypeAlias, TypeVar, cast

import rfc8785
from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, JsonValue, computed_field
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function

JsonObject: TypeAlias = dict[str, JsonValue]

_MAX_SAFE_INTEGER = 2**53 - 1

_MIN_PLAIN_FRACTION = 1e-4
"""Smaller ones Python writes with an exponent, and RFC 8785 doesn't."""

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
"""Writes what is plain as RFC 8785 wants it, in C: four times as fast."""

_set = object.__setattr__
"""Sets what pydantic keeps of a value that nobody else may change."""


class Contract(BaseModel):
    """
    A value that crosses a floor or enters history.

    Unknown fields are ignored: while a deployment rolls, an older worker reads what a newer one
    wrote.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

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
    with suppress(_NotPlain, UnicodeEncodeError):
        return _ENCODER.encode(_to_plain(value)).encode()
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError:
        return rfc8785.dumps(_stringify_inexact(value))


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


class _NotPlain(ValueError):
    """The encoder would write it otherwise than RFC 8785 wants it, or sort it otherwise."""


def _to_plain(value: JsonValue) -> JsonValue:
    """
    Return a value with whole numbers for fractions that are whole, as RFC 8785 writes them.

    Raises _NotPlain for keys that don't sort alike everywhere, and for large and tiny numbers. No
    `match`: each value of each transcript comes by here, and that took three times as long.
    """
    if value is None or type(value) is str:
        return value
    if isinstance(value, dict):
        if "".join(value).isascii():
            return {name: _to_plain(entry) for name, entry in value.items()}
    elif isinstance(value, list):
        return [_to_plain(entry) for entry in value]
    elif isinstance(value, int):
        if abs(value) <= _MAX_SAFE_INTEGER:
            return value
    elif isinstance(value, float):
        if value.is_integer() and abs(value) <= _MAX_SAFE_INTEGER:
            return int(value)
        if _MIN_PLAIN_FRACTION <= abs(value) < _MAX_SAFE_INTEGER:
            return value
    raise _NotPlain


def _stringify_inexact(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: _stringify_inexact(entry) for key, entry in value.items()}
        case list():
            return [_stringify_inexact(entry) for entry in value]
        case int() if abs(value) > _MAX_SAFE_INTEGER:
            return str(value)
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value
