"""Data about people: where it stands in a text, and the text without it."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from holdfast.contracts.patterns import Pattern, Span, decode_text, encode_text
from holdfast.guardrails.detectors.normalize import strip_invisible

_MIN_IBAN_CHARS, _MAX_IBAN_CHARS = 15, 34
_MIN_PHONE_DIGITS, _MAX_PHONE_DIGITS = 7, 15

_BETWEEN = b" ().-/+"
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_LETTERS = {ord("A") + place: str(10 + place) for place in range(26)}


class PiiMatch(NamedTuple):
    """A piece of data about somebody: its kind, and where in the text's bytes it stands."""

    kind: str
    span: Span


class _PiiKind(NamedTuple):
    """A kind of data: its pattern, and what of a match is such data, if anything is."""

    name: str
    pattern: Pattern
    part: Callable[[bytes, Span], Span | None]


def find_pii(text: str) -> Iterator[PiiMatch]:
    """Find what is about people in a text, kind by kind, as far as it is looked for."""
    yield from _find_in_bytes(encode_text(strip_invisible(text)))


def redact_pii(text: str) -> str:
    """
    Return a text with the kind of data in brackets for each piece of data about people.

    For a gateway that must not let such data into a run: what a run is given is in its history.
    A text without any comes back as it is.
    """
    content = encode_text(strip_invisible(text))
    pieces: list[bytes] = []
    written = 0
    for kind, (start, end) in sorted(_find_in_bytes(content), key=lambda each: each.span):
        if end <= written:
            continue
        pieces += (content[written : max(start, written)], f"[{kind}]".encode())
        written = end
    return decode_text(b"".join((*pieces, content[written:]))) if pieces else text


def _find_in_bytes(content: bytes) -> Iterator[PiiMatch]:
    for name, pattern, part in _KINDS:
        for span in pattern.spans(content):
            if (found := part(content, span)) is not None:
                yield PiiMatch(name, found)


def _extract_digits(content: bytes, span: Span) -> bytes:
    return content[span.start : span.end].translate(None, _BETWEEN)


def _match_social_security(content: bytes, span: Span) -> Span | None:
    """Areas 000, 666 and 900 to 999, group 00 and serial 0000 were never given (SSA, 2011)."""
    digits = _extract_digits(content, span)
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    given = area not in (b"000", b"666") and area < b"900" and group != b"00"
    return span if given and serial != b"0000" else None


def _match_card(content: bytes, span: Span) -> Span | None:
    """The last digit is the check digit of ISO/IEC 7812 (Luhn); issuers begin with 2 to 6."""
    digits = _extract_digits(content, span)
    if not b"2" <= digits[:1] <= b"6" or len(set(digits)) == 1:
        return None
    total = sum(digits[::-2].translate(_VALUES)) + sum(digits[-2::-2].translate(_DOUBLED))
    return span if total % 10 == 0 else None


def _match_bank_account(content: bytes, span: Span) -> Span | None:
    """The number modulo 97 is 1 (ISO 13616); words that follow it may look like a part of it."""
    end = span.end
    while end > span.start:
        number = content[span.start : end].replace(b" ", b"").upper()
        if len(number) < _MIN_IBAN_CHARS:
            return None
        moved = (number[4:] + number[:4]).decode().translate(_LETTERS)
        if len(number) <= _MAX_IBAN_CHARS and int(moved) % 97 == 1:
            return Span(span.start, end)
        end = content.rfind(b" ", span.start, end)
    return None


def _match_phone(content: bytes, span: Span) -> Span | None:
    """E.164 has 15 digits at most."""
    count = len(_extract_digits(content, span))
    return span if _MIN_PHONE_DIGITS <= count <= _MAX_PHONE_DIGITS else None


def _match_email(content: bytes, span: Span) -> Span | None:
    """`git@host:path` names a repository, not a person."""
    is_repository = content[span.start : span.start + 4] == b"git@"
    return None if is_repository and content[span.end : span.end + 1] == b":" else span


def _match_whole(_: bytes, span: Span) -> Span:
    return span


_NUMBER = r"\+?[(]?\d(?:[ ().\-/]{0,2}\d){6,14}"

_KINDS: tuple[_PiiKind, ...] = (
    _PiiKind(
        "e-mail address",
        Pattern(r"[^\s@<>()\[\],;:\"`|=]+@[\pL\pN.\-]+\.\pL+"),
        _match_email,
    ),
    _PiiKind(
        "social security number",
        Pattern(r"\b\d{3}([ \-])\d{2}[ \-]\d{4}\b"),
        _match_social_security,
    ),
    _PiiKind(
        "social security number",
        Pattern(
            r"\b(?:ssn|social security)\b[^\d\n]{0,30}(?P<it>\d{3}[ .\-]?\d{2}[ .\-]?\d{4})\b",
            any_case=True,
        ),
        _match_social_security,
    ),
    _PiiKind("card number", Pattern(r"\b\d(?:[ \-]?\d){12,18}\b"), _match_card),
    _PiiKind(
        "bank account",
        Pattern(r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{1,4}){3,9}\b", any_case=True),
        _match_bank_account,
    ),
    _PiiKind(
        "phone number",
        Pattern(r"(?:^|[^\w+])(?P<it>\+[1-9](?:[ ().\-/]{0,2}\d){6,14})\b"),
        _match_phone,
    ),
    _PiiKind(
        "phone number",
        Pattern(
            r"(?:^|[^\w.\-])(?P<it>(?:1[ .\-])?(?:\(\d{3}\) ?|\d{3}[ .\-])\d{3}[ .\-]\d{4})\b"
        ),
        _match_whole,
    ),
    _PiiKind(
        "phone number",
        Pattern(
            r"\b(?:phone|telephone|tel|mobile|cell|call me (?:at|on)|fax)\b"
            rf"[^\w\n+(]{{0,5}}(?:(?:number|no|is|at)[^\w\n+(]{{1,3}}){{0,2}}(?P<it>{_NUMBER})\b",
            any_case=True,
        ),
        _match_phone,
    ),
)
