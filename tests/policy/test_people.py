"""When two names are one person."""

import pytest

from holdfast.policy.trust import normalize_name

UNSEEN = [
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x200B, 0x2060, 0xFEFF),
    *(0x00, 0x07, 0x1B, 0x7F, 0x9B),
    *(0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF),
    *(0x2065, 0xFFF0, 0xFFF8, 0xE0000, 0xE0002, 0xE0080, 0xE01F0, 0xE0FFF),
]


@pytest.mark.parametrize("code", UNSEEN, ids=hex)
def test_what_is_not_seen_makes_no_other_person(code: int) -> None:
    """A name with a letter that shows as nothing is the name without it."""  # BY-15
    assert normalize_name(f"da{chr(code)}na") == normalize_name("dana")
    assert normalize_name(chr(code)) == ""


@pytest.mark.parametrize(
    "name", ["DANA", " dana ", "\uff44\uff41\uff4e\uff41", "da\u00adna"], ids=ascii
)
def test_names_that_look_the_same_are_one(name: str) -> None:
    """Case, width and space around a name make no other person."""
    assert normalize_name(name) == "dana"


def test_names_that_look_different_are_two() -> None:
    """An accent makes another person."""
    assert normalize_name("d\u00e1na") != normalize_name("dana")
