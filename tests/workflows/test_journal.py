"""What a run decides and nothing else in its history says stands in its journal."""

from datetime import timedelta

from holdfast.contracts.approvals import Review
from holdfast.contracts.control import Approach, Candidate, Checkpoint
from holdfast.contracts.journal import (
    AnswerWithheld,
    ApproachFailed,
    RequestClosed,
    RequestEscalated,
    RequestOpened,
)
from holdfast.contracts.signals import StopSignal
from holdfast.contracts.state.run import RunState
from holdfast.guardrails import review_approval
from holdfast.run import escalations, requests, verdicts
from holdfast.run.inbound import controls
from holdfast.run.transcript import build_continue_as_new_input, drop_candidate
from tests.builders import (
    NOW,
    a_call,
    a_request,
    a_state,
    an_approval,
    an_escalation,
    asked_for,
    ruled_upon,
    to_answer,
    to_approve,
    yes,
)
from tests.control.controlled import recorded
from tests.control.guarded import asked_next, guarded
from tests.control.test_reviews_of_guardrails import improving
from tests.memory.runs import MemoryRuns

PAY = a_call("pay", amount=900)
ASK = a_call("ask_user", "c2", question="Which one?")


def asked(*, escalate_after: float | None = None) -> RunState:
    """A run that waits for an approval and for an answer."""
    later = ("board",) if escalate_after else ()
    ruling = to_approve(PAY, count=2, escalate_after=escalate_after, escalate_to=later)
    return ruled_upon(asked_for(PAY, ASK), (ruling, to_answer(ASK)))


def test_a_request_is_told_as_it_opens() -> None:
    """With what its approval takes; a question takes none, and its words are the reason."""
    approval, question = asked().journal

    assert isinstance(approval, RequestOpened)
    assert isinstance(question, RequestOpened)
    assert (approval.request_id, approval.kind, approval.call_id) == ("req-1", "approval", "c1")
    assert approval.required is not None
    assert approval.required.count == 2
    assert (question.kind, question.reason, question.required) == ("question", "Which one?", None)


def test_a_very_long_reason_is_cut() -> None:
    """What a model asks may be long: it stands in its call."""
    question = requests.describe_opening(a_state(), a_request(reason="why? " * 10_000))

    assert len(question.reason) == requests.MAX_JOURNAL_REASON_CHARS


def test_what_time_does_to_a_request_is_told() -> None:
    """It goes to a second group, and then nobody may decide it any more."""
    state = asked(escalate_after=60)
    later, end = NOW + timedelta(seconds=60), NOW + timedelta(days=30)
    state = verdicts.after_timeout(state, later)
    told = verdicts.after_timeout(state, end).journal[2:]

    assert told == (
        RequestEscalated(request_id="req-1", groups=("board",), at=later),
        RequestClosed(request_id="req-1", outcome="expired", at=end),
        RequestClosed(request_id="req-2", outcome="expired", at=end),
    )


def test_what_a_message_does_is_not_told_twice() -> None:
    """The verdict on it is in history."""
    state = asked().with_(journal=())
    state, _ = verdicts.after_verdict(state, an_approval(), yes(), NOW)

    assert state.journal == ()


def test_who_stops_a_run_leaves_nothing_to_ask() -> None:
    """What is decided while the stop is heard opens no request, and history tells of none."""
    told = StopSignal(reason="enough", by="dana")
    stopped = controls.after_stop(asked_for(PAY, ASK), told, NOW)
    state = ruled_upon(stopped, (to_approve(PAY), to_answer(ASK)))

    assert (state.oversight.requests, state.journal) == ((), ())


def test_an_answer_that_is_withheld_is_told() -> None:
    """By whom, and nothing of it; where no answer waits there is nothing to withhold."""
    state = a_state().with_answering(candidate=Candidate(text="his address is", output=None))
    withheld = drop_candidate(state, "secrets")

    assert (withheld.answering.candidate, withheld.journal) == (
        None,
        (AnswerWithheld(by="secrets"),),
    )
    assert drop_candidate(withheld, "secrets") is withheld


def test_a_request_says_whether_it_shows_the_answer() -> None:
    """An escalation that quotes it does; one about something else doesn't."""
    about = [
        requests.describe_opening(a_state(), an_escalation(answer=answer)).shows_answer
        for answer in (None, "42")
    ]

    assert about == [False, True]


def test_an_approach_that_failed_is_told_as_it_is_kept() -> None:
    """What it was, why it failed and how far it came."""
    state = a_state().with_approaches(
        checkpoint=Checkpoint(items=0, model_index=0), current="I guess."
    )
    (told,) = escalations.end_approach(state, "it was wrong").journal

    assert told == ApproachFailed(
        approach=Approach(
            number=1,
            approach="I guess.",
            failure_reason="it was wrong",
            partial_progress="0 calls succeeded",
        )
    )


def test_the_journal_goes_on_with_its_run() -> None:
    """What history doesn't tell yet when a run continues as new the next execution tells."""
    carried = build_continue_as_new_input(asked())

    assert [event.type for event in carried.journal] == ["request.opened"] * 2


async def test_what_no_line_carries_is_put_on_record(memory_runs: MemoryRuns) -> None:
    """Words that make an answer none take back its review: the run says so before it goes on."""
    async with memory_runs.working(guarded(improving, review_approval())):
        run = await memory_runs.start("it")
        (first,) = await run.asked()
        await run.signal("steer", {"text": "Make it longer."})
        second = await asked_next(run, first)
        await run.approve(second.request_id, "dana")
        await run.result()
        lines = recorded(*await memory_runs.stories(run))

    assert isinstance(second, Review)
    assert "request.closed: req-1 · withdrawn" in lines
    assert [line.partition(": ")[0] for line in lines if "req-2" in line] == []
