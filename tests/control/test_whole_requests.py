"""What people decide about is shown to its end; what is too large for that nobody approves."""

from pathlib import Path

import pytest

from holdfast import App, Triggers
from holdfast.contracts import bounds
from holdfast.contracts.approvals import Escalation, PendingPage, Review
from holdfast.contracts.base import digest
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.control import Candidate
from holdfast.contracts.effects import Compensation
from holdfast.contracts.guardrails import Signals
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import review_approval
from holdfast.run import approvals, escalations, gates, steps, tripwires
from holdfast.run.approvals import ReviewSubject
from holdfast.run.limits.triggers import Trigger
from holdfast.run.steps import AskForReview
from holdfast.testing import call, say
from tests.builders import NOW, a_call, a_state, allowed, asked_for, ruled_upon, to_approve
from tests.control.ends import a_guardrail, a_run, a_tripwire, answering, came_to
from tests.control.guarded import asked_next, decided, ended, guarded, on_word, over
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun
from tests.sample import lines

TAIL = "PAY 1,000,000 TO MALLORY"
LONG = f"{'Our quarter was quiet. ' * 1_000}bad\n{TAIL}"
LARGEST = f"{'🦔' * 145_000}bad\n{TAIL}"
"""About as many bytes as a reply may have."""

QUOTES = '"' * 290_000
"""Each of them is a backslash and a quote to whoever writes it as a text within a text."""

REVIEWED = review_approval()
ASKED_OUT = on_word("asks_out", "bad", "output", on_trip="ask")
ASKED_LAST = on_word("asks_last", "bad", "post_action", on_trip="ask")
ASKED_BEFORE = on_word("asks_before", "bad", "pre_execution", on_trip="ask")
ASKED_DONE = on_word("asks_done", "bad", "post_action", on_trip="ask", tools=("write",))


def unsure(text: str) -> App:
    """An agent of which nobody is sure, and that somebody is asked about."""
    triggers = Triggers(min_confidence=1.0, max_retries=None)
    wrong_shape = on_word("again", "nothing yet", "output")
    return guarded([say("nothing yet"), say(text)], wrong_shape, triggers=triggers, escalates=True)


async def shown(run: AnyRun) -> str:
    """What a person reads of the one request that is open."""
    await run.asked()
    page = await run.query("pending", PendingPage, {"offset": 0})
    (request,) = page.items
    assert isinstance(request, Review | Escalation)
    assert not request.left_out
    return (request.text if isinstance(request, Review) else request.answer) or ""


@pytest.mark.parametrize("text", [LONG, LARGEST], ids=["long", "largest"])
@pytest.mark.parametrize(
    "guardrail", [REVIEWED, ASKED_OUT, ASKED_LAST], ids=["review", "output", "post_action"]
)
async def test_an_answer_is_shown_to_its_end(
    memory_runs: MemoryRuns, guardrail: object, text: str
) -> None:
    """Whoever releases an answer has read all of it, as long as a model can make it."""  # GR-27
    async with memory_runs.working(guarded([say(text)], guardrail)):  # pyright: ignore[reportArgumentType] -- one of three
        run = await memory_runs.start("it")
        read = await shown(run)
        (request,) = await run.asked()
        await decided(run, request, "approve")
        result = await run.result()

    assert read == text
    assert (result.status, result.answer) == ("completed", text)


async def test_an_unsure_answer_is_shown_to_its_end(memory_runs: MemoryRuns) -> None:
    """Whoever lets a doubtful answer out has read all of it."""  # ES-11
    async with memory_runs.working(unsure(LONG)):
        run = await memory_runs.start("it")
        read = await shown(run)
        await run.signal("resolution", {"request_id": "req-1", "action": "resume"})
        result = await run.result()

    assert read == LONG
    assert (result.status, result.answer) == ("completed", LONG)


async def test_a_call_is_shown_to_its_end(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """An argument is shown word for word, each blank of it, before the call and after it."""
    # T-07
    log, text = str(tmp_path / "log"), f"bad{' ' * 6_000}{TAIL}"
    script = [call("write", log=log, text=text), say("done")]
    async with memory_runs.working(guarded(script, ASKED_BEFORE, ASKED_DONE)):
        run = await memory_runs.start("it")
        before = await shown(run)
        (first,) = await run.asked()
        await decided(run, first, "approve")
        second = await asked_next(run, first)
        after = await shown(run)
        await decided(run, second, "approve")
        found = await over(run)

    assert before == f'write(log="{log}", text="{text}")'
    assert after == f"{before}\n{found.results[0].model_dump_json(include={'summary', 'data'})}"
    assert found.result.status == "completed"


@pytest.mark.slow
async def test_a_call_that_cant_be_shown_is_refused(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Nobody is asked about it, it doesn't run, and the model is told why."""  # T-07
    log = str(tmp_path / "log")
    script = [call("write", log=log, text=f"bad{QUOTES}"), say("done")]
    found = await ended(memory_runs, guarded(script, ASKED_BEFORE))

    (failure,) = found.results
    assert isinstance(failure, ToolFailure)
    assert (failure.status, failure.type, lines(log)) == ("denied", "permission_denied", [])
    assert "what there is to read is too large to be shown whole" in failure.reason
    assert found.result.status == "completed"


async def test_a_long_word_of_a_reviewer_is_taken(memory_runs: MemoryRuns) -> None:
    """A rejection with a reason as long as it may be blocks the answer, and wedges nothing."""
    async with memory_runs.working(guarded([say("bad")], ASKED_OUT)):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await decided(run, request, "reject", "no " * 6_000)
        result = await run.result()

    assert (result.status, result.answer) == ("blocked", None)


TOO_LARGE = "x" * (bounds.MAX_REQUEST_BYTES + 1)


@pytest.mark.parametrize("layer", ["output", "post_action"])
def test_an_answer_that_cant_be_shown_is_blocked(layer: str) -> None:
    """It is taken back as one that somebody rejected, and nobody is asked."""
    state = answering(a_run("a person", guardrails=(a_guardrail(layer, "ask"),)))
    state = state.with_answering(candidate=Candidate(text=TOO_LARGE))

    gate = "output" if layer == "output" else "post_action"
    state = tripwires.after_answer(state, gate, (a_tripwire(),), NOW)

    assert (came_to(state), state.oversight.requests) == ("taken back", ())
    ended = tripwires.after_compensation(state, Compensation(), NOW)
    assert came_to(ended) == (
        "blocked: it is bad; what there is to read is too large to be shown whole to the person "
        "who would decide"
    )


def test_a_review_that_cant_be_shown_is_none() -> None:
    """What reviewers can't read is sent back."""
    reviewed = a_guardrail("post_action", "retry", review={})
    state = answering(a_run("nobody", guardrails=(reviewed,)))
    state = state.with_answering(candidate=Candidate(text=TOO_LARGE))
    step = steps.next_step(state, NOW)
    assert isinstance(step, AskForReview)

    state = approvals.open_review(state, step.under_review, step.requirement, NOW)

    assert came_to(state) == "taken back"
    assert came_to(tripwires.after_compensation(state, Compensation(), NOW)) == "goes on"


def test_a_domain_that_cant_be_shown_is_left_alone() -> None:
    """A run whose first effect is too large to be read has none."""
    state = asked_for(a_call("write"))
    domain = "domain:payments"
    under_review = ReviewSubject(
        domain, (domain,), "Sensitive domain requires human review", TOO_LARGE
    )

    state = approvals.open_review(state, under_review, state.agent.review, NOW)

    assert came_to(state) == "stopped: Sensitive domain requires human review"
    assert state.stop is not None
    assert "too large to be shown whole" in state.stop.detail


def test_inputs_that_cant_be_shown_are_blocked_once() -> None:
    """When the first of them has ended the run nobody is asked about the second."""
    state = a_run("a person", guardrails=(a_guardrail("input", "ask", watches=("words",)),))
    words = (UserTurn(text=TOO_LARGE, origin="steer"), UserTurn(text="small", origin="steer"))
    state = state.with_conversation(items=(*state.conversation.items, *words))
    ((_, subjects),) = gates.select_blocking_checks(state)
    tripped = [a_tripwire(subject=digest(one.model_dump(mode="json"))) for one in subjects]

    state = tripwires.after_turn(state, tuple(tripped), NOW)

    assert len(tripped) == 2
    assert (came_to(state), state.oversight.requests) == ("blocked: it is bad", ())


def test_an_approval_that_cant_be_shown_is_refused() -> None:
    """A call with a draft and arguments that no page holds isn't asked about."""
    call = a_call("send", text=TOO_LARGE)
    state = ruled_upon(asked_for(call), (to_approve(call),))

    (failed,) = state.calls
    assert (state.oversight.requests, failed.decision is None) == ((), False)
    assert isinstance(failed.result, ToolFailure)
    assert "too large to be shown whole" in failed.result.reason
    assert ruled_upon(asked_for(call), (allowed(call),)).calls[0].result is None


def test_a_doubt_that_cant_be_shown_ends_the_run() -> None:
    """Nobody lets an answer out that they can't read."""
    doubt = Trigger("confidence:0.4", "pause_and_escalate", "Low confidence score", "0.4")
    state = a_state(escalates=True, triggers={"min_confidence": 1}).with_answering(
        candidate=Candidate(text=TOO_LARGE), signals=Signals(coverage=0)
    )

    state = escalations.pause(state, doubt, NOW)

    assert (came_to(state), state.answering.answer) == ("stopped: Low confidence score", None)
    assert state.stop is not None
    assert "too large to be shown whole" in state.stop.detail


def test_every_objection_is_shown() -> None:
    """However many object, and however long, people read each of them before they approve."""
    names = tuple(f"it{place}" for place in range(5))
    guardrails = tuple(a_guardrail("output", "ask", name=name) for name in names)
    state = answering(a_run("nobody", guardrails=guardrails))
    reasons = [f"{name}\nsays {'no ' * 1_000}to {name}" for name in names]
    verdicts = tuple(
        a_tripwire(guardrail=name).model_copy(update={"reason": reason})
        for name, reason in zip(names, reasons, strict=True)
    )

    (request,) = tripwires.after_answer(state, "output", verdicts, NOW).oversight.requests

    assert request.reason == "; ".join(" ".join(reason.split()) for reason in reasons)
