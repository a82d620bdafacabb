"""What of a large result a model reads at once, and how it reads on."""

# BY-07

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue
from pydantic_core import to_json

from holdfast.contracts.base import JsonObject
from holdfast.tools.values.excerpts import Excerpt, Place, cut_excerpt, read_page
from tests.builders import a_contract

ROWS: list[JsonValue] = [{"order": number, "note": "x" * 10} for number in range(100)]
PIECES = st.recursive(
    st.none() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
LIMIT = 40


def cut(data: JsonValue, **limits: object) -> Excerpt | None:
    return cut_excerpt(a_contract("look", **limits), data, to_json(data).decode())


def told(data: JsonValue, **limits: object) -> Excerpt:
    excerpt = cut(data, **limits)
    assert excerpt is not None
    return excerpt


def pages(data: JsonValue, place: Place | None) -> list[JsonValue]:
    """Return what all pages from a place on have."""
    text, found = to_json(data).decode(), list[JsonValue]()
    while place is not None:
        page = read_page(data, text, place, LIMIT)
        found.append(page.content)
        place = page.rest
    return found


@pytest.mark.parametrize("shape", ["list", "object"])
def test_a_list_shows_as_many_items_as_its_tool_says(shape: str) -> None:
    """A model reads whole items, how many there are, and where it reads on."""
    data: JsonValue = ROWS if shape == "list" else {"total": 100, "rows": ROWS, "tags": ["a"]}

    excerpt = told(data, max_items=3)

    shown: JsonValue = (
        ROWS[:3] if shape == "list" else {**cast(JsonObject, data), "rows": ROWS[:3]}
    )
    assert excerpt == Excerpt(shown, "the first 3 of 100 items", 100, Place(3))


def test_a_list_that_is_too_long_shows_whole_items() -> None:
    """Where a tool says nothing of items, there are as many as there is room for."""
    excerpt = told(ROWS, max_result_chars=100)

    assert isinstance(excerpt.shown, list)
    assert excerpt.shown == ROWS[: len(excerpt.shown)]
    assert 0 < len(to_json(excerpt.shown)) <= 100 < len(to_json(ROWS[: len(excerpt.shown) + 1]))


def test_a_log_shows_its_end() -> None:
    """Of what comes last most is to be learned, and the cursor is at the beginning."""
    log = "".join(f"line {number}\n" for number in range(100))

    assert told(log, max_result_chars=8, shows="end") == Excerpt(
        "line 99\n", f"the last 8 of {len(log)} characters", None, Place()
    )
    assert told(ROWS, max_items=2, shows="end") == Excerpt(
        ROWS[-2:], "the last 2 of 100 items", 100, Place(0)
    )


def test_each_text_of_a_result_has_a_limit() -> None:
    """A long text in it is a snippet, and the pages have it whole."""
    found: JsonValue = [{"page": "a", "text": "y" * 50}, {"page": "b", "text": "short"}]

    excerpt = told(found, max_snippet_chars=10)

    assert excerpt.shown == [
        {"page": "a", "text": f"{'y' * 10}… (40 more characters)"},
        {"page": "b", "text": "short"},
    ]
    assert excerpt.rest == Place(0)
    assert "".join(map(str, pages(found, Place()))) == to_json(found).decode()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("x" * 18, id="text"),
        pytest.param([1] * 9, id="list"),
        pytest.param({"a": "1234", "b": [1]}, id="object"),
        pytest.param([], id="nothing"),
        pytest.param(None, id="null"),
    ],
)
def test_what_fits_is_whole(data: JsonValue) -> None:
    """Nothing is cut that is within each limit."""
    limits = {"max_result_chars": 20, "max_items": 9, "max_snippet_chars": 18}

    assert cut(data, **limits) is None


@given(st.lists(PIECES, max_size=12), st.integers(1, 60), st.none() | st.integers(1, 5))
def test_all_pages_together_are_the_whole(
    data: list[JsonValue], limit: int, items: int | None
) -> None:
    """Whoever reads on from a list's excerpt has each item once, none of them cut unsaid."""
    excerpt = cut(data, max_result_chars=limit, max_items=items)
    if excerpt is None:
        return
    assert len(to_json(excerpt.shown).decode()) <= max(limit, len(to_json("x" * limit)) * 6)
    if not isinstance(excerpt.shown, list):
        assert excerpt.rest == Place(None, len(str(excerpt.shown)))
        rest = pages(data, excerpt.rest)
        assert str(excerpt.shown) + "".join(map(str, rest)) == to_json(data).decode()
        return
    found = list(excerpt.shown)
    place: Place | None = excerpt.rest
    pieces = ""
    while place is not None:
        page = read_page(data, to_json(data).decode(), place, LIMIT)
        if isinstance(page.content, list):
            found += page.content
        else:
            pieces += str(page.content)
            if page.rest is None or page.rest.item != place.item:
                item = data[len(found)]
                assert pieces == (item if isinstance(item, str) else to_json(item).decode())
                found.append(item)
                pieces = ""
        place = page.rest
    assert found == data


@given(st.text(max_size=300), st.integers(1, 50))
def test_a_text_is_read_to_its_end(text: str, limit: int) -> None:
    """Pages of a text follow each other without a gap, and each has its limit."""
    excerpt = cut(text, max_result_chars=limit)
    shown = "" if excerpt is None else str(excerpt.shown)
    rest = pages(text, Place() if excerpt is None else excerpt.rest)

    assert shown + "".join(map(str, rest)) == text
    assert all(len(to_json(page)) <= 4 * LIMIT for page in rest)


@pytest.mark.parametrize("written", ["", "i", "c", "i-1", "3", "i1c2c3", "i99999999999", "c1 "])
def test_what_is_no_place_is_none(written: str) -> None:
    """A model may make anything up."""
    assert Place.parse(written) is None


@given(st.none() | st.integers(0, 10**8), st.integers(0, 10**8))
def test_a_place_is_read_as_it_is_written(item: int | None, character: int) -> None:
    """What a model copies is the place that it was told."""
    place = Place(item, character)

    assert Place.parse(str(place)) == place
