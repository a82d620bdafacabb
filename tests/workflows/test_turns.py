"""One turn: each call has an id of its own and exactly one result, and all come together."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast import Budget
from holdfast.contracts.calls import AnyCall, ToolCall, ToolResult
from holdfast.contracts.control import ModelFacts
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import replies, steps, turns
from holdfast.run.transcript import append_items, build_continue_as_new_input, halt
from tests.builders import (
    MODEL,
    NOW,
    a_call,
    a_failure,
    a_reply,
    a_state,
    a_success,
    a_transcript,
    allowed,
    asked_for,
    denied,
    ruled_upon,
    unknown_outcome,
)

LOOK = a_call("look", call_id="c1", place="a")
WRITE = a_call("write", call_id="c4", n=1)


def ruled(*calls: AnyCall) -> RunState:
    """A run whose calls were all allowed."""
    return ruled_upon(asked_for(*calls), tuple(map(allowed, calls)), NOW)


def test_results_come_in_the_order_of_the_calls() -> None:
    """However the calls ran, the model reads their results in the order of its calls."""
    # LP-09
    denied_too = a_call("delete", call_id="c6")
    state = ruled_upon(
        asked_for(WRITE, denied_too, LOOK),
        (allowed(WRITE), denied(denied_too), allowed(LOOK)),
        NOW,
    )

    state = turns.after_tools(state, (a_success(LOOK),), NOW)
    state = turns.after_tools(state, (a_failure(WRITE),), NOW)

    last = state.conversation.items[-1]
    assert isinstance(last, ToolTurn)
    assert [result.call_id for result in last.results] == ["c4", "c6", "c1"]
    assert isinstance(state.conversation.items[-2], AssistantTurn)
    assert (state.calls, state.ledger.tool_calls) == ((), 2)


@pytest.mark.parametrize("answer", [a_success, unknown_outcome])
def test_what_a_call_did_is_known_though_its_run_has_ended(
    answer: Callable[[ToolCall], ToolResult],
) -> None:
    """A person ends the run while a write is under way: what came of it is in the result."""
    # GR-13 T-42
    state = ruled(WRITE)
    stop = Stop(reason="aborted", detail="", next_safe_action="")
    ended = halt(state, stop, NOW)

    result = turns.build_result(
        turns.after_tools(ended, (answer(WRITE),), NOW, state.calls), has_parent=False
    )

    told = result.effects if answer is a_success else result.unresolved
    assert [effect.tool for effect in told] == ["write"]


def test_what_results_bring_is_counted_however_their_turn_ends() -> None:
    """The next message of a session reads them, though the work on this one ended in a turn."""
    # BY-52
    state = turns.after_tools(ruled(LOOK, WRITE), (a_success(LOOK),), NOW)
    limited = state.agent.budget.with_changes(Budget(max_result_chars=9_000))
    stop = Stop(reason="aborted", detail="", next_safe_action="")

    ended = halt(state.with_(agent=state.agent.with_(budget=limited)), stop, NOW)

    turn = ended.conversation.items[-1]
    assert isinstance(turn, ToolTurn)
    assert ended.ledger.result_chars == len(turn.model_dump_json(exclude={"filled"}))


def test_a_turn_isnt_over_before_its_last_call() -> None:
    """Results are held until all of a turn are in."""
    # T-21
    state = turns.after_tools(ruled(LOOK, WRITE), (a_success(LOOK),), NOW)

    assert not isinstance(state.conversation.items[-1], ToolTurn)
    assert steps.next_step(state, NOW) == steps.RunTools(state.calls[1:])


@given(
    st.lists(
        st.lists(st.sampled_from(["", "a", "a-1-1", "a-1-2", "a-2-1", "a-2-2"]), max_size=3),
        max_size=4,
    )
)
@example([["a", "a"]])
@example([["a"], ["a"]])
@example([["a"], ["a-2-2", "a"]])
def test_calls_are_told_apart(named: list[list[str]]) -> None:
    """No two calls of a run share an id: one's approval or result would be the other's."""
    ids: list[str] = []
    state = a_state()
    for turn, asked in enumerate(named):
        calls = [a_call("look", call_id=id_, turn=turn, n=n) for n, id_ in enumerate(asked)]
        state = replies.after_model(state, a_reply(*calls), NOW)
        told = tuple(call.call for call in state.calls)
        ids += [call.call_id for call in told]
        state = ruled_upon(state, tuple(map(allowed, told)), NOW)
        state = turns.after_tools(state, tuple(map(a_success, told)), NOW)

    assert len(ids) == len(set(ids))


def test_calls_are_told_apart_through_all_executions() -> None:
    """A call of a later execution doesn't get the id of one that nobody remembers."""
    first = turns.after_tools(ruled(LOOK), (a_success(LOOK),), NOW)
    long = append_items(first, *a_transcript([100] * 2000)[1:])

    again = replies.after_model(build_continue_as_new_input(long), a_reply(LOOK), NOW)

    assert again.calls[0].call.call_id != LOOK.call_id


def test_the_results_of_a_turn_fit_into_a_payload() -> None:
    """Results that together are too large to send are shown as stubs from where they are."""
    calls = [a_call("look", call_id=f"c{number}", n=number) for number in range(5)]
    results = tuple(a_success(call, "x" * 200_000) for call in calls)

    state = turns.after_tools(ruled(*calls), results, NOW)

    last = state.conversation.items[-1]
    assert isinstance(last, ToolTurn)
    assert [result.call_id for result in last.results] == ["c0", "c1", "c2", "c3", "c4"]
    assert last.results[:2] == results[:2]
    assert len(last.model_dump_json()) < 510_000


def test_a_call_that_is_broken_off_counts_as_what_was_reserved_for_it() -> None:
    """At first all that is known of a call is what was sent; later what the one before it used."""
    # BY-70
    price = ModelFacts(model=MODEL, input_price=Decimal(4))
    state = append_items(a_state(facts=(price,)), UserTurn(text="x" * 40_000, origin="goal"))

    first = turns.charge_broken_off(state).ledger
    used = CallUsage(input_tokens=70, output_tokens=7, estimated_cost=Decimal(1))
    later = turns.charge_broken_off(turns.charge(state, a_reply(usage=used))).ledger

    assert 10_000 <= first.usage.input_tokens < 11_000
    assert first.usage.estimated_cost == Decimal(4) * first.usage.input_tokens / 1_000_000
    assert (first.failed_usage, first.steps) == (first.usage, 0)
    assert later.usage == used + used


def test_what_is_broken_off_at_an_unknown_price_is_not_free() -> None:
    """Without a price nobody knows what it cost, and a limit on cost stops the run."""
    assert turns.charge_broken_off(a_state()).ledger.usage.estimated_cost is None
