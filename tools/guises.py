"""The ways in which a known secret may stand in a text: quoted, encoded, in parts. Pure."""

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlsplit

from pydantic import JsonValue

SHORTEST = 8
"""Characters; anything shorter stands in innocent words too."""

_LONG_LINE = 32
_ESCAPED_BYTE = re.compile("%[0-9A-F]{2}")
_TELLING = re.compile("pass|secret|token|key|credential", re.IGNORECASE)


def _json(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _ascii_json(value: str) -> str:
    return json.dumps(value)[1:-1]


_QUOTED: tuple[Callable[[str], str], ...] = (
    _json,
    _ascii_json,
    lambda value: _json(_json(value)),
    lambda value: _json(_ascii_json(value)),
    lambda value: _ascii_json(_json(value)),
    lambda value: _ascii_json(value).replace("/", "\\/"),
    lambda value: repr(value)[1:-1],
    lambda value: ascii(value)[1:-1],
    lambda value: repr(_bytes(value))[2:-1],
    html.escape,
    lambda value: html.escape(value, quote=False),
)
"""How texts quote others: JSON, JSON in JSON, Python, HTML."""

_URLS: tuple[Callable[[bytes], str], ...] = (
    quote,
    quote_plus,
    lambda value: quote(value, safe=""),
    lambda value: quote(value, safe="/:@!$&'()*+,;="),
)


def guises(value: str) -> frozenset[str]:
    """Return every usual form of a secret, itself among them."""
    found = {value, *encoded(value)}
    found.update(write(value) for write in _QUOTED)
    for write in _URLS:
        url = write(_bytes(value))
        found |= {url, _ESCAPED_BYTE.sub(lambda byte: byte[0].lower(), url)}
    digits = _bytes(value).hex()
    return frozenset(found | {digits, digits.upper()})


def encoded(value: str) -> frozenset[str]:
    """Return what of a secret's base64 is the same whatever stands before and behind it."""
    return frozenset(
        _core(write, _bytes(value), before)
        for write in (base64.b64encode, base64.urlsafe_b64encode)
        for before in range(3)
    )


def parts(value: str) -> frozenset[str]:
    """
    Return a secret with what of it is secret by itself.

    That is: each long line of a key file, the password of an address, the secret fields of a
    JSON object.
    """
    found = {value, value.strip()}
    found.update(
        line.strip()
        for line in value.splitlines()
        if len(line.strip()) >= _LONG_LINE and not re.search(r"\s", line.strip())
    )
    found.update(_password(value))
    found.update(_fields(value))
    return frozenset(part for part in found if len(part) >= SHORTEST)


def _bytes(value: str) -> bytes:
    # What the environment holds may be no text; so it gets its own bytes back.
    return value.encode("utf-8", "surrogateescape")


def _core(write: Callable[[bytes], bytes], value: bytes, before: int) -> str:
    """Encode a value behind so many other bytes, without the letters that depend on neighbours."""
    text = write(b"\0" * before + value).decode()
    return text[(8 * before + 5) // 6 : 8 * (before + len(value)) // 6]


def _password(value: str) -> set[str]:
    try:
        return {urlsplit(value).password or ""}
    except ValueError:
        return set()


def _fields(value: str) -> set[str]:
    if not value.lstrip().startswith("{"):
        return set()
    try:
        return _secret_fields(json.loads(value))
    except (ValueError, RecursionError):
        return set()


def _secret_fields(value: JsonValue) -> set[str]:
    if not isinstance(value, dict):
        return set()
    found: set[str] = set()
    for name, field in value.items():
        if isinstance(field, str) and _TELLING.search(name):
            found.add(field)
        else:
            found |= _secret_fields(field)
    return found
