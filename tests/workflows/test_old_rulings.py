"""What a ruling is good for: seconds, and what guardrails have looked at. Pure."""

from datetime import timedelta

import pytest

from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import disagreements, tool_calls
from holdfast.run.disagreements import RETRY_DELAYS_SECONDS, TOO_OLD
from tests.builders import NOW, a_call, allowed, asked_for, ruled_upon, to_approve

SEND = a_call("send", text="hi")
ALLOWED = allowed(SEND).model_copy(update={"basis": "one"})


def looked_at(state: RunState) -> RunState:
    """The run after guardrails have let its calls pass."""
    calls = tuple(one.with_(guarded=one.reading) for one in state.calls)
    return state.with_(calls=calls)


def only_call(state: RunState) -> CallState:
    (call,) = state.calls
    return call


@pytest.mark.parametrize(("age", "recent"), [(0, True), (5, True), (5.001, False)])
def test_a_ruling_is_good_for_seconds(age: float, *, recent: bool) -> None:
    """What was waited for since may have changed all that it was made by."""
    # BY-15
    call = only_call(ruled_upon(asked_for(SEND), (ALLOWED,)))

    found = tool_calls.select_recent((call,), NOW + timedelta(seconds=age))

    assert found == ((call,) if recent else ())


def test_what_never_begins_in_time_is_denied() -> None:
    """It is decided anew so often; a run whose decisions stay slow goes on without the call."""
    state = looked_at(ruled_upon(asked_for(SEND), (ALLOWED,)))
    for _ in RETRY_DELAYS_SECONDS:
        state = disagreements.send_back(state, {"c1": TOO_OLD})
        assert (only_call(state).result, bool(only_call(state).guarded)) == (None, True)
    result = only_call(disagreements.send_back(state, {"c1": TOO_OLD})).result

    assert isinstance(result, ToolFailure)
    assert result.reason == f"{TOO_OLD.reason}, 10 times"


@pytest.mark.parametrize(
    ("changes", "stands"),
    [
        pytest.param({}, True, id="the same"),
        pytest.param({"basis": "another"}, False, id="by another basis"),
        pytest.param({"canonical": {"text": "HI"}}, False, id="read otherwise"),
        pytest.param({"arguments_digest": "0" * 64}, False, id="other arguments"),
        pytest.param({"at": NOW + timedelta(days=1)}, True, id="decided later"),
    ],
)
def test_guardrails_have_looked_at_one_reading(
    changes: dict[str, object], *, stands: bool
) -> None:
    """What is decided anew runs unlooked only where it would run as they looked at it."""
    # GR-10
    state = looked_at(ruled_upon(asked_for(SEND), (ALLOWED,)))

    after = ruled_upon(
        tool_calls.invalidate(state, in_turn=False), (ALLOWED.model_copy(update=changes),)
    )

    assert bool(only_call(after).guarded) is stands


def test_what_is_read_otherwise_each_time_is_denied() -> None:
    """A validator that never says the same twice has nobody look for ever."""
    # GR-10
    state = looked_at(ruled_upon(asked_for(SEND), (ALLOWED,)))
    for number in range(len(RETRY_DELAYS_SECONDS) + 1):
        assert only_call(state).result is None
        fresh = ALLOWED.model_copy(update={"canonical": {"text": str(number)}})
        state = looked_at(ruled_upon(tool_calls.invalidate(state, in_turn=False), (fresh,)))
    result = only_call(state).result

    assert isinstance(result, ToolFailure)
    assert "otherwise than guardrails had looked at it" in result.reason


def test_a_call_that_is_asked_about_again_counts_no_round() -> None:
    """Only people make such rounds, and as many as they like."""
    state = looked_at(ruled_upon(asked_for(SEND), (ALLOWED,)))

    asked = only_call(ruled_upon(tool_calls.invalidate(state, in_turn=False), (to_approve(SEND),)))

    assert (asked.guarded, asked.sent_back) == ("", 0)
