"""Arguments as models write them."""

import pytest

from holdfast.adapters import wire
from holdfast.contracts.calls import MalformedCall, ToolCall


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param('{"order_id": 4', id="cut off"),
        pytest.param("[1]", id="an array"),
        pytest.param('"{}"', id="a string"),
        pytest.param("", id="nothing"),
        pytest.param('{"amount": NaN}', id="no JSON number"),
        pytest.param('{"amount": 1e999}', id="beyond any number"),
        pytest.param('{"name": "\\ud83d"}', id="half a character"),
    ],
)
def test_arguments_that_are_no_object_stay_as_they_came(arguments: str) -> None:
    """What can't be read as a JSON object is never guessed at."""
    # AD-16
    call = wire.call_from_text("c1", "find_order", arguments)

    assert call == MalformedCall(call_id="c1", name="find_order", raw_arguments=arguments)


def test_torn_characters_are_joined() -> None:
    """A stream may cut a character in two; the arguments are whole all the same."""
    call = wire.call_from_text("c1", "find_order", '{"name": "\ud83d' + '\ude00"}')

    assert call == ToolCall(call_id="c1", name="find_order", arguments={"name": "😀"})


def test_half_a_character_can_be_written() -> None:
    """What a server ran itself is kept as text, whatever is in it."""
    assert wire.json_text({"\ud83d": ["\ud83d"]}) == '{"\ufffd":["\ufffd"]}'


def test_numbers_survive() -> None:
    """Integers stay integers, however long, and 1.0 stays a float."""
    call = wire.call_from_text("c1", "find_order", '{"a":1152921504606846976,"b":1.0,"c":1}')

    assert isinstance(call, ToolCall)
    assert repr(call.arguments) == "{'a': 1152921504606846976, 'b': 1.0, 'c': 1}"
    assert wire.json_text(call.arguments) == '{"a":1152921504606846976,"b":1.0,"c":1}'
