"""Of how many values JSON is made, told without reading it."""

import json
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.tools import large_json
from holdfast.tools.large_json import has_readable_size

MAX_VALUES = 12

TEXTS = st.text(st.sampled_from('a,[{"\\ ]}:\n'), max_size=8)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=6),
    max_leaves=30,
)


@pytest.fixture(autouse=True, scope="module")
def few_values() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(large_json, "MAX_JSON_VALUES", MAX_VALUES)
        yield


def count(value: JsonValue) -> int:
    match value:
        case list():
            return 1 + sum(map(count, value))
        case dict():
            return 1 + sum(map(count, value.values()))
        case _:
            return 1


@given(VALUES, st.sampled_from([None, 1]))
def test_no_value_is_overlooked_and_none_counted_more_than_twice(
    value: JsonValue, indent: int | None
) -> None:
    """Whatever its texts say, and however it is laid out."""
    content = json.dumps(value, indent=indent).encode()

    if has_readable_size(content):
        assert count(value) <= MAX_VALUES
    else:
        assert 2 * count(value) > MAX_VALUES
