"""Patterns of RE2, with the words of `re`."""

import pytest

from holdfast.contracts.patterns import SPACE, WORD, BadPattern, Pattern


@pytest.mark.parametrize(
    ("form", "text", "fits"),
    [
        ("a+", "aa", True),
        ("a+", "aab", False),
        (f"[{WORD}]+", "Grüße_1", True),
        (f"[{SPACE}]+", " \u00a0\x0b\x1c\u2003", True),
        (r"\w+", "é", False),
        # Half of a character is one character, which none of ours is.
        ("[^a]", "\ud800", True),
        ("a", "\ud800", False),
    ],
)
def test_a_text_fits_as_a_whole(form: str, text: str, *, fits: bool) -> None:
    """Classes know ASCII alone, but for the two that are as wide as Python's own."""
    assert Pattern(form).fits(text) is fits


def test_what_is_found_is_said_in_characters() -> None:
    """A group that takes no part is empty; places are those of the text, whatever it holds."""
    found = list(Pattern("(b)|(c)").matches("é\ud800b-c"))

    assert [(match.start, match.end, match.groups) for match in found] == [
        (2, 3, ("b", "b", "")),
        (4, 5, ("c", "", "c")),
    ]


def test_what_stands_elsewhere_stays() -> None:
    """What is put in is taken as it is written, and half of a character isn't changed."""
    assert Pattern("a+").sub(r"\1", "\ud800aaéa") == "\ud800\\1é\\1"
    assert Pattern("a+").sub(lambda match: str(match.end), "aaéa") == "2é4"


@pytest.mark.parametrize("form", ["(", "(?=a)", r"(a)\1", "a++"])
def test_what_would_need_to_backtrack_is_refused(form: str) -> None:
    """Nothing looks ahead, and no group is referred to."""
    with pytest.raises(BadPattern):
        Pattern(form)
