"""When two names are one person."""

import pytest

from holdfast.policy.people import person

UNSEEN = [
    *(0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x200B, 0x2060, 0xFEFF),
    *(0x00, 0x07, 0x1B, 0x7F, 0x9B),
    *(0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF),
]


@pytest.mark.parametrize("code", UNSEEN, ids=hex)
def test_what_is_not_seen_makes_no_other_person(code: int) -> None:
    """A name with a letter that shows as nothing is the name without it."""  # BY-15
    assert person(f"da{chr(code)}na") == person("dana")
    assert person(chr(code)) == ""


@pytest.mark.parametrize(
    "name", ["DANA", " dana ", "\uff44\uff41\uff4e\uff41", "da\u00adna"], ids=ascii
)
def test_names_that_look_the_same_are_one(name: str) -> None:
    """Case, width and space around a name make no other person."""
    assert person(name) == "dana"


def test_names_that_look_different_are_two() -> None:
    """An accent makes another person."""
    assert person("d\u00e1na") != person("dana")
