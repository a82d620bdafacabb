"""Arguments of many types, some of which can't be read or written: tools, and values for them."""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import (
    AfterValidator,
    AnyUrl,
    Base64Bytes,
    Base64Str,
    Base64UrlBytes,
    BaseModel,
    BeforeValidator,
    ByteSize,
    Json,
    JsonValue,
    PlainSerializer,
    RootModel,
    SecretStr,
    WithJsonSchema,
)
from typing_extensions import TypedDict

from holdfast import Risk, Tool, tool

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB/w=="
"""Base64 of bytes that are no text, with a letter that another alphabet has another one for."""
URL_PICTURE = PICTURE.replace("/", "_")


class Colour(Enum):
    """A closed choice."""

    PAIR = (1, 2)
    BLUE = "blue"


class Blob(BaseModel, frozen=True):
    """A model with a member that is no text, under another name."""

    data: Base64Bytes = b"logo"
    size: int = 0


class Blobs(RootModel[list[Blob]]):
    """A model that is a list."""


@dataclass(frozen=True)
class Page:
    """A dataclass with such a member."""

    data: Base64Bytes = b"logo"


class Pair(NamedTuple):
    """A tuple with such a member."""

    number: int
    data: Base64Bytes


class Folder(TypedDict, total=False):
    """A mapping with such a member."""

    data: Base64Bytes


class Money:
    """A class that nobody can write."""

    def __init__(self, amount: object) -> None:
        self.amount = amount


def raising(error: type[BaseException]) -> Callable[[object], object]:
    """Return a validator that quotes what it was given, as nobody expects it."""

    def read(value: object) -> object:
        raise error(f"can't read {value}")

    return read


def _torn(text: object) -> str:
    return f"{text}\ud800"


_TEXT = WithJsonSchema({"type": "string"})
_BLOB: JsonValue = {"data": PICTURE}

TYPES: dict[str, tuple[object, list[JsonValue]]] = {
    "bytes": (bytes, ["abc", "é", ""]),
    "base64": (Base64Bytes, [PICTURE, "aGk=", "/", "===="]),
    "base64 for addresses": (Base64UrlBytes, [URL_PICTURE, PICTURE]),
    "base64 of a text": (Base64Str, [PICTURE, "aGk="]),
    "list": (list[Base64Bytes], [[PICTURE, "aGk="], []]),
    "set": (set[Base64Bytes], [[PICTURE, "gA=="]]),
    "deque": (deque[Base64Bytes], [[PICTURE]]),
    "sequence": (Sequence[Base64Bytes], [[PICTURE]]),
    "tuple": (tuple[int, Base64Bytes], [[1, PICTURE]]),
    "mapping": (Mapping[str, Base64Bytes], [{"a": PICTURE}]),
    "keys": (dict[Base64Bytes, Blob], [{PICTURE: {}}, {PICTURE: {"size": 1}}]),
    "keys that are dates": (dict[date, int], [{"2026-01-01": 1}]),
    "keys that are tuples": (dict[tuple[int, int], int], [{"1,2": 1}]),
    "keys that are numbers": (dict[Decimal | float, int], [{"1.50": 1, "NaN": 2, "1e999": 3}]),
    "model": (Blob, [_BLOB, {}]),
    "models": (Blobs, [[_BLOB, {}]]),
    "set of models": (set[Blob], [[_BLOB, {}]]),
    "dataclass": (Page, [_BLOB, {}]),
    "set of dataclasses": (frozenset[Page], [[_BLOB, {}]]),
    "named tuple": (Pair, [[1, PICTURE]]),
    "typed dictionary": (Folder, [_BLOB, {}]),
    "optional": (list[Base64Bytes | None], [[PICTURE, None]]),
    "union": (Base64Bytes | Blob | int, [PICTURE, _BLOB, 1]),
    "nested": (dict[str, list[Blob | None]], [{"a": [_BLOB, {}, None]}]),
    "decimal": (Decimal, ["1E+400", "0.1", "NaN", "Infinity", "-0", 10**400, "1E+1000000"]),
    "decimals": (set[Decimal], [["1", "1.0", "1e400"]]),
    "float": (float, [10**400, 1e308, -0.0]),
    "int": (int, [10**400, 2**63, 1e300]),
    "complex": (complex, ["1+2j", "nan+infj"]),
    "date": (date, ["2026-01-01", "0001-01-01"]),
    "moment": (datetime, ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]),
    "duration": (timedelta, ["P1D", "P999999999D", "P1000000000D"]),
    "enum": (Colour, ["blue", [1, 2]]),
    "pattern": (re.Pattern[str], ["a+", "("]),
    "uuid": (UUID, ["12345678-1234-5678-1234-567812345678"]),
    "address": (AnyUrl, ["a:b", "file:///etc/passwd", "http://xn--/"]),
    "network": (IPv4Network, ["10.0.0.0/8"]),
    "path": (Path, ["a\0b", "../x"]),
    "size": (ByteSize, ["1GB", "1e400GB"]),
    "json": (Json[JsonValue], ['{"a": NaN}', "[1e999]", '"\\ud800"', "[" * 300 + "]" * 300]),
    "secret": (Annotated[str, AfterValidator(SecretStr)], ["sesame"]),
    "counter": (Counter[str], [{"a": 1}]),
    "ordered": (OrderedDict[str, Base64Bytes], [{"a": PICTURE}]),
    "anything": (dict[str, Any], [{"a": [1, {"b": None}], "\0": 1e308}]),
    "own, unwritable": (Annotated[object, BeforeValidator(Money), _TEXT], ["sesame"]),
    "own, written": (
        Annotated[object, BeforeValidator(Money), PlainSerializer(lambda one: one.amount), _TEXT],
        ["sesame"],
    ),
    "own, torn": (Annotated[str, AfterValidator(_torn)], ["sesame"]),
    "own, compressed": (Annotated[bytes, AfterValidator(lambda one: one + b"\xff")], ["sesame"]),
    "own, sized": (Annotated[bytes, AfterValidator(bytearray)], ["sesame"]),
    **{
        f"own, {error.__name__}": (Annotated[str, AfterValidator(raising(error))], ["sesame"])
        for error in (ValueError, KeyError, TypeError, RecursionError, OSError, SystemExit)
    },
}
"""Types with values that their schemas take, though not all of them can be read or written."""


def taking(kind: object) -> Tool:
    """Make a tool that takes one argument of a type, and another that has a default."""

    async def take(data: object, page: Page = Page()) -> str:
        """Take some data and a page."""
        return f"{data} {page}"

    take.__annotations__["data"] = kind
    return tool(risk=Risk.WRITE_INTERNAL)(take)
