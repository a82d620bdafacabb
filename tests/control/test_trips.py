"""What each tripwire leads to: with nobody to ask, with a person, with another approach to try."""

from datetime import timedelta

import pytest

from holdfast.contracts.base import digest
from holdfast.contracts.effects import Compensation
from holdfast.contracts.state.run import RunState
from holdfast.run import approvals, gates, steps, tripwires, turns, verdicts
from holdfast.run.steps import AskForReview, Guard
from tests.builders import NOW, a_call, allowed, an_approval, asked_for, ruled_upon, yes
from tests.control.ends import (
    a_guardrail,
    a_run,
    a_tripwire,
    answering,
    came_to,
    each,
    left,
    tried,
)

CALL = a_call("write", call_id="c1")
AFTER_ALL = NOW + timedelta(days=8)
BAD = "blocked: it is bad"


def about_to_call(left_to: str, on_trip: str) -> RunState:
    state = asked_for(
        CALL, state=a_run(left_to, guardrails=(a_guardrail("pre_execution", on_trip),))
    )
    state = ruled_upon(state, (allowed(CALL),))
    return tripwires.after_calls(state, state.calls, (a_tripwire("c1"),), NOW)


def about_to_answer(left_to: str, layer: str, on_trip: str) -> RunState:
    state = answering(a_run(left_to, guardrails=(a_guardrail(layer, on_trip),)))
    step = steps.next_step(state, NOW)
    assert isinstance(step, Guard)
    assert step.moment in ("output", "post_action")
    return tripwires.after_answer(state, step.moment, (a_tripwire(),), NOW)


def said(state: RunState, decision: str) -> RunState:
    """What becomes of a run when people approve, reject, or let the time pass."""
    if decision == "silence":
        return turns.close_turn_if_complete(verdicts.expire_requests(state, AFTER_ALL), AFTER_ALL)
    message = an_approval(decision=decision)
    state, _ = verdicts.after_verdict(state, message, yes(), NOW)
    return turns.close_turn_if_complete(state, NOW)


@each
def test_a_bad_input_blocks(left_to: str) -> None:
    """Nothing else is tried."""  # GR-12
    state = a_run(left_to, guardrails=(a_guardrail("input", "block"),))

    assert came_to(tripwires.after_turn(state, (a_tripwire(),), NOW)) == BAD


@each
@pytest.mark.parametrize(
    ("decision", "expected"), [("approve", "goes on"), ("reject", BAD), ("silence", BAD)]
)
def test_a_bad_input_that_people_decide(left_to: str, decision: str, expected: str) -> None:
    """Approved it goes on; rejected or forgotten it is blocked for the guardrail's reason."""
    # GR-03 T-07
    state = a_run(left_to, guardrails=(a_guardrail("input", "ask"),))
    (look,) = gates.select_blocking_checks(state)
    goal = digest(look.subjects[0].model_dump(mode="json"))

    state = tripwires.after_turn(state, (a_tripwire(subject=goal),), NOW)

    assert came_to(state) == "people approve"
    assert came_to(said(state, decision)) == expected


@each
def test_a_bad_call_is_denied(left_to: str) -> None:
    """The model is told, and the loop goes on."""  # T-07
    state = about_to_call(left_to, "deny")

    assert came_to(state) == "goes on"
    assert [one.result and one.result.status for one in state.calls] == ["denied"]


@each
def test_a_bad_call_that_blocks(left_to: str) -> None:
    """The run ends, and its calls are aborted."""
    state = about_to_call(left_to, "block")

    assert came_to(state) == BAD
    assert state.conversation.items[-1].model_dump()["results"][0]["status"] == "aborted"


@each
@pytest.mark.parametrize(
    ("decision", "status"), [("approve", None), ("reject", "denied"), ("silence", "denied")]
)
def test_a_bad_call_that_people_decide(left_to: str, decision: str, status: str | None) -> None:
    """Approved it may run; rejected or forgotten it is denied, and the loop goes on."""
    state = about_to_call(left_to, "ask")
    assert came_to(state) == "people approve"

    state = said(state, decision)

    assert came_to(state) == "goes on"
    results = state.conversation.items[-1].model_dump().get("results", [{}])
    assert results[0].get("status") == status


@each
@pytest.mark.parametrize("layer", ["output", "post_action"])
@pytest.mark.parametrize(("before", "over"), [(0, False), (1, False), (2, True)])
def test_a_bad_answer_is_tried_again(left_to: str, layer: str, before: int, *, over: bool) -> None:
    """First what was done is taken back; at the bound the approach has failed, or the run."""
    # GR-13 GR-14
    state = about_to_answer(left_to, layer, "retry")
    assert came_to(state) == "taken back"

    state = state.with_answering(output_retries=before)
    state = tripwires.after_compensation(state, Compensation(), NOW)

    assert came_to(state) == (tried(left_to, BAD) if over else "goes on")


@each
@pytest.mark.parametrize("layer", ["output", "post_action"])
def test_a_bad_answer_that_blocks(left_to: str, layer: str) -> None:
    """What was done is taken back, and nothing else is tried."""  # GR-05
    state = about_to_answer(left_to, layer, "block")
    assert came_to(state) == "taken back"

    assert came_to(tripwires.after_compensation(state, Compensation(), NOW)) == BAD


@each
@pytest.mark.parametrize("layer", ["output", "post_action"])
@pytest.mark.parametrize("decision", ["approve", "reject", "silence"])
def test_a_bad_answer_that_people_decide(left_to: str, layer: str, decision: str) -> None:
    """It isn't out while they decide; rejected or forgotten, what was done is taken back."""
    state = about_to_answer(left_to, layer, "ask")
    assert (came_to(state), state.answering.answer) == ("people approve", None)

    state = said(state, decision)

    if decision == "approve":
        assert (came_to(state), state.answering.answer) == ("completed: an answer", "done")
        return
    assert came_to(state) == "taken back"
    state = tripwires.after_compensation(state, Compensation(), NOW)
    assert came_to(state).startswith("blocked: it is bad; ")


@each
@pytest.mark.parametrize(
    ("most", "otherwise"),
    [(2, "goes on"), (1, "stopped: max_consecutive_failures (1) reached")],
    ids=["first", "too many"],
)
def test_an_answer_that_fails_a_check(left_to: str, most: int, otherwise: str) -> None:
    """It goes back to the model, too many end the run; an approach ends with its first."""
    # GF-06
    check = a_guardrail("output", "retry")
    budget = {"max_consecutive_failures": most}
    state = answering(a_run(left_to, acceptance=(check,), budget=budget))

    state = tripwires.after_answer(state, "acceptance", (a_tripwire(),), NOW)

    expected = left(left_to, otherwise) if most == 1 else tried(left_to, otherwise)
    assert came_to(state) == expected


@each
@pytest.mark.parametrize("decision", ["approve", "reject", "silence"])
def test_an_answer_that_reviewers_reject(left_to: str, decision: str) -> None:
    """Approved it is out; rejected or forgotten it is taken back and tried again."""  # GR-27
    reviewed = a_guardrail("post_action", "retry", review={})
    state = answering(a_run(left_to, guardrails=(reviewed,)))
    step = steps.next_step(state, NOW)
    assert isinstance(step, AskForReview)
    state = approvals.open_review(state, step.under_review, step.requirement, NOW)
    assert (came_to(state), state.answering.answer) == ("people approve", None)

    state = said(state, decision)

    if decision == "approve":
        assert (came_to(state), state.answering.answer) == ("completed: an answer", "done")
        return
    assert came_to(state) == "taken back"
    assert came_to(tripwires.after_compensation(state, Compensation(), NOW)) == "goes on"


TWO = ("it", "that")


@pytest.mark.parametrize(
    ("on_trips", "expected"),
    [
        (("ask", "block"), "blocked: that is bad"),
        (("ask", "deny"), "goes on"),
        (("deny", "block"), "blocked: that is bad"),
        (("ask", "ask"), "people approve"),
    ],
)
def test_the_strictest_objection_to_a_call_counts(
    on_trips: tuple[str, str], expected: str
) -> None:
    """Nobody is asked to approve what another guardrail forbids."""
    found = zip(TWO, on_trips, strict=True)
    guardrails = tuple(a_guardrail("pre_execution", trip, name=name) for name, trip in found)
    state = asked_for(CALL, state=a_run("nobody", guardrails=guardrails))
    state = ruled_upon(state, (allowed(CALL),))

    tripped = tuple(a_tripwire("c1", name) for name in TWO)
    state = tripwires.after_calls(state, state.calls, tripped, NOW)

    assert came_to(state) == expected


@pytest.mark.parametrize(
    ("on_trips", "expected"),
    [
        (("ask", "block"), "blocked: that is bad"),
        (("ask", "retry"), "goes on"),
        (("retry", "block"), "blocked: that is bad"),
    ],
)
def test_the_strictest_objection_to_an_answer_counts(
    on_trips: tuple[str, str], expected: str
) -> None:
    """Whatever the order of the list is, none of them is forgotten."""
    found = zip(TWO, on_trips, strict=True)
    guardrails = tuple(a_guardrail("output", trip, name=name) for name, trip in found)
    state = answering(a_run("nobody", guardrails=guardrails))

    tripped = tuple(a_tripwire(guardrail=name) for name in TWO)
    state = tripwires.after_answer(state, "output", tripped, NOW)

    assert came_to(state) == "taken back"
    assert came_to(tripwires.after_compensation(state, Compensation(), NOW)) == expected


def test_all_that_ask_about_one_thing_ask_once() -> None:
    """People read every reason before they approve."""
    guardrails = tuple(a_guardrail("output", "ask", name=name) for name in TWO)
    state = answering(a_run("nobody", guardrails=guardrails))

    tripped = tuple(a_tripwire(guardrail=name) for name in TWO)
    state = tripwires.after_answer(state, "output", tripped, NOW)

    assert [one.reason for one in state.oversight.requests] == ["it is bad; that is bad"]
    assert said(state, "approve").answering.answer == "done"
