"""How runs end: an answer, a limit, a loop, failures, no model left."""

import pytest

from holdfast.contracts.calls import NEXT_VALID_ACTIONS, AnyCall, ToolFailure
from holdfast.contracts.model import StopCause
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import ToolTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import fallbacks, replies, steps, turns
from tests.builders import (
    MODEL,
    NOW,
    a_call,
    a_failure,
    a_malformed_call,
    a_reply,
    a_state,
    a_success,
    allowed,
    an_attempt,
    denied,
    ruled_upon,
    unknown,
)


def step(state: RunState) -> steps.Step:
    return steps.next_step(state, NOW)


def after(state: RunState, *outcomes: str) -> RunState:
    """A run after one more turn, with a new call for each outcome."""
    number = state.ledger.steps
    calls = [
        a_call(call_id=f"c{number}_{place}", n=number, m=place) for place in range(len(outcomes))
    ]
    rule = {"denied": denied, "unknown": unknown}
    state = replies.after_model(state, a_reply(*calls), NOW)
    rulings = tuple(
        rule.get(outcome, allowed)(call) for call, outcome in zip(calls, outcomes, strict=True)
    )
    state = turns.close_turn_if_complete(ruled_upon(state, rulings, NOW), NOW)
    results = tuple(
        a_success(call) if outcome == "ok" else a_failure(call)
        for call, outcome in zip(calls, outcomes, strict=True)
        if outcome not in rule
    )
    return turns.after_tools(state, results, NOW) if results else state


def asking(state: RunState, call: AnyCall) -> RunState:
    """A run whose model has just asked for a call, with the result of the one before."""
    state = replies.after_model(state, a_reply(call), NOW)
    if state.outcome is not None:
        return state
    state = ruled_upon(state, (allowed(call),), NOW)
    return turns.after_tools(state, (a_success(call),), NOW)


def test_an_answer_completes_the_run() -> None:
    """Words without calls at the end of a turn are the answer."""
    result = turns.build_result(replies.after_model(a_state(), a_reply(text="42"), NOW))

    assert (result.status, result.answer, result.stop) == ("completed", "42", None)
    assert (result.steps, result.model, result.provider_state) == (1, "scripted:it", None)


@pytest.mark.parametrize(
    ("cause", "text", "reason"),
    [
        pytest.param("max_tokens", "half an", "model stopped: max_tokens", id="cut off"),
        pytest.param("refusal", "I can't", "model stopped: refusal", id="refused"),
        pytest.param("content_filter", "", "model stopped: content_filter", id="filtered"),
        pytest.param("context_overflow", "", "model stopped: context_overflow", id="too long"),
        pytest.param("other", "hm", "model stopped: other", id="something else"),
        pytest.param("end_turn", "", "no_final_answer_or_tool_call", id="nothing"),
        pytest.param("end_turn", " \n", "no_final_answer_or_tool_call", id="only space"),
        pytest.param("tool_use", "", "no_final_answer_or_tool_call", id="calls announced"),
    ],
)
def test_what_is_no_answer_stops_the_run(cause: StopCause, text: str, reason: str) -> None:
    """Only a finished turn with words is an answer; anything else is reported as what it is."""
    # LP-08 T-48
    state = replies.after_model(a_state(models=(MODEL,)), a_reply(stop=cause, text=text), NOW)

    assert state.stop is not None
    assert (state.outcome, state.answering.answer, state.stop.reason) == ("stopped", None, reason)


@pytest.mark.parametrize("cause", ["tool_use", "end_turn", "max_tokens"])
def test_calls_count_whatever_the_turn_ended_with(cause: StopCause) -> None:
    """A reply holds complete calls only, so they are taken whatever stopped the model."""
    # T-27
    assert isinstance(
        step(replies.after_model(a_state(), a_reply(a_call(), stop=cause), NOW)), steps.Authorize
    )


@pytest.mark.parametrize("threshold", [1, 2, 3])
def test_one_identical_call_too_many_ends_the_run(threshold: int) -> None:
    """The call after so many identical ones in a row isn't executed."""
    # HG-10 TS-04
    state = a_state(budget={"loop_repeat_threshold": threshold})
    for number in range(threshold):
        state = asking(state, a_call(call_id=f"c{number}", place="attic"))
    assert state.outcome is None

    state = asking(state, a_call(call_id="last", place="attic"))

    assert state.stop is not None
    assert (state.outcome, state.stop.reason) == ("stopped", "loop detected: same tool, same args")
    assert state.conversation.items[-1] == ToolTurn(
        results=(
            ToolFailure(
                status="aborted",
                call_id="last",
                name="look",
                type="aborted",
                reason="loop detected: same tool, same args",
                next_valid_actions=NEXT_VALID_ACTIONS["aborted"],
            ),
        )
    )
    assert step(state) == steps.Finish()


def test_a_loop_within_one_turn_runs_nothing_of_it() -> None:
    """Identical calls beside each other count like those in a row; no call of the turn runs."""
    calls = [a_call(call_id=f"c{number}", place="attic") for number in range(3)]

    state = replies.after_model(
        a_state(), a_reply(a_call("send", call_id="c9", text="x"), *calls), NOW
    )

    last = state.conversation.items[-1]
    assert isinstance(last, ToolTurn)
    assert state.outcome == "stopped"
    assert [result.status for result in last.results] == ["aborted"] * 4


@pytest.mark.parametrize(
    "call", [a_call("nope"), a_malformed_call("look"), a_call("delete", record="x")]
)
def test_calls_that_never_run_count_too(call: AnyCall) -> None:
    """Unknown, malformed and denied calls are counted when they are asked for."""
    # HG-15 T-06
    state = a_state()
    for number in range(3):
        state = asking(state, call.model_copy(update={"call_id": f"c{number}"}))

    assert state.outcome == "stopped"


def test_a_pollable_tool_may_be_asked_again_and_again() -> None:
    """A tool that says so of itself isn't a loop, whatever the threshold."""
    state = a_state()
    for number in range(10):
        state = asking(state, a_call("poll", call_id=f"c{number}"))

    assert state.outcome is None


def test_a_loop_ends_even_a_run_that_escalates() -> None:
    """Somebody to ask doesn't help against going round in circles."""
    state = a_state(escalates=True)
    for number in range(3):
        state = asking(state, a_call(call_id=f"c{number}"))

    assert (state.outcome, state.oversight.requests) == ("stopped", ())


@pytest.mark.parametrize(
    ("turns", "failures"),
    [
        pytest.param([["error"], ["error"]], 2, id="turn after turn"),
        pytest.param([["error", "error"]], 2, id="in one turn"),
        pytest.param([["denied"], ["unknown"]], 2, id="of any sort"),
        pytest.param([["error"], ["ok"], ["error"]], 1, id="a success between"),
        pytest.param([["error", "ok"]], 0, id="success last"),
        pytest.param([["ok", "error"]], 1, id="failure last"),
    ],
)
def test_failures_in_a_row_are_counted(turns: list[list[str]], failures: int) -> None:
    """Results count in call order, whatever the arguments were."""
    # HG-17 PI-02
    state = a_state()
    for outcomes in turns:
        state = after(state, *outcomes)

    assert (state.ledger.failures_in_a_row, state.outcome) == (failures, None)


def test_too_many_failures_stop_a_run_that_nobody_watches() -> None:
    """Without somebody to ask the run stops, with the results in its transcript."""
    # HG-17 TS-10 T-08
    limited = a_state(budget={"max_consecutive_failures": 2})

    state = after(after(limited, "error"), "error")

    assert state.stop is not None
    assert (state.outcome, state.stop.reason) == (
        "stopped",
        "max_consecutive_failures (2) reached",
    )
    assert isinstance(state.conversation.items[-1], ToolTurn)
    assert step(state) == steps.Finish()


def test_too_many_failures_escalate_where_somebody_is_asked() -> None:
    """With somebody to ask the run waits, and goes on as they say."""
    # T-08
    watched = a_state(budget={"max_consecutive_failures": 2}, escalates=True)

    state = after(after(watched, "error"), "error")

    assert state.outcome is None
    assert [request.kind for request in state.oversight.requests] == ["escalation"]
    assert isinstance(step(state), steps.AwaitPeople)


def test_the_next_model_is_asked_when_one_fails() -> None:
    """The models of an agent are asked in order; the run stays with the one that answers."""
    state = fallbacks.after_failure(a_state(), an_attempt("overloaded"), CallUsage(), NOW)

    assert step(state) == steps.CallModel("other:second")
    assert (
        replies.after_model(state, a_reply(a_call(), model="other:second"), NOW).model
        == "other:second"
    )
    assert (state.outcome, state.ledger.steps) == (None, 0)


def test_a_run_without_a_model_left_has_failed() -> None:
    """When the only model fails the run ends, and says what the model said."""
    state = fallbacks.after_failure(
        a_state(models=(MODEL,)), an_attempt("no such key"), CallUsage(), NOW
    )

    assert state.stop is not None
    assert (state.outcome, state.answering.answer) == ("failed", None)
    assert (state.stop.reason, state.stop.detail) == ("no model answered", "no such key")
    assert turns.build_result(state).status == "failed"


def test_what_a_provider_asks_to_keep_is_kept_under_its_name() -> None:
    """The state of a provider is namespaced, and a reply without one leaves it as it is."""
    # PS-03 T-25
    kept = replies.after_model(
        a_state(), a_reply(a_call(), provider_state={"container_id": "x"}), NOW
    )
    silent = replies.after_model(kept, a_reply(a_call("look", call_id="c2", place="b")), NOW)

    assert kept.chain.provider_state == {"scripted": {"container_id": "x"}}
    assert silent.chain.provider_state == kept.chain.provider_state
    assert turns.build_result(silent).provider_state == {"scripted": {"container_id": "x"}}
    assert turns.build_model_call(silent, MODEL).provider_state == kept.chain.provider_state


def test_another_provider_begins_without_state() -> None:
    """When the run goes on with another provider, the state of the first is gone."""
    # T-25
    kept = replies.after_model(
        a_state(), a_reply(a_call(), provider_state={"container_id": "x"}), NOW
    )

    assert (
        fallbacks.after_failure(
            kept, an_attempt("overloaded"), CallUsage(), NOW
        ).chain.provider_state
        == {}
    )


def test_what_was_used_is_in_every_result() -> None:
    """However a run ends, its result says steps and usage."""
    reply = a_reply(stop="refusal", text="no", usage={"input_tokens": 5})
    result = turns.build_result(replies.after_model(a_state(), reply, NOW))

    assert (result.steps, result.usage.input_tokens, result.answer) == (1, 5, None)
