"""Texts that strangers and models chose: cut, on one line, with every character visible. Pure."""

import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from holdfast.contracts.bounds import size
from holdfast.contracts.patterns import Pattern

MAX_LINE_CHARS = 160
"""The server keeps 400 bytes of a summary; a line of the UI shows about this many characters."""

_NOTE_BYTES = 50
"""The note that something was left out."""

# Control, format, surrogate, private and unassigned characters; ends of lines and paragraphs; all
# blanks but the plain one.
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})

BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\U00016fe4\U0001d159"
    + "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
)
"""Letters and marks that show nothing, and those that say how the one before them is drawn."""

# Emoji are still being added, faster than Python learns of them.
_EMOJI = range(0x1F000, 0x1FB00)

_PICTURES = (_EMOJI, range(0x2190, 0x2200), range(0x2600, 0x27C0), range(0x2B00, 0x2C00))
"""What is drawn in one of two styles, or as one with another."""

_BRAILLE_BLANK = "\u2800"
_JOINERS = _NON_JOINER, _JOINER = "\u200c", "\u200d"
_STYLES = "\ufe0e\ufe0f"
_VIRAMA = 9
"""The combining class of the sign that joins consonants in the scripts of India."""

_ARABIC = (range(0x0620, 0x0700), range(0x0750, 0x0780), range(0x08A0, 0x0900))
_JOINED_TO_NONE = frozenset("اأإآٱدذرزژڈڑوؤةۀےۓ")

_MARK_CATEGORIES = frozenset({"Mn", "Me"})
_MAX_MARKS = 4
"""Of one letter, in any language; more would be drawn over what stands around it."""


def clip_bytes(text: str, most: int) -> str:
    """Return as much of the beginning of a text as has *most* bytes."""
    text = text[:most]
    while size(text) > most and text:
        text = text[: len(text) * 7 // 8]
    return text


def select_end(text: str, most: int) -> str:
    """Return the end of a text, as much as has *most* bytes of JSON."""
    end = text[-most:]
    while (over := size(end) - most) > 0:
        end = end[max(1, over // 6) :]
    return end


def clip_chars(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis for what is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def cut_with_note(text: str, most: int, left_out: int = 0) -> str:
    """
    Return a text, or of one with more than *most* bytes its beginning with a note.

    There is one, too, where so many characters of it were *left out* before.
    """
    if not left_out and size(text) <= most:
        return text
    kept = clip_bytes(text, most - _NOTE_BYTES)
    return f"{kept}… ({len(text) - len(kept) + left_out:,} characters left out)"


_QUOTE_BYTES, _WORD_BYTES = 12, 4
"""Letters and digits in a row, as UTF-8, that two texts hardly share by chance; a word of some."""


def quotes(text: str, other: str) -> bool:
    """
    Whether a text repeats another, whatever the case and the signs between words.

    It does with about three words in a row, with the whole of a short one, and with one number.
    """
    if not (words := _split_words(text)):
        return False
    others = _split_words(other)
    repeated, whole = ("".join(each).encode(errors="replace") for each in (words, others))
    if _WORD_BYTES <= len(whole) <= _QUOTE_BYTES:
        return whole in repeated
    numbers = set(filter(_is_telling, words))
    pieces = set(_cut_pieces(repeated))
    return not numbers.isdisjoint(others) or not pieces.isdisjoint(_cut_pieces(whole))


_ESCAPE = Pattern(r"(?s)\\(u[0-9A-Fa-f]{4}|.)")
_ESCAPED_BLANKS = frozenset("bfnrt")
_MAX_ESCAPED = 3
"""So many times a text is escaped that is JSON: a result is, and what a text in it holds."""


def unescape(text: str) -> Iterator[str]:
    """Yield a text without the escapes of JSON, if it has any, and without those in these."""
    for _ in range(_MAX_ESCAPED):
        if "\\" not in text:
            return
        whole = _ESCAPE.sub(lambda found: _read_escape(found.groups[1]), text)
        # A letter beyond the first 65,536 is written as two halves.
        text = whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        yield text


def _read_escape(escape: str) -> str:
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return " " if escape in _ESCAPED_BLANKS else escape


def _cut_pieces(text: bytes) -> Iterator[bytes]:
    return (text[at : at + _QUOTE_BYTES] for at in range(len(text) - _QUOTE_BYTES + 1))


def _split_words(text: str) -> list[str]:
    return "".join(one if one.isalnum() else " " for one in text.casefold()).split()


def _is_telling(word: str) -> bool:
    """Whether one word tells something alone: a number, a name with digits."""
    return len(word) >= _WORD_BYTES and any(map(str.isdigit, word))


_NORMALIZED_CHARS, _MARKS_BACK = 200, 50
_JOINED_CATEGORIES = frozenset({"Mn", "Mc", "Me"})
_JOINED_LETTERS = frozenset(map(chr, range(0x1160, 0x1200)))
"""Vowels and ends of syllables in Hangul."""


def to_nfkc(text: str) -> str:
    """
    Return a text in the compatibility form of Unicode (NFKC), in time linear in it.

    Python sorts the marks of a letter in quadratic time, and nothing else in the process runs
    meanwhile: a hundred thousand take half a minute. So it is given some hundred at a time, cut
    between letters. Of one with more marks than any has the marks may stay in several parts.
    """
    return text if text.isascii() else "".join(map(_normalize, _cut_between_letters(text)))


def _normalize(piece: str) -> str:
    return unicodedata.normalize("NFKC", piece)


def _cut_between_letters(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = place = begin + _NORMALIZED_CHARS
        while place < len(text) and place > end - _MARKS_BACK and not _begins_letter(text[place]):
            place -= 1
        end = place if place > end - _MARKS_BACK else end
        yield text[begin:end]
        begin = end


def _begins_letter(character: str) -> bool:
    """Whether it is never put together with what stands before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    joins = unicodedata.category(first) in _JOINED_CATEGORIES or first in _JOINED_LETTERS
    return character.isascii() or not joins


def one_line(text: str) -> str:
    """Return a text on one line, with single blanks between its words."""
    return " ".join(text.split())


def shorten(text: str, limit: int = MAX_LINE_CHARS) -> str:
    """Cut a text to one line of at most *limit* characters, of which each shows."""
    shown = escape_invisible(one_line(text)[: limit + 1])
    # A joiner shows nothing once what it joins is cut off.
    return shown if len(shown) <= limit else f"{shown[: limit - 1].rstrip(''.join(_JOINERS))}…"


class _Shown(dict[int, str]):
    """What is left of each character, found out when it is first asked for."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "\t\n" or _is_visible(character, 0):
            shown = character
        else:
            is_blank = character == _BRAILLE_BLANK or unicodedata.category(character) == "Zs"
            shown = " " if is_blank else ""
        self[code] = shown
        return shown


_SHOWN = _Shown()


def remove_invisible(text: str) -> str:
    """Return a text with what shows, tabs and ends of lines alone; any blank is a plain one."""
    return text.translate(_SHOWN)


def escape_invisible(text: str) -> str:
    """
    Return a text as one line in which every character shows, and moves nothing but itself.

    A control character could repaint the terminal on which somebody decides about an approval, an
    override of the direction of writing could turn a sentence around, and two names could differ
    in what nobody sees. Each becomes its escape, as in Python. Letters of all scripts stay, and
    what emoji and scripts like Persian need to be joined, where it changes how they are drawn.
    """
    return _escape_hidden(text, lambda character: character.encode("unicode_escape").decode())


def escape_invisible_lines(text: str) -> list[str]:
    """Return the lines of a text, each as `visible` shows it; at least one."""
    return [escape_invisible(line) for line in text.splitlines()] or [""]


def escape_invisible_json(text: str) -> str:
    """Return a JSON text that means the same, with escapes for what doesn't show."""
    lines = text.split("\n")
    return "\n".join(
        _escape_hidden(line, lambda character: json.dumps(character)[1:-1]) for line in lines
    )


def _escape_hidden(text: str, escape: Callable[[str], str]) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if _is_visible(text, place) else escape(character)
        for place, character in enumerate(text)
    )


def _is_visible(text: str, place: int) -> bool:
    character = text[place]
    if " " <= character <= "~":
        return True
    if character in _JOINERS:
        return 0 < place < len(text) - 1 and _changes_joining(text, place)
    if character in _STYLES:
        return place > 0 and _is_in(_PICTURES, text[place - 1])
    if character in BLANK:
        return False
    kind = unicodedata.category(character)
    if kind in _MARK_CATEGORIES:
        before = text[max(place - _MAX_MARKS, 0) : place]
        return not all(map(_is_mark, before)) or len(before) < _MAX_MARKS
    return kind not in _HIDDEN_CATEGORIES or (kind == "Cn" and ord(character) in _EMOJI)


def _changes_joining(text: str, place: int) -> bool:
    """Whether a joiner changes how its neighbours are drawn."""
    before, behind = text[place - 1], text[place + 1]
    if before in _JOINERS or behind in _JOINERS:
        return False  # each would ask the other
    if _VIRAMA in (unicodedata.combining(before), unicodedata.combining(behind)):
        return _is_visible(text, place - 1) and _is_visible(text, place + 1)
    if text[place] == _JOINER:
        styled = before in _STYLES and _is_visible(text, place - 1)
        return (styled or _is_in(_PICTURES, before)) and _is_in(_PICTURES, behind)
    arabic = _is_in(_ARABIC, before) and _is_in(_ARABIC, behind)
    return arabic and before not in _JOINED_TO_NONE and _is_visible(text, place - 1)


def _is_in(ranges: Iterable[range], character: str) -> bool:
    return any(ord(character) in one for one in ranges)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in _MARK_CATEGORIES


def normalize_domain(domain: str) -> str:
    """Return the name of a domain as it is compared, however somebody wrote it."""
    return domain.strip().casefold()
