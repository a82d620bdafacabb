"""A text is told while it grows: nothing of a secret in it, and nothing twice."""

from base64 import b64encode
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.bounds import MAX_REPLY_BYTES
from holdfast.tools.redaction import GrowingText, Redactor

SECRET = "correct-horse-battery-staple"
KEY = "sk-" + "abcdefghij0123456789klmn"
TOKEN = f"eyJ{'h' * 40}.{'p' * 300}.{'s' * 40}"
PROSE = "The quick brown fox jumps over the lazy dog, and so on until the evening comes. "


def told(pieces: Iterable[str], secrets: frozenset[str] = frozenset({SECRET})) -> str:
    """All that is told of a text which comes in these pieces, each of them looked at by itself."""
    text = GrowingText(Redactor(lambda: secrets))
    said: list[str] = []
    for piece in pieces:
        text.add(piece)
        said.append(text.take())
    return "".join(said)


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=30))
def test_what_is_told_is_how_the_text_begins(pieces: list[str]) -> None:
    """Whatever comes and however it is cut: nothing is told twice, left out or changed."""
    whole = "".join(pieces)

    assert whole.startswith(told(pieces, frozenset()))


def test_no_more_is_kept_than_a_reply_may_have() -> None:
    """A hundred megabytes may come, of which one letter makes four times as much in memory."""
    text = GrowingText(Redactor(frozenset))
    for _ in range(1_000):
        text.add("x" * 999 + "\U0001f600")
    said = ""
    while piece := text.take():
        said += piece

    assert MAX_REPLY_BYTES - 1_000 < len(said) <= MAX_REPLY_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 7, 40, 10_000])
@pytest.mark.parametrize(
    ("secret", "mark"),
    [
        pytest.param(SECRET, "[redacted]", id="known"),
        pytest.param(SECRET.encode().hex(" "), "[redacted]", id="in hex"),
        pytest.param("".join(f"\\u{ord(one):04x}" for one in SECRET), "[redacted]", id="escaped"),
        pytest.param(KEY, "[redacted: api key]", id="looks like a key"),
        pytest.param(TOKEN, "[redacted: jwt]", id="looks like a token"),
    ],
)
def test_no_secret_is_told_that_comes_in_pieces(secret: str, mark: str, size: int) -> None:
    """Nor its beginning, before anybody can know what it is the beginning of."""
    text = f"{PROSE}It is {secret} of course. {PROSE * 2}"

    said = told(cut(text, size))

    assert text.replace(secret, mark).startswith(said)
    assert f"It is {mark} of course" in said


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "y" * 2_100], ids=["a word", "a word without end"])
@pytest.mark.parametrize(
    ("letters", "between"),
    [
        pytest.param(cut(SECRET.encode().hex(), 2), " " * 60, id="hex, far apart"),
        pytest.param(cut(SECRET.encode().hex(), 2), f"\n{'z' * 150} ", id="hex, among words"),
        pytest.param(cut(b64encode(SECRET.encode()).decode(), 1), "  \n" * 20, id="base64"),
        pytest.param([f"\\u{{{'0' * 90}{ord(one):x}}}" for one in SECRET], "", id="escapes"),
        pytest.param([f"&#{'0' * 150}{ord(one)};" for one in SECRET], "", id="references"),
        pytest.param([f"{'word ' * 30}\n{'more ' * 30}"], "", id="two lines"),
    ],
)
def test_no_secret_is_told_whose_letters_come_far_apart(
    letters: list[str], between: str, before: str
) -> None:
    """By a few letters nobody knows it: no more are told."""
    few, text = 6, between.join(letters)
    known = frozenset({SECRET, *letters} if len(letters) == 1 else {SECRET})

    said = told(cut(f"{PROSE}It is {before}{text} of course. {PROSE * 3}", 40), known)

    assert "[redacted]" in said
    assert "of course" in said
    places = range(max(1, len(letters) - few + 1))
    assert not any(between.join(letters[place : place + few]) in said for place in places)


def test_the_end_is_held_back_only_for_a_while() -> None:
    """Nobody who reads along has to wait for the end of the reply."""
    said = told(cut(PROSE, 8))

    assert PROSE.startswith(said)
    assert len(PROSE) - len(said) <= 66 + 8


@pytest.mark.parametrize("size", [1, 2, 5])
def test_characters_stay_whole(size: int) -> None:
    """A provider may tear one apart: JSON writes halves."""
    torn = (PROSE + "\U0001f9d0" * 100).encode("utf-16-le").decode("utf-16-le", "surrogatepass")
    halves = "".join(
        character if character < "\U00010000" else "".join(map(chr, _halves(character)))
        for character in torn
    )

    said = told(cut(halves, size))

    assert torn.startswith(said)
    assert said.endswith("\U0001f9d0" * 30)


def _halves(character: str) -> tuple[int, int]:
    first, second = character.encode("utf-16-be")[:2], character.encode("utf-16-be")[2:]
    return int.from_bytes(first), int.from_bytes(second)


def test_a_flood_is_told_in_parts() -> None:
    """To look through it takes the time of all who share the loop."""
    text = GrowingText(Redactor(frozenset[str]))
    text.add(PROSE * 1_000)
    parts = [text.take() for _ in range(10)]

    assert max(map(len, parts)) <= 30_000
    assert (PROSE * 1_000).startswith("".join(parts))
    assert len("".join(parts)) > 79_000
