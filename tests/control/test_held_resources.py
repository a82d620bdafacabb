"""What a run holds of resources: what its calls ran by, and what they may run by yet."""

import pytest

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.guardrails import Subject
from holdfast.contracts.state.run import RunState
from holdfast.guardrails import conflict_detection
from holdfast.run import requests, tool_results
from holdfast.run.gates import GuardrailCheck
from holdfast.run.step import claims
from tests.builders import NOW, a_call, a_failure, a_success, asked_for

SPEC = conflict_detection("title").spec
FIRST = a_call("look", "c1", title="a")
SECOND = a_call("look", "c2", title="a")
TITLE = "title:a"
NO_FIRST, NO_SECOND = (
    tool_results.build_denial(one, "permission_denied", "no") for one in (FIRST, SECOND)
)


def both_want_it() -> RunState:
    """A run about to look at two calls that want the same."""
    subjects = tuple(
        Subject(kind="call", text="", data=one.arguments, call_id=one.call_id)
        for one in (FIRST, SECOND)
    )
    return claims.take(asked_for(FIRST, SECOND), [GuardrailCheck(SPEC, subjects)], NOW)


def after(state: RunState, result: ToolResult, *, ran: bool) -> RunState:
    """A call has its result, by having run or without."""
    call = requests.find_call(state, result.call_id)
    if ran:
        state = claims.settle(state, [call], [result])
    return claims.release(requests.replace_call(state, call.with_(result=result)))


def held(state: RunState) -> set[str]:
    """The names of what it holds."""
    return {one.partition(" ")[0] for one in state.guarding.held}


def test_what_calls_may_run_by_yet_is_held() -> None:
    """One of two calls that want the same is refused, then the other: nothing is held."""
    # GR-22
    begun = both_want_it()
    once = after(begun, NO_FIRST, ran=False)
    twice = after(once, NO_SECOND, ran=False)

    assert (held(begun), held(once), held(twice)) == ({TITLE}, {TITLE}, set())


@pytest.mark.parametrize("result", [a_success(FIRST), a_failure(FIRST)])
def test_what_a_call_ran_by_is_held(result: ToolResult) -> None:
    """Whether it came to anything or not, and though others that want the same are refused."""
    # GR-22
    ran = after(both_want_it(), result, ran=True)
    over = after(ran, NO_SECOND, ran=False)

    assert (held(over), over.guarding.claimed) == ({TITLE}, ())
