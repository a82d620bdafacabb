"""What the text of a policy file is read as, whatever it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.errors import PolicyRefused
from holdfast.policy.document import parse_policy
from holdfast.policy.yaml_lines import LocatedYaml, parse_yaml


@given(st.text(alphabet="ab:-[]{}'\"#&*!|>?%@,\n \t0.1~<", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Whatever the file holds, there is a policy or a flaw with its line."""
    for content in (text, f"version: 1\nrules: {text}", f"version: 1\nrules:\n  - {text}"):
        assert all(line[0].isdigit() for line in flaws_if_any(content))


def flaws_if_any(text: str) -> list[str]:
    """What is wrong with a file, beginning with the line; nothing if it is a policy."""
    try:
        parse_policy(text, "p")
    except PolicyRefused as refused:
        return [line.removeprefix("p:") for line in refused.lines]
    return []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9999, 9999)
    | st.text("abc no1.:#{}'\"\\", max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_json_means_the_same_as_yaml(value: object) -> None:
    """A document in JSON is read as JSON has it."""
    located = parse_yaml(json.dumps(value))

    assert isinstance(located, LocatedYaml)
    assert located.value == value


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "9" * 5_000], ids=("large", "small", "long")
)
def test_a_number_that_is_none_is_text(number: str) -> None:
    """JSON has no infinity, so what is too large to be a number is the word that stands there."""
    located = parse_yaml(f"a: {number}")

    assert isinstance(located, LocatedYaml)
    assert located.value == {"a": number}
