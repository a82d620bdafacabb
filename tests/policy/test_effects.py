"""What makes two calls do the same is said once: by the call, or else by its ruling."""

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolCall, fingerprint_effect
from holdfast.contracts.decisions import Decided, fill_arguments, find_effects
from tests.policy.test_rulings import authorized


@pytest.mark.parametrize(
    ("name", "arguments", "same_as", "ruled"),
    [
        pytest.param("send", {"text": "x"}, {"text": "x"}, False, id="as written"),
        pytest.param("look", {"place": "x"}, {"place": "x"}, True, id="filled in"),
        pytest.param("look", {"place": "x", "times": 1}, {"place": "x"}, True, id="as it is"),
        pytest.param(
            "look",
            {"place": "x", "times": 2.0},
            {"place": "x", "times": 2},
            False,
            id="a whole fraction",
        ),
    ],
)
async def test_a_ruling_has_an_effect_where_the_call_doesnt_say_it(
    name: str, arguments: JsonObject, same_as: JsonObject, ruled: bool
) -> None:
    """A call that stands in history as it does what it does needs no second digest there."""
    call = ToolCall(call_id="c1", name=name, arguments=arguments)

    (ruling,) = (await authorized(call)).rulings

    assert isinstance(ruling, Decided)
    assert find_effects(fill_arguments(call, ruling), ruling)[0] == fingerprint_effect(
        name, same_as
    )
    assert bool(ruling.effect) is ruled
    assert ("effect" in ruling.model_dump(mode="json")) is ruled
