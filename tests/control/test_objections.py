"""What an approval of a review counts for: the objections that stood in it, and no other."""

import pytest

from holdfast.contracts.guardrails import GuardrailVerdict, Subject
from holdfast.run import gates, steps, tripwires, verdicts
from holdfast.run.steps import AskForReview, AwaitPeople
from tests.builders import NOW, a_call, allowed, an_approval, asked_for, ruled_upon, yes
from tests.control.ends import a_guardrail, a_run, a_tripwire, answering, came_to
from tests.control.test_trips import CALL, TWO, said

IT, THAT = a_tripwire("c1", "it"), a_tripwire("c1", "that")
IT_AGAIN, THAT_AGAIN = IT, THAT.model_copy(update={"constraints": ("keep to it",)})
ANOTHER = a_tripwire("c1", "it", reason="is worse")


@pytest.mark.parametrize(
    ("before", "after", "asked_about"),
    [
        pytest.param((IT,), (IT_AGAIN,), None, id="the same"),
        pytest.param((IT, THAT), (THAT_AGAIN, IT_AGAIN), None, id="both"),
        pytest.param((IT, THAT), (THAT,), None, id="one of both"),
        pytest.param((IT,), (THAT,), "that is bad", id="another guardrail"),
        pytest.param((IT,), (IT, THAT), "that is bad", id="one more guardrail"),
        pytest.param((IT,), (ANOTHER,), "it is worse", id="another reason"),
        pytest.param((IT,), (IT, ANOTHER), "it is worse", id="one more reason"),
    ],
)
def test_an_approval_counts_for_the_objections_that_stood_in_the_review(
    before: tuple[GuardrailVerdict, ...],
    after: tuple[GuardrailVerdict, ...],
    asked_about: str | None,
) -> None:
    """What came up while somebody thought, nobody has approved: they are asked about that too."""
    guardrails = tuple(a_guardrail("pre_execution", "ask", name=name) for name in TWO)
    state = asked_for(CALL, state=a_run("nobody", guardrails=guardrails))
    state = ruled_upon(state, (allowed(CALL),))
    state = tripwires.after_calls(state, state.calls, before, NOW)
    state = gates.invalidate_call_checks(said(state, "approve"))

    state = tripwires.after_calls(state, state.calls, after, NOW)

    assert [one.reason for one in state.oversight.requests] == (
        [asked_about] if asked_about else []
    )
    if asked_about:
        state, _ = verdicts.after_verdict(state, an_approval("req-2"), yes(), NOW)
        state = tripwires.after_calls(gates.invalidate_call_checks(state), state.calls, after, NOW)
        assert (came_to(state), state.calls[0].result) == ("goes on", None)


def test_each_call_has_its_own_objections() -> None:
    """The same reason against another call is another objection."""
    both = (CALL, a_call("write", call_id="c2"))
    guardrails = (a_guardrail("pre_execution", "ask"),)
    state = asked_for(*both, state=a_run("nobody", guardrails=guardrails))
    state = ruled_upon(state, tuple(map(allowed, both)))
    state = tripwires.after_calls(state, state.calls, (IT,), NOW)
    state = gates.invalidate_call_checks(said(state, "approve"))

    other = a_tripwire("c2", subject="t" * 64)
    state = tripwires.after_calls(state, state.calls, (IT, other), NOW)

    assert [one.model_dump()["call_id"] for one in state.oversight.requests] == ["c2"]


@pytest.mark.parametrize("layer", ["input", "post_action"])
def test_who_approves_one_of_two_reviews_has_not_approved_the_other(layer: str) -> None:
    """Each guardrail that looked at what is new asks for itself, and is waited for."""
    guardrails = tuple(
        a_guardrail(layer, "ask", name=name, tools=("write",) * (layer != "input")) for name in TWO
    )
    state = a_run("nobody", guardrails=guardrails)
    goal = gates.digest_subject(
        Subject(kind="goal", text=state.conversation.items[0].model_dump()["text"])
    )
    state = tripwires.after_turn(
        state, tuple(a_tripwire(guardrail=name, subject=goal) for name in TWO), NOW
    )

    once = said(state, "approve")

    assert [one.reason for one in once.oversight.requests] == ["that is bad"]
    assert isinstance(steps.next_step(once, NOW), AwaitPeople)
    assert came_to(said(once, "silence")) in {"blocked: that is bad", "taken back"}


def test_what_a_review_of_an_answer_stood_for_is_that_review() -> None:
    """Approved despite a tripwire, an answer still lacks the review that it must have."""
    reviewed = a_guardrail("post_action", "retry", name="that", review={})
    state = answering(a_run("nobody", guardrails=(a_guardrail("output", "ask"), reviewed)))
    answer = gates.digest_subject(gates.build_candidate_subject(state))
    state = tripwires.after_answer(state, "output", (a_tripwire(subject=answer),), NOW)

    state = said(state, "approve")

    step = steps.next_step(state, NOW)
    assert isinstance(step, AskForReview)
    assert step.under_review.reason == "that: somebody must review this"
