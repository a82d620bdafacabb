"""What each cause leads to: with nobody to ask, with a person, with another approach to try."""

from datetime import timedelta

import pytest

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.control import AttemptKind
from holdfast.contracts.effects import Compensation
from holdfast.contracts.usage import CallUsage
from holdfast.run import (
    approvals,
    backtracking,
    compaction,
    escalations,
    fallbacks,
    gates,
    replies,
    steps,
    turns,
    verdicts,
)
from holdfast.run.approvals import ReviewSubject
from holdfast.run.steps import AskForReview, CallModel, Halt, Pause
from tests.builders import (
    LATER,
    MODEL,
    NOW,
    SOON,
    a_call,
    a_failure,
    a_reply,
    a_resolution,
    allowed,
    an_approval,
    an_attempt,
    asked_for,
    denied,
    ruled_upon,
    unknown,
    yes,
)
from tests.control.ends import a_guardrail, a_run, answering, asked, came_to, each, left, tried

CALL = a_call("write", call_id="c1")
NINE = CallUsage(input_tokens=9)
DEAR = CallUsage(estimated_cost=None)


@each
@pytest.mark.parametrize(
    ("limit", "used", "reason"),
    [
        ({"max_steps": 1}, Ledger(steps=1), "max_steps (1) reached"),
        ({"max_tokens": 9}, Ledger(usage=NINE), "max_tokens (9) reached"),
        ({"max_input_tokens": 9}, Ledger(usage=NINE), "max_input_tokens (9) reached"),
        ({"max_cost": "1"}, Ledger(usage=DEAR), "max_cost (1) can't be kept"),
        ({"max_result_chars": 5}, Ledger(result_chars=5), "max_result_chars (5) reached"),
        ({"max_wall_time": 60}, Ledger(), "max_wall_time (60 s) reached"),
    ],
    ids=["steps", "tokens", "input", "unknown price", "results", "time"],
)
def test_a_limit_stops_a_run(
    left_to: str, limit: dict[str, object], used: Ledger, reason: str
) -> None:
    """Limits are limits, whoever is there: nobody is asked, and nothing else is tried."""
    state = (
        a_run(left_to, budget=limit)
        .with_(ledger=used)
        .with_oversight(acknowledged=("tokens:9", "tokens:10"))
    )

    step = steps.next_step(state, LATER)

    assert isinstance(step, Halt)
    assert step.stop.reason == reason


@each
def test_an_estimate_stops_a_run_or_asks_once(left_to: str) -> None:
    """Somebody who is there is asked before a call goes too far; the limit itself still holds."""
    # T-38
    seven = CallUsage(input_tokens=7)
    state = a_run(left_to, budget={"max_tokens": 10}).model_copy(
        update={"ledger": Ledger(usage=seven, last_call=seven)}
    )
    reason = "max_tokens (10) would be exceeded"

    step = steps.next_step(state, NOW)

    if isinstance(step, Halt):
        assert (state.agent.escalates, step.stop.reason) == (False, reason)
        return
    assert isinstance(step, Pause)
    assert (state.agent.escalates, step.trigger.reason) == (True, reason)
    waved = state.with_oversight(acknowledged=(step.trigger.name,))
    assert isinstance(steps.next_step(waved, NOW), CallModel)


@each
@pytest.mark.parametrize("limit", ["max_parallel_calls", "max_tool_calls"])
def test_too_many_calls_stop_a_run(left_to: str, limit: str) -> None:
    """None of the calls of such a turn runs."""
    two = (a_call("look", call_id="c1"), a_call("look", call_id="c2", place="x"))

    state = asked_for(*two, state=a_run(left_to, budget={limit: 1}))

    assert came_to(state) == f"stopped: {limit} (1) would be exceeded"


@each
def test_a_loop_ends_the_approach(left_to: str) -> None:
    """Nobody is asked about a loop: another approach is tried where there is one."""
    state = asked_for(CALL, state=a_run(left_to, budget={"loop_repeat_threshold": 1}))
    state = asked_for(a_call("write", call_id="c2"), state=state)

    assert came_to(state) == tried(left_to, "stopped: loop detected: same tool, same args")


@each
def test_a_circle_of_calls_ends_the_approach(left_to: str) -> None:
    """Two calls in turn are no better than one again and again."""  # HG-10
    state = a_run(left_to, budget={"loop_repeat_threshold": 1})
    for number in (1, 2, 1):
        state = state.model_copy(update={"calls": ()})
        state = asked_for(
            a_call(call_id=f"c{len(state.conversation.items)}", place=str(number)), state=state
        )
        assert came_to(state) == "goes on"

    state = asked_for(a_call(call_id="last", place="2"), state=state)

    assert came_to(state) == tried(left_to, "stopped: loop detected: same cycle of calls")


@each
def test_failures_in_a_row(left_to: str) -> None:
    """They stop a run, have it ask a person, or end the approach."""  # T-08
    state = asked_for(CALL, state=a_run(left_to, budget={"max_consecutive_failures": 1}))
    state = ruled_upon(state, (allowed(CALL),))

    state = turns.after_tools(state, (a_failure(CALL),), NOW)

    assert came_to(state) == left(left_to, "stopped: max_consecutive_failures (1) reached")


@each
def test_answers_that_never_fit(left_to: str) -> None:
    """An answer that doesn't fit its shape is a failure like others."""
    state = a_run(left_to, budget={"max_consecutive_failures": 1})

    state = replies.after_model(state, a_reply(objections=("no JSON",)), NOW)

    assert came_to(state) == left(left_to, "stopped: max_consecutive_failures (1) reached")


@each
@pytest.mark.parametrize("ruling", [denied, unknown], ids=["denied", "unknown"])
def test_a_call_that_may_not_run(left_to: str, ruling: type) -> None:
    """The model is told why, whoever is there, and the loop goes on."""  # T-07 HG-14
    state = asked_for(CALL, state=a_run(left_to))

    state = turns.close_turn_if_complete(ruled_upon(state, (ruling(CALL),)), NOW)

    assert came_to(state) == "goes on"
    assert state.calls == ()


@each
@pytest.mark.parametrize("kind", ["auth", "permission", "context_overflow", "content_filtered"])
def test_a_failure_that_no_other_model_mends(left_to: str, kind: AttemptKind) -> None:
    """It ends the run, whoever is there."""  # T-36
    state = fallbacks.after_failure(a_run(left_to), an_attempt(kind=kind), CallUsage(), NOW)

    assert came_to(state) == f"failed: model failed: {kind}"


@each
def test_workers_that_are_lost_over_and_over(left_to: str) -> None:
    """No other model is asked what ends workers, and the reason names them, not the model."""
    state = a_run(left_to, models=(MODEL, "other:second"))

    state = fallbacks.after_failure(state, an_attempt(kind="worker_lost"), CallUsage(), NOW)

    assert came_to(state) == "failed: worker lost"


@each
@pytest.mark.parametrize("stop", ["refusal", "content_filter", "max_tokens"])
def test_a_reply_that_is_no_answer(left_to: str, stop: str) -> None:
    """What the model declined, or our limit cut off, ends the run, whoever is there."""  # T-48
    state = replies.after_model(a_run(left_to), a_reply(stop=stop), NOW)

    assert came_to(state) == f"stopped: model stopped: {stop}"


@each
def test_a_failure_that_an_agent_wants_people_for(left_to: str) -> None:
    """Where nobody is there to be asked it stops."""
    state = a_run(left_to, fallback={"reactions": {"auth": "ask"}})

    state = fallbacks.after_failure(state, an_attempt(kind="auth"), CallUsage(), NOW)

    assert came_to(state) == asked(left_to, "failed: model failed: auth")


@each
def test_a_model_that_may_not_be_asked_once_more(left_to: str) -> None:
    """The budget that kept it from that is the reason, where nobody is there to be asked."""
    # BY-09 BY-10
    alone = {"models": (MODEL,), "budget": Budget(max_model_retries=2)}
    state = a_run(left_to, **alone)

    state = fallbacks.after_failure(state, an_attempt(), CallUsage(), NOW, limited=True)

    assert came_to(state) == asked(left_to, "stopped: max_model_retries (2) reached")


@each
def test_a_chain_without_a_model_left(left_to: str) -> None:
    """It asks a person; no other approach helps where no model answers."""
    state = a_run(left_to, models=(MODEL, "other:second"))
    state = fallbacks.after_failure(state, an_attempt(), CallUsage(), NOW)

    state = fallbacks.after_failure(state, an_attempt(), CallUsage(), NOW)

    assert came_to(state) == asked(left_to, "failed: All model fallbacks exhausted")


@each
def test_a_context_that_cant_be_made_smaller(left_to: str) -> None:
    """Two summaries that say nothing lead nowhere."""
    nothing = a_reply(text="")
    state = compaction.after_summary(compaction.request_summary(a_run(left_to)), nothing, NOW)

    state = compaction.after_summary(compaction.request_summary(state), nothing, NOW)

    assert came_to(state) == left(left_to, "stopped: the context can't be made smaller")


def test_each_approach_may_fail_at_a_summary_as_often() -> None:
    """What one failed at doesn't count against the next."""
    nothing = a_reply(text="")
    state = compaction.request_summary(a_run("another approach"))
    state = compaction.after_summary(state, nothing, NOW)
    state = backtracking.roll_back(escalations.end_approach(state, "no way"), Compensation(), NOW)

    state = compaction.after_summary(compaction.request_summary(state), nothing, NOW)

    assert came_to(state) == "goes on"


def test_what_people_let_a_guardrail_pass_counts_for_one_approach() -> None:
    """What was done is taken back: done again it is looked at again. The run itself they know."""
    answer = gates.objection(a_guardrail("output", "ask"), "a" * 64, "it is bad")
    state = a_run("another approach").with_oversight(reviewed=(answer, "domain:payments"))

    state = backtracking.roll_back(escalations.end_approach(state, "no way"), Compensation(), NOW)

    assert state.oversight.reviewed == ("domain:payments",)


@pytest.mark.parametrize("escalates", [False, True], ids=["nobody", "a person"])
def test_more_approaches_than_may_be(*, escalates: bool) -> None:
    """A person who lets the run go on grants one approach more; without one the run has failed."""
    state = a_run("another approach", escalates=escalates, backtracking={"max_backtracks": 0})
    state = backtracking.roll_back(escalations.end_approach(state, "no way"), Compensation(), NOW)

    if not escalates:
        assert came_to(state) == "failed: Max backtracks exceeded"
        return
    assert came_to(state) == "a person says how"
    state, _ = verdicts.after_verdict(state, a_resolution("resume"), yes(), NOW)
    assert came_to(state) == "goes on"
    state = state.with_approaches(current="then that")
    state = backtracking.roll_back(
        escalations.end_approach(state, "nor here"), Compensation(), NOW
    )
    assert came_to(state) == "a person says how"


@each
@pytest.mark.parametrize(
    ("used", "trigger"),
    [
        (Ledger(retries=4), "Multiple failures indicate unclear requirements"),
        (Ledger(usage=NINE), "Approaching token budget limit"),
        (Ledger(), "Task taking much longer than expected"),
    ],
    ids=["retries", "tokens", "time"],
)
def test_a_trigger_pauses_where_somebody_is_there(
    left_to: str, used: Ledger, trigger: str
) -> None:
    """Without a person it does nothing."""  # ES-07 ES-12 ES-13
    state = a_run(left_to, budget={"max_tokens": 10}, triggers={"expected_time": 60})

    step = steps.next_step(state.model_copy(update={"ledger": used}), LATER)

    paused = step.trigger.reason if isinstance(step, Pause) else None
    assert paused == (trigger if left_to == "a person" else None)


@each
def test_an_answer_that_nobody_is_sure_of(left_to: str) -> None:
    """A person looks at it first, where one is there; else the result says how sure one may be."""
    # ES-01 ES-06 ES-11
    state = answering(a_run(left_to)).model_copy(update={"ledger": Ledger(retries=3)})

    step = steps.next_step(state, NOW)

    if not isinstance(step, Pause):
        assert left_to != "a person"
        return
    state = escalations.pause(state, step.trigger, NOW)
    (request,) = state.oversight.requests
    assert (request.reason, came_to(state)) == ("Low confidence score", "a person says how")
    assert request.model_dump()["confidence"] == 0.4
    state, _ = verdicts.after_verdict(state, a_resolution("resume"), yes(), NOW)
    assert (state.answering.answer, state.answering.confidence) == ("done", 0.4)


@each
def test_a_sensitive_domain_is_reviewed_whoever_is_there(left_to: str) -> None:
    """Nothing with an effect begins before somebody approves."""  # ES-08
    state = asked_for(CALL, state=a_run(left_to))
    brief = state.brief.model_copy(update={"domain": "payments"})
    state = ruled_upon(state.model_copy(update={"brief": brief}), (allowed(CALL),))

    step = steps.next_step(state, NOW)

    assert isinstance(step, AskForReview)


@pytest.mark.parametrize(
    ("rejected", "detail", "who"),
    [
        (True, "rejected by alice: never pay them", "alice"),
        (False, "nobody decided in time", ""),
    ],
    ids=["rejected", "expired"],
)
@pytest.mark.parametrize(
    ("subject", "status"),
    [("domain:payments", "stopped"), ("guardrail:it:goal", "blocked")],
    ids=["a domain", "an input"],
)
def test_a_rejected_review_says_who_ended_the_run(
    subject: str, status: str, detail: str, who: str, *, rejected: bool
) -> None:
    """Silence ends the run too, but nobody did it."""
    # ES-08
    state = a_run("nobody", guardrails=(a_guardrail("input", "ask"),))
    under_review = ReviewSubject(subject, (subject,), "look", "pay them")
    state = approvals.open_review(state, under_review, Requirement(), NOW)

    if rejected:
        message = an_approval(decision="reject", reason="never pay them")
        state, _ = verdicts.after_verdict(state, message, yes(), SOON)
    else:
        state = verdicts.expire_requests(state, LATER + timedelta(days=9))

    assert came_to(state) == f"{status}: look"
    assert state.stop is not None
    assert (state.stop.detail, state.stop.ended_by) == (detail, who)
