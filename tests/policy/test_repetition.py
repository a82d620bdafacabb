"""Whether a run goes round in circles: identical calls, and failures in a row."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.calls import (
    AnyCall,
    MalformedCall,
    ToolCall,
    ToolResult,
)
from holdfast.run.limits.loop_detection import (
    MAX_CYCLE_CALLS,
    check_failures,
    check_loop,
    count_call,
    count_result,
    fingerprint,
    reset_calls,
)
from tests.builders import a_call, a_failure, a_success

LOOK = a_call(place="attic")


def counted(calls: Sequence[AnyCall]) -> Ledger:
    ledger = Ledger()
    for call in calls:
        ledger = count_call(ledger, call)
    return ledger


def malformed(raw: str) -> MalformedCall:
    return MalformedCall(call_id="c1", name="look", raw_arguments=raw)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(a_call(place="attic"), True, id="same"),
        pytest.param(a_call(call_id="c2", place="attic"), True, id="another id"),
        pytest.param(a_call("find", place="attic"), False, id="another tool"),
        pytest.param(a_call(place="cellar"), False, id="another argument"),
        pytest.param(a_call(place="attic", deep=True), False, id="one more"),
        pytest.param(a_call(), False, id="none"),
        pytest.param(malformed('{"place":"attic"}'), False, id="text of the same"),
    ],
)
def test_calls_are_the_same_by_tool_and_arguments(other: AnyCall, *, same: bool) -> None:
    """The id of a call makes no difference, everything else does."""  # HG-09
    assert (fingerprint(other) == fingerprint(LOOK)) is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param(a_call(a=1, b=2), a_call(b=2, a=1), True, id="order of keys"),
        pytest.param(
            a_call(x={"a": [1], "b": 2}), a_call(x={"b": 2, "a": [1]}), True, id="nested order"
        ),
        pytest.param(a_call(x=1), a_call(x=1.0), True, id="1 and 1.0"),
        pytest.param(a_call(x=1), a_call(x="1"), False, id="1 and text"),
        pytest.param(a_call(x=1), a_call(x=True), False, id="1 and true"),
        pytest.param(a_call(x=[1, 2]), a_call(x=[2, 1]), False, id="order of a list"),
        pytest.param(a_call(x=None), a_call(), False, id="null or absent"),
        pytest.param(malformed("[1, 2]"), malformed("[1, 2]"), True, id="no object"),
        pytest.param(malformed("[1, 2]"), malformed("[2, 1]"), False, id="other no object"),
    ],
)
def test_arguments_are_the_same_as_json(one: AnyCall, other: AnyCall, *, same: bool) -> None:
    """Arguments are compared as JSON, and those that are no object don't crash."""  # HG-09 T-06
    assert (fingerprint(one) == fingerprint(other)) is same


@pytest.mark.parametrize(
    ("threshold", "times", "loops"),
    [(1, 1, False), (1, 2, True), (2, 2, False), (2, 3, True), (5, 5, False), (5, 6, True)],
)
def test_one_more_than_the_threshold_is_a_loop(threshold: int, times: int, *, loops: bool) -> None:
    """So many identical calls in a row may be; the next one is too many."""  # HG-10 T-05
    ledger = counted([LOOK] * times)

    stop = check_loop(Budget(loop_repeat_threshold=threshold), ledger, LOOK)

    assert (stop is not None) is loops


def test_the_default_threshold_is_two() -> None:
    """Whoever says nothing has the third identical call refused."""  # HG-11
    assert check_loop(Budget(), counted([LOOK, LOOK]), LOOK) is None
    assert check_loop(Budget(), counted([LOOK, LOOK, LOOK]), LOOK) is not None


def test_a_loop_is_explained() -> None:
    """The stop names tool, number and limit, and what to do."""  # HG-10
    stop = check_loop(Budget(), counted([LOOK] * 3), LOOK)

    assert stop is not None
    assert stop.reason == "loop detected: same tool, same args"
    assert stop.detail == (
        "look was asked for 3 times in a row with the same arguments (loop_repeat_threshold 2)"
    )
    assert "pollable" in stop.next_safe_action


FEW = st.sampled_from([a_call(n=number) for number in range(3)])
DIFFERENT = st.lists(st.integers(100, 999), unique=True, max_size=20)


def ended_at(calls: Sequence[AnyCall], threshold: int) -> int | None:
    """How many calls were asked for when a run was ended, if it was."""
    ledger = Ledger()
    for number, call in enumerate(calls, start=1):
        ledger = count_call(ledger, call)
        if check_loop(Budget(loop_repeat_threshold=threshold), ledger, call):
            return number
    return None


@pytest.mark.parametrize(
    ("pattern", "threshold", "ends"),
    [("AB", 2, 6), ("ABC", 2, 9), ("AAB", 2, 9), ("ABCDEF", 2, 18), ("AB", 1, 4), ("AB", 4, 10)],
)
def test_calls_in_turn_are_a_loop(pattern: str, threshold: int, ends: int) -> None:
    """So many rounds may be; the call that completes one more is too many."""  # HG-10
    calls = [a_call("find"), *(a_call(name=name) for name in pattern * 10)]

    assert ended_at(calls, threshold) == 1 + ends


def test_a_circle_of_calls_is_explained() -> None:
    """The stop says how many calls it has, and which completed it."""  # HG-10
    find = a_call("find", place="attic")

    stop = check_loop(Budget(), counted([LOOK, find] * 3), find)

    assert stop is not None
    assert stop.reason == "loop detected: same cycle of calls"
    assert stop.detail == (
        "the same 2 calls, find the last of them, were asked for 3 times in a row "
        "with the same arguments (loop_repeat_threshold 2)"
    )


@given(calls=st.lists(FEW, max_size=40), threshold=st.integers(1, 4))
def test_a_loop_is_a_block_of_calls_that_is_repeated(
    calls: list[ToolCall], threshold: int
) -> None:
    """A run ends at the first call behind which the same 1 to 6 calls stand once too often."""
    rounds = threshold + 1

    def repeats(end: int, length: int) -> bool:
        behind = calls[max(end - length * rounds, 0) : end]
        return behind == behind[:length] * rounds

    expected = next(
        (
            end
            for end in range(1, len(calls) + 1)
            if any(repeats(end, length) for length in range(1, MAX_CYCLE_CALLS + 1))
        ),
        None,
    )

    assert ended_at(calls, threshold) == expected


@given(before=DIFFERENT, pattern=st.integers(1, MAX_CYCLE_CALLS), threshold=st.integers(1, 9))
def test_any_circle_ends_where_it_closes_once_too_often(
    before: list[int], pattern: int, threshold: int
) -> None:
    """Whatever was asked for before it: different calls are no loop."""
    fresh = [a_call(n=number) for number in before]
    circle = [a_call(n=number) for number in range(pattern)] * (threshold + 2)

    assert ended_at(fresh, threshold) is None
    assert ended_at(fresh + circle, threshold) == len(before) + pattern * (threshold + 1)


def test_a_longer_circle_is_left_to_other_limits() -> None:
    """So is one with a tool in it that may be asked again and again."""
    assert ended_at([a_call(n=number) for number in range(MAX_CYCLE_CALLS + 1)] * 9, 1) is None
    ledger = Ledger()
    for _ in range(9):
        ledger = count_call(count_call(ledger, LOOK), a_call("poll"), pollable=True)
        assert check_loop(Budget(), ledger, LOOK) is None


@pytest.mark.parametrize(
    "between",
    [
        pytest.param(a_call(place="cellar"), id="other arguments"),
        pytest.param(a_call("find", place="attic"), id="another tool"),
        pytest.param(malformed("["), id="no arguments at all"),
    ],
)
def test_any_other_call_ends_a_streak(between: AnyCall) -> None:
    """Only calls in a row count: another one in between begins the count again."""
    assert check_loop(Budget(), counted([LOOK, LOOK, between, LOOK, LOOK]), LOOK) is None


def test_calls_that_cant_run_are_counted_like_others() -> None:
    """The same broken arguments again and again are a loop."""  # HG-15
    ledger = counted([malformed("[1, 2]")] * 3)

    assert check_loop(Budget(), ledger, malformed("[1, 2]")) is not None


@pytest.mark.parametrize(
    ("results", "failures"),
    [
        pytest.param([], 0, id="nothing yet"),
        pytest.param(["ok"], 0, id="success"),
        pytest.param(["error"], 1, id="error"),
        pytest.param(["denied"], 1, id="denied"),
        pytest.param(["aborted"], 1, id="aborted"),
        pytest.param(["outcome_unknown"], 1, id="outcome unknown"),
        pytest.param(["error", "denied", "error"], 3, id="of any sort"),
        pytest.param(["error", "error", "ok"], 0, id="then a success"),
        pytest.param(["error", "ok", "error"], 1, id="a success between"),
    ],
)
def test_a_success_ends_a_streak_of_failures(results: list[str], failures: int) -> None:
    """Failures count in a row, whatever tool and arguments they had."""  # HG-17
    ledger = Ledger()
    for number, status in enumerate(results):
        ledger = count_result(ledger, _result(a_call(n=number), status))

    assert ledger.failures_in_a_row == failures


@pytest.mark.parametrize(
    ("limit", "failures", "stops"),
    [(1, 0, False), (1, 1, True), (3, 2, False), (3, 3, True), (3, 4, True)],
)
def test_so_many_failures_in_a_row_stop_a_run(limit: int, failures: int, *, stops: bool) -> None:
    """At the limit, and not one failure later, the run is stopped."""  # HG-17 TS-10
    budget = Budget(max_consecutive_failures=limit)

    stop = check_failures(budget, Ledger(failures_in_a_row=failures))

    assert (stop is not None) is stops
    assert stop is None or stop.reason == f"max_consecutive_failures ({limit}) reached"


def test_counting_changes_nothing_else() -> None:
    """What a run has used stays as it is."""
    used = Ledger(steps=3, tool_calls=2, waited=1.5)

    assert reset_calls(count_call(used, LOOK)) == count_result(used, a_success(LOOK))


def _result(call: ToolCall, status: str) -> ToolResult:
    if status == "ok":
        return a_success(call)
    return a_failure(call).model_copy(update={"status": status})
