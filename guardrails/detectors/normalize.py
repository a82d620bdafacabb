"""Texts as they are meant: without what nobody sees, and what looks the same spelled the same."""

import unicodedata
from collections.abc import Mapping

from holdfast.contracts.texts import to_nfkc

_FOREIGN = "авекмнорстухіјѕԁԛԝһ" + "αεικνορτυχ"
_LATIN = "abekmhopctyxijsdqwh" + "aeikvoptux"
_SLASHES = {"\u2215": "/", "\u2044": "/", "\u29f8": "/", "\u29f5": "\\", "\u2216": "\\"}
_ACCENTED = "".join(map(chr, (*range(0xC0, 0x250), *range(0x1E00, 0x1F00))))

# Control characters, marks of direction, what has no width or no shape, tags.
_UNSEEN_RANGES = (
    *((0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F)),
    *((0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
    *((0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0xE0000, 0xE01EF)),
)

_MANY = 100
"""So many different letters are replaced faster all at once than one after the other."""


def _strip_accents(letter: str) -> str:
    """Return a Latin letter without its marks."""
    return "".join(
        part for part in unicodedata.normalize("NFD", letter) if not unicodedata.combining(part)
    ).lower()


_UNSEEN = {chr(code): "" for first, last in _UNSEEN_RANGES for code in range(first, last + 1)}
_ASCII = str.maketrans({letter: "" for letter in _UNSEEN if letter.isascii()})
_PATHS = _SLASHES | _UNSEEN
_WORDS: Mapping[str, str] = {
    **_PATHS,
    **dict(zip(_FOREIGN, _LATIN, strict=True)),
    **{letter: _strip_accents(letter) for letter in _ACCENTED},
    **dict.fromkeys(map(chr, range(0x300, 0x370)), ""),
    "ß": "ss",
    **dict.fromkeys("\u2018\u2019\u02bc", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"),
}


def strip_invisible(text: str) -> str:
    """Return a text in the compatibility form of Unicode (NFKC), without what nobody sees."""
    return _translate(to_nfkc(text), _UNSEEN)


def normalize_slashes(text: str) -> str:
    """Return a text as it is seen, with a slash for whatever looks like one."""
    return _translate(to_nfkc(text), _PATHS)


def fold_confusables(text: str) -> str:
    """Return a text in small letters, without accents, and Latin letters for their lookalikes."""
    return _translate(to_nfkc(text).lower(), _WORDS)


def _translate(text: str, table: Mapping[str, str]) -> str:
    if text.isascii():
        return text.translate(_ASCII)
    wanted = set(text) & table.keys()
    if len(wanted) > _MANY:
        return text.translate(str.maketrans({letter: table[letter] for letter in wanted}))
    for letter in wanted:
        text = text.replace(letter, table[letter])
    return text
