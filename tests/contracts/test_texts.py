"""Whatever strangers write, a person sees every character of it, and nothing else moves."""

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.contracts.texts import (
    escape_invisible,
    escape_invisible_json,
    escape_invisible_lines,
    shorten,
)

HOSTILE = {
    "escape": "\x1b[2J\x1b[1;1H",
    "link": "\x1b]8;;http://evil.example\x07approved\x1b]8;;\x07",
    "C1": "\x9b31m",
    "override": "\u202egnp.exe\u202c",
    "isolate": "\u2066low\u2069",
    "mark": "\u200f",
    "zero-width": "ad\u200bmin",
    "joiner": "ad\u200dmin\u200c",
    "joiners of joiners": "क\u094d\u200d\u200c\u094d",
    "carriage return": "risk: high\rrisk: low ",
    "backspace": "no\b\byes",
    "delete": "\x7f",
    "lines": "a\nwho       anybody\u2028b\u2029c\x85d\x0be\x0cf",
    "tag": "a\U000e0061\U000e007f",
    "blank letters": "a\u3164\u115f\u034f",
    "style of a letter": "a\ufe0f\U000e0100",
    "half": "\ud800",
    "annotation": "\ufff9a\ufffab\ufffb",
    "private": "\ue000",
}
LOOKING_THE_SAME = {
    "style of ASCII": "fred+\ufe0fpay<\ufe0e",
    "joiners of letters that aren't joined": "張\u200d三 สม\u200cชาย דו\u200cד 1ª\u200dº",
    "a joiner of letters that are joined": "می\u200dخ",
    "a joiner behind a letter that is joined to none": "دو\u200cد",
    "blank signs": "bob\u2800\U00016fe4\U0001d159",
    "blanks": "a\u00a0b\u3000c\u2000d\u202fe",
    "marks on marks": "1" + "\u0336" * 5,
}
LEGITIMATE = [
    "Müller & Søn, 29,00 €",
    "返金 1044号 한국어 ไทย",
    "שלום, مرحبا, می\u200cخواهم",  # noqa: RUF001 -- right to left, joined and not
    "क्\u200dष র\u200d্য",
    "👍🏽 👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 🇩🇪 🫨",
    "e\u0301",
]
ANY = st.text(
    st.characters(exclude_categories=())
    | st.sampled_from("".join([*HOSTILE.values(), *LOOKING_THE_SAME.values(), *LEGITIMATE]))
)


def moves(text: str) -> set[str]:
    """What of a line is no letter, mark, number, sign or blank, but for joined joiners."""
    return {
        character
        for place, character in enumerate(text)
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
        and not (
            character in "\u200c\u200d"
            and unicodedata.category(text[place - 1]) in {"Lo", "Mn", "Mc", "So", "Sk"}
        )
    }


@given(ANY)
@example("\u200d")
@example("\u0915\u200d")
@example("\u094d\u200d\u200d\u094d")
def test_nothing_moves_whatever_comes(text: str) -> None:
    """No control or format character comes out, and what is visible already stays as it is."""
    shown = escape_invisible(text)

    assert moves(shown) == set()
    assert escape_invisible(shown) == shown
    assert all(moves(line) == set() for line in escape_invisible_lines(text))


@given(st.recursive(ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)))
def test_json_means_the_same(value: object) -> None:
    """JSON has escapes for what doesn't show, and reads back as what it was."""
    written = escape_invisible_json(json.dumps(value, ensure_ascii=False, indent=2))

    assert json.loads(written) == value
    assert moves(written.replace("\n", "")) == set()


@pytest.mark.parametrize("text", [*HOSTILE.values(), *LOOKING_THE_SAME.values()])
def test_what_nobody_sees_is_escaped(text: str) -> None:
    """An escape stands for each character that paints, turns, hides or ends a line."""
    shown = escape_invisible(text)

    assert shown != text
    assert shown.isprintable()
    assert "\\" in shown


@pytest.mark.parametrize("text", LEGITIMATE)
def test_letters_of_all_people_stay(text: str) -> None:
    """Umlauts, scripts of any direction and emoji are as they were written."""
    assert escape_invisible(text) == text
    assert escape_invisible_json(text) == text


def test_what_is_cut_off_leaves_no_joiner_behind() -> None:
    """Nobody sees one that joins nothing: two lines that differ in it would look alike."""
    family = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    assert shorten(family, 5) == family
    assert shorten(family, 3) == "\N{WOMAN}…"
    assert shorten(family, 4) == f"{family[:3]}…"
