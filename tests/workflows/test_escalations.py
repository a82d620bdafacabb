"""What becomes of a run that nobody decides about in time, or that somebody must resolve."""

from datetime import timedelta

import pytest

from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.control import Checkpoint, ProviderWait
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.signals import (
    ResolutionSignal,
)
from holdfast.contracts.state.phase import Stopping
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.contracts.usage import UsageMetrics
from holdfast.guardrails import secret_detection
from holdfast.run import escalations, tool_results, verdicts
from holdfast.run.limits.triggers import Trigger
from holdfast.run.transcript import append_items
from tests.builders import (
    LATER,
    MODEL,
    NOW,
    SOON,
    a_call,
    a_resolution,
    a_state,
    a_success,
    an_escalation,
    asked_for,
    ruled_upon,
    to_answer,
    to_approve,
    yes,
)

STOP = Stop(reason="max_consecutive_failures (2) reached", detail="2 calls", next_safe_action="x")
LOW = Trigger("confidence:0.4", "pause_and_escalate", "Low confidence score", "0.4")


def waiting() -> RunState:
    """A run that waits for an approval and for an answer."""
    send, ask = a_call("send", call_id="c1"), a_call("ask", call_id="c2")
    return ruled_upon(asked_for(send, ask), (to_approve(send), to_answer(ask)), NOW)


def told(state: RunState, message: ResolutionSignal) -> RunState:
    return verdicts.after_verdict(state, message, yes(), SOON)[0]


@pytest.mark.parametrize(
    ("seconds", "open_"),
    [
        pytest.param(-1, ["req-1", "req-2"], id="before"),
        pytest.param(0, [], id="at the instant"),
        pytest.param(1, [], id="after"),
    ],
)
def test_what_nobody_decides_is_denied(seconds: float, open_: list[str]) -> None:
    """At its instant a request expires and its call is answered with a denial."""
    after = verdicts.expire_requests(waiting(), LATER + timedelta(seconds=seconds))

    assert [request.request_id for request in after.oversight.requests] == open_
    if not open_:
        results = [call.result for call in after.calls]
        assert all(isinstance(found, ToolFailure) for found in results)
        assert results[0] == ToolFailure(
            status="denied",
            call_id="c1",
            name="send",
            type="approval_required",
            reason="nobody decided req-1 until 2026-03-01 13:00",
            next_valid_actions=("ask for it again", "go on without"),
        )
        assert [closed.outcome for closed in after.oversight.closed] == ["expired", "expired"]


def test_an_escalation_asks_how_the_run_goes_on() -> None:
    """Instead of stopping, an agent with a human channel waits for a resolution."""
    # T-08
    state = escalations.escalate(a_state(), STOP, NOW, escalations.FAILURES)

    assert state.oversight.requests == (
        an_escalation(
            reason="max_consecutive_failures (2) reached",
            detail="2 calls",
            trigger="failures",
            usage=UsageMetrics(),
            next_safe_action="x",
        ),
    )
    assert state.outcome is None


def escalated() -> RunState:
    state = escalations.escalate(
        a_state(budget={"max_steps": 5, "max_tokens": 9}), STOP, NOW, escalations.FAILURES
    )
    streaks = {"failures_in_a_row": 2, "recent_calls": ("a",), "recurrences": (2,)}
    ledger = state.ledger.model_copy(update=streaks)
    return state.model_copy(update={"ledger": ledger})


@pytest.mark.parametrize(
    ("message", "steps", "words"),
    [
        pytest.param(a_resolution("resume"), 5, [], id="resume"),
        pytest.param(a_resolution("resume", guidance="try b"), 5, ["try b"], id="with guidance"),
        pytest.param(a_resolution("extend", budget={"max_steps": 9}), 9, [], id="extend"),
    ],
)
def test_a_resolved_run_goes_on(message: ResolutionSignal, steps: int, words: list[str]) -> None:
    """Streaks begin anew, guidance reaches the next turn, and only `extend` changes the budget."""
    state = told(escalated(), message)

    assert (state.oversight.requests, state.outcome) == ((), None)
    ledger = state.ledger
    assert (ledger.failures_in_a_row, ledger.recent_calls, ledger.recurrences) == (0, (), ())
    assert (state.agent.budget.max_steps, state.agent.budget.max_tokens) == (steps, 9)
    assert state.conversation.steers == tuple(
        UserTurn(text=word, origin="guidance") for word in words
    )


@pytest.mark.parametrize(
    ("guidance", "detail"),
    [(None, "2 calls; aborted by a person"), ("it is enough", "2 calls; it is enough")],
)
def test_an_aborted_run_is_stopped(guidance: str | None, detail: str) -> None:
    """`abort` ends the run for the reason for which it was escalated."""
    state = told(escalated(), a_resolution("abort", guidance=guidance))

    assert state.stop is not None
    assert (state.outcome, state.oversight.requests) == ("stopped", ())
    assert (state.stop.reason, state.stop.detail) == (STOP.reason, detail)
    assert state.stop.ended_by == "a person"


def test_an_escalation_that_nobody_resolves_stops_the_run() -> None:
    """Silence is no permission to go on."""
    state = verdicts.expire_requests(escalated(), LATER)

    assert state.stop is not None
    assert (state.outcome, state.oversight.requests) == ("stopped", ())
    assert (state.stop.detail, state.stop.ended_by) == ("2 calls; nobody resolved it in time", "")
    assert state.oversight.closed[0].outcome == "expired"


@pytest.mark.parametrize("aborted", [True, False], ids=["aborted", "expired"])
@pytest.mark.parametrize(
    ("state", "action"),
    [
        (escalated(), "x"),
        (
            escalations.pause(a_state(), LOW, NOW),
            "look at the trace, then start again with a clearer or smaller task",
        ),
    ],
    ids=["a stop", "a trigger"],
)
def test_what_is_next_is_that_of_the_stop(state: RunState, action: str, *, aborted: bool) -> None:
    """Whoever doesn't let a run go on reads what to do about the cause of the escalation."""
    # BY-10
    state = (
        told(state, a_resolution("abort")) if aborted else verdicts.expire_requests(state, LATER)
    )

    assert state.stop is not None
    assert state.stop.next_safe_action == action


def test_who_ended_a_run_is_left_out_where_it_is_empty() -> None:
    """Where there is nothing to say nothing is said."""
    assert "ended_by" not in STOP.model_dump()


def test_words_since_a_place_are_said_again() -> None:
    """Words of people, answers too, and constraints are said again; a plan and results aren't."""
    # BT-05
    calls = tuple(a_call("ask_user", f"q{at}", question=f"{at}?") for at in (1, 2))
    steer, guidance, bound = (
        UserTurn(text=one, origin=one) for one in ("steer", "guidance", "constraint")
    )
    said = a_state()
    state = append_items(
        said,
        *(UserTurn(text=one, origin=one) for one in ("plan", "notice", "findings")),
        steer,
        AssistantTurn(model=MODEL, calls=(*calls, a_call(call_id="c3"))),
        ToolTurn(
            results=(
                tool_results.build_answer(calls[0], "the blue one", None),
                tool_results.build_denial(calls[1], "approval_required", "nobody answered"),
                a_success(a_call(call_id="c3")),
            )
        ),
        guidance,
        bound,
    )

    answer = UserTurn(text='Asked "1?", a person answered: the blue one', origin="guidance")
    assert escalations.words_since(state, len(said.conversation.items)) == (
        steer,
        answer,
        guidance,
        bound,
    )
    assert escalations.words_since(state, len(state.conversation.items)) == ()


def test_a_run_that_is_stopped_ends_for_no_other_reason() -> None:
    """What fails while it comes to its end asks nobody, and is not what it ended for."""
    # BY-44
    said = Stop(reason="stopped by a person", detail="enough", next_safe_action="none")
    state = a_state().with_(phase=Stopping(stop=said))
    again = state.with_approaches(checkpoint=Checkpoint(items=1, model_index=0))

    assert escalations.give_up(state, STOP, NOW) == state
    assert escalations.give_up(again, STOP, NOW) == again


@pytest.mark.parametrize("held", [False, True], ids=["told", "withheld"])
def test_an_approach_came_as_far_as_it_did_itself(*, held: bool) -> None:
    """What an earlier one did is no progress of it; an answer isn't quoted, nor what is held."""
    # BT-05
    state = a_state(guardrails=(secret_detection().spec,) if held else ())
    earlier, call = a_call(call_id="c1"), a_call(call_id="c2")
    state = append_items(
        state,
        AssistantTurn(model=MODEL, text="first", calls=(earlier,)),
        ToolTurn(results=(a_success(earlier),)),
    )
    place = Checkpoint(items=len(state.conversation.items), model_index=0)
    state = append_items(
        state.with_approaches(checkpoint=place),
        AssistantTurn(model=MODEL, text="second", calls=(call,)),
        ToolTurn(results=(a_success(call),)),
        AssistantTurn(model=MODEL, text="an answer"),
    )

    assert escalations.describe_approach(state, "it failed").partial_progress == (
        f"1 call succeeded; it said at last: {WITHHELD if held else 'second'}"
    )


def test_who_lets_a_run_go_on_begins_with_what_had_come_to_its_end() -> None:
    """From the first model, with the tier once more; no retry is asked about twice."""
    # FB-14
    waits = ProviderWait(
        model=MODEL, kind="overloaded", error="no room", since=NOW, until=LATER, tries=1
    )
    state = a_state()
    ledger = state.ledger.model_copy(update={"retries": 4})
    state = (
        state.with_(ledger=ledger)
        .with_chain(model_index=1, provider_state={"place": 1}, provider_wait=waits)
        .with_parts(tier=2, tier_failure="no needle")
    )

    models, tiers, backtracks, failures = (
        told(escalations.escalate(state, STOP, NOW, trigger), a_resolution("resume"))
        for trigger in ("models", "tiers", "backtracks", "failures")
    )

    assert models.chain == a_state().chain
    assert (models.parts, tiers.chain) == (state.parts, state.chain)
    assert (tiers.parts.tier, tiers.parts.tier_failure) == (1, "")
    assert backtracks.oversight.acknowledged == ("backtracks", "retries:4")
    assert failures.oversight.acknowledged == ("failures",)


def test_only_the_stop_of_a_tier_may_quote_a_model() -> None:
    """It is told to nobody who may not read an answer."""
    # BY-10
    tiers, models = (
        told(escalations.escalate(a_state(), STOP, NOW, trigger), a_resolution("abort")).stop
        for trigger in ("tiers", "models")
    )

    assert tiers is not None
    assert models is not None
    assert (tiers.quotes, models.quotes) == (True, False)


@pytest.mark.parametrize(
    ("failed", "granted", "left"), [(1, 0, True), (2, 0, False), (2, 1, True), (3, 1, False)]
)
def test_a_person_grants_one_more_approach_each_time(
    failed: int, granted: int, *, left: bool
) -> None:
    """Behind the first and the one for which the run may go back itself."""
    # BT-06
    approach = escalations.describe_approach(a_state(), "it failed")
    state = (
        a_state(backtracking={"max_backtracks": 1})
        .with_approaches(failed=(approach,) * failed)
        .with_oversight(acknowledged=(escalations.BACKTRACKS,) * granted)
    )

    assert escalations.can_try_again(state) == left
