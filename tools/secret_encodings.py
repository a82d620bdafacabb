"""What of a known secret is secret by itself, and the forms in which it may stand in a text."""

import base64
import html
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from string import ascii_lowercase, ascii_uppercase, digits, hexdigits
from typing import NamedTuple
from urllib.parse import quote, quote_plus, urlsplit

from pydantic import JsonValue

from holdfast.tools.pieces import Needle
from holdfast.tools.views import QUOTATION_MARK, bytewise, unescape_stepwise, unite_marks

MIN_SECRET_CHARS = 8
"""Characters; anything shorter stands in innocent words too."""

_LONG_LINE = 32
_PIECE, _PIECE_OF_BASE64, _PIECE_OF_HEX = 11, 15, 22
"""Characters of a form that no innocent text has by chance."""

_MAX_PARTIAL_MATCH_CHARS = 2_000
_SIGNS = frozenset("'\"`\\*()\0")
_SCHEMES = frozenset({"basic", "bearer", "token"})
_SECRET_FIELD_WORDS = ("pass", "secret", "token", "key", "credential")

_IN_HEX = frozenset(hexdigits + "-:")

_AS_UU = str.maketrans(
    ascii_uppercase + ascii_lowercase + digits + "+/", "".join(map(chr, range(32, 96)))
)


class SecretEncodings(NamedTuple):
    """The forms of secrets, by the reading of a text in which each can be found."""

    plain: frozenset[Needle]
    quoted: frozenset[Needle]
    hex: frozenset[Needle]
    base64: frozenset[Needle]
    in_groups: frozenset[Needle]
    """What stands in a text as it is, and has signs that nobody quotes for it."""

    @property
    def have_signs(self) -> bool:
        """Whether any has what a language doubles, or writes as a number, to quote it."""
        forms = (needle.text for needle in (*self.plain, *self.quoted))
        return any(not form.isascii() or not _SIGNS.isdisjoint(form) for form in forms)


_QUOTED: tuple[Callable[[str], str], ...] = (
    lambda value: json.dumps(value)[1:-1],
    lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    lambda value: repr(value)[1:-1],
    html.escape,
    lambda value: html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
    lambda value: quote(_bytes(value)),
    lambda value: quote_plus(_bytes(value)),
    lambda value: quote(_bytes(value), safe=""),
    lambda value: value.replace('"', '""'),
    lambda value: value.replace("'", "''"),
    lambda value: shlex.quote(value)[1:-1],
)
"""How texts quote others: below base64 and hex nothing undoes that."""


def encode_secrets(secrets: Iterable[str]) -> SecretEncodings:
    """Return every usual form of secrets: themselves, encoded once, and encoded twice."""
    plain: set[Needle] = set()
    quoted: set[Needle] = set()
    numbers: set[Needle] = set()
    letters: set[Needle] = set()
    groups: set[Needle] = set()
    for value in secrets:
        whole = not _can_match_partially(value)
        content = _bytes(value)
        for text in unescape_stepwise(value):
            for form in (text, bytewise(text)):
                plain.add(_needle(form, _PIECE, whole=whole))
                plain.add(_needle(form.replace(" ", "+"), _PIECE, whole=whole))
                marked = unite_marks(form)
                if QUOTATION_MARK in marked and len(marked) >= MIN_SECRET_CHARS:
                    quoted.add(_needle(marked, _PIECE, whole=whole))
        numbers.add(_needle(content.hex(), _PIECE_OF_HEX, whole=whole))
        letters.update(_needle(core, _PIECE_OF_BASE64, whole=whole) for core in _cores(content))
        groups.update(
            _needle(one, _PIECE_OF_BASE64, whole=whole) for one in _write_groups(content)
        )
        if said := _bytes_of_hex(value):
            numbers.add(_needle(said.hex(), _PIECE, whole=whole))
            cores = _cores(said) if len(said) >= MIN_SECRET_CHARS else ()
            letters.update(_needle(core, _PIECE_OF_BASE64, whole=whole) for core in cores)
        for inner in _encoded_once(value) - {content}:
            numbers.add(_needle(inner.hex(), _PIECE_OF_HEX, whole=True))
            letters.update(_needle(core, _PIECE_OF_BASE64, whole=True) for core in _cores(inner))
    return SecretEncodings(*map(frozenset, (plain, quoted, numbers, letters, groups)))


def parts(value: str) -> frozenset[str]:
    """
    Return a secret with what of it is secret by itself.

    That is: each long line of a key file, the password of an address, the value of a header
    and what stands behind its scheme, the secret fields of a JSON document; and each in both
    cases where its letters have one: the other tells as much.
    """
    lines = [line.strip() for line in value.splitlines()]
    found = {value, _password(value), *_secret_fields(_read(value))}
    found.update(line for line in lines if len(line) >= _LONG_LINE and len(line.split()) == 1)
    headers = [value.strip(), *map(_value_of_header, lines)]
    found.update(headers, map(_without_scheme, headers))
    cased = (form for part in found for form in _in_each_case(part))
    return frozenset(form for form in cased if len(form) >= MIN_SECRET_CHARS)


def _can_match_partially(value: str) -> bool:
    """Of a document or an address a piece may be any words; `parts` has what is secret of it."""
    return (
        len(value) <= _MAX_PARTIAL_MATCH_CHARS
        and "\n" not in value
        and "://" not in value
        and not isinstance(_read(value), dict | list)
    )


def _in_each_case(value: str) -> frozenset[str]:
    small, large = value.lower(), value.upper()
    return frozenset({value, small, large} if value in {small, large} else {value})


def _bytes_of_hex(value: str) -> bytes:
    """Return what a secret says that is a number in hex, or a UUID; of any other nothing."""
    written = value.replace("-", "").replace(":", "")
    if not _IN_HEX.issuperset(value) or written.isdecimal() or len(written) < MIN_SECRET_CHARS:
        return b""
    return bytes.fromhex(written[: len(written) // 2 * 2])


def _needle(form: str, piece: int, *, whole: bool) -> Needle:
    return Needle(form, len(form) if whole else min(len(form), piece))


def _bytes(value: str) -> bytes:
    # What the environment holds may be no text; so it gets its own bytes back.
    return value.encode("utf-8", "surrogateescape")


def _encoded_once(value: str) -> frozenset[bytes]:
    content = _bytes(value)
    quoted = {_bytes(write(value)) for write in _QUOTED}
    cores = {
        _core(write, content, before).encode()
        for write in (base64.b64encode, base64.urlsafe_b64encode)
        for before in range(3)
    }
    numbers = content.hex()
    return frozenset(quoted | cores | {numbers.encode(), numbers.upper().encode()})


def _cores(content: bytes) -> frozenset[str]:
    return frozenset(_core(base64.b64encode, content, before) for before in range(3))


def _write_groups(content: bytes) -> Iterator[str]:
    """Encode a value as uuencode, ascii85 and base85 do, in groups that hold nothing else."""
    for core in _cores(content):
        said = core.translate(_AS_UU)
        yield from (said, said.replace(" ", "`"))
    for before in range(4):
        for write in (base64.a85encode, base64.b85encode):
            text = write(b"." * before + content).decode()
            core = text[5 * -(-before // 4) : 5 * ((before + len(content)) // 4)]
            if len(core) >= _PIECE:  # a shorter one would take a pass through each text of its own
                yield core


def _core(write: Callable[[bytes], bytes], value: bytes, before: int) -> str:
    """
    Encode a value behind so many other bytes, without the letters that depend on neighbours.

    What is left is the same whatever stands before the value and behind it.
    """
    text = write(b"\0" * before + value).decode()
    return text[(8 * before + 5) // 6 : 8 * (before + len(value)) // 6]


def _password(value: str) -> str:
    try:
        return urlsplit(value).password or ""
    except ValueError:
        return ""


def _value_of_header(line: str) -> str:
    name, colon, value = line.partition(":")
    return value.strip() if colon and name.replace("-", "").isalnum() else ""


def _without_scheme(header: str) -> str:
    scheme, _, credentials = header.partition(" ")
    return credentials.strip() if scheme.lower() in _SCHEMES else ""


def _read(value: str) -> JsonValue:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _secret_fields(value: JsonValue) -> set[str]:
    """Return what a document has under names of secrets, alone or in lists, however deep."""
    found: set[str] = set()
    left: list[tuple[JsonValue, bool]] = [(value, False)]
    while left:
        match left.pop():
            case str() as text, True:
                found.add(text)
            case list() as entries, secret:
                left += ((entry, secret) for entry in entries)
            case dict() as fields, _:
                left += ((field, _names_secret(name)) for name, field in fields.items())
            case _:
                pass
    return found


def _names_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_FIELD_WORDS)
