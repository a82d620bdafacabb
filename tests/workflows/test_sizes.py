"""Sizes: whatever a run has to send fits into a payload, or it says that it doesn't."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.contracts import bounds
from holdfast.contracts.approvals import (
    ApprovalRequest,
    JudgeInput,
    Request,
    outline,
)
from holdfast.contracts.bounds import MAX_VERDICT_REASON_CHARS
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.control import Approach, Candidate
from holdfast.contracts.effects import Effect
from holdfast.contracts.signals import (
    ApprovalSignal,
)
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import ToolTurn, UserTurn
from holdfast.policy.approvals import judge
from holdfast.policy.trust import Trust
from holdfast.run import context, requests, steps, tiers, turns
from holdfast.run.steps import ContinueAsNew, Halt
from holdfast.run.transcript import append_items, build_continue_as_new_input, limit_results
from holdfast.workflows import commands, views
from holdfast.workflows.views import PageQuery
from tests.builders import NOW, a_call, a_failure, a_request, a_state, a_success, asked_for

LENGTHS = (0, 10, 1_000, 19_000, 150_000)
LETTERS = ("x", "\u20ac", "\u0001", '"', "\U0001f600")
TEXTS = st.sampled_from([letter * length for letter in LETTERS for length in LENGTHS])
FEW = settings(max_examples=30)


def results_of(texts: Sequence[str]) -> tuple[ToolResult, ...]:
    return tuple(
        a_success(a_call(call_id=f"c{place}"), text)
        if place % 2
        else a_failure(a_call(call_id=f"c{place}"), text)
        for place, text in enumerate(texts)
    )


@FEW
@given(st.lists(TEXTS, min_size=1, max_size=60))
def test_the_results_of_a_turn_fit(texts: list[str]) -> None:
    """Successes and failures alike are cut where there is no room, and none is missing."""
    calls = tuple(a_call(call_id=f"c{n}", place=f"{n}") for n in range(len(texts)))
    state, results = asked_for(*calls), results_of(texts)

    shown = limit_results(state, results)

    assert [one.call_id for one in shown] == [one.call_id for one in results]
    assert bounds.size(shown) <= bounds.MAX_RESULTS_BYTES + len(texts)
    assert (
        bounds.size(shown) + context.size(state.conversation.items[-1])
        < bounds.MAX_TURN_BYTES + 1_000
    )


def requests_of(texts: Sequence[str]) -> tuple[Request, ...]:
    return tuple(
        a_request(f"req-{place}").model_copy(update={"preview": text})
        for place, text in enumerate(texts)
    )


@FEW
@given(st.lists(TEXTS, max_size=60))
@pytest.mark.slow
def test_what_waits_can_always_be_asked_for(texts: list[str]) -> None:
    """The list fits, says what it leaves out, and the pages have the whole of all."""
    state = a_state().with_oversight(requests=requests_of(texts))

    listed = views.pending(state.oversight.requests)
    paged: list[Request] = []
    offset: int | None = 0
    while offset is not None:
        page = views.pending_page(state.oversight.requests, PageQuery(offset=offset))
        assert bounds.size(page) <= bounds.MAX_PAYLOAD_BYTES or len(page.items) == 1
        paged += page.items
        offset = page.next_offset

    assert bounds.size(listed) <= bounds.MAX_PAYLOAD_BYTES
    assert tuple(paged) == state.oversight.requests
    for shown, whole in zip(listed, state.oversight.requests, strict=True):
        assert shown == whole or shown.left_out


def test_a_list_that_is_too_long_says_how_it_goes_on() -> None:
    """Where not even outlines of all requests fit, the last one tells of the others."""
    request = a_request("req-1").model_copy(update={"reason": "x" * 100_000})
    state = a_state().with_oversight(requests=(request,) * 20)

    listed = views.pending(state.oversight.requests)

    assert bounds.size(listed) <= bounds.MAX_PAYLOAD_BYTES
    assert f"{20 - len(listed)} more requests: see page {{offset: {len(listed)}}}" in str(
        listed[-1].left_out
    )


def test_an_outline_is_not_what_anybody_saw() -> None:
    """Its digest is another, so nobody decides about a request by its outline."""
    (request,) = requests_of(["x" * 900_000])
    (listed,) = views.pending((request,))

    assert isinstance(listed, ApprovalRequest)
    assert listed.preview is None
    assert listed.digest != request.digest


def grown(state: RunState, texts: Sequence[str]) -> RunState:
    """A run that read and heard a lot, with a turn that has yet to end."""
    for place, text in enumerate(texts):
        if requests.find_steering_refusal(state, text[:20_000]) is None:
            words = UserTurn(text=text[:20_000], origin="steer")
            state = requests.queue_steering(state, words, NOW)
        read = (a_success(a_call(call_id=f"o{place}"), text),)
        state = append_items(
            state, ToolTurn(results=context.fit_results(read, bounds.MAX_RESULTS_BYTES))
        )
    places = range(max(len(texts), 1))
    calls = tuple(a_call(call_id=f"c{place}", place=f"{place}") for place in places)
    state = asked_for(*calls, state=state)
    open_calls = tuple(
        call.model_copy(update={"result": result})
        for call, result in zip(state.calls, results_of(texts), strict=False)
    )
    return state.model_copy(update={"calls": open_calls or state.calls})


@FEW
@given(st.lists(TEXTS, max_size=30))
def test_a_new_execution_begins_with_what_can_be_sent(texts: list[str]) -> None:
    """Whatever happened, the state fits, or the run stops before it can't go on."""
    state = grown(a_state(), texts).model_copy(update={"suspended": True})

    step = steps.next_step(state, NOW, flooded=True)

    if isinstance(step, ContinueAsNew):
        fresh = build_continue_as_new_input(state)
        assert bounds.size(fresh) <= bounds.MAX_STATE_BYTES
        assert [one.call for one in fresh.calls] == [one.call for one in state.calls]
    else:
        assert isinstance(step, Halt)
        assert "too large" in step.stop.reason


def test_a_state_that_is_too_large_ends_the_run() -> None:
    """It can't be sent, so it is refused with a reason, and not tried for ever."""
    state = a_state().with_oversight(requests=requests_of(["x" * 900_000]))

    step = steps.next_step(state, NOW, flooded=True)

    assert isinstance(step, Halt)
    assert step.stop.reason == "too large to go on in a new execution"


@pytest.mark.parametrize(("length", "fits"), [(20_000, True), (30_000, False)])
def test_the_answers_of_all_parts_fit_together(length: int, fits: bool) -> None:
    """Parts whose answers are too large together have failed, and the reason says it."""
    ends = [Candidate(text="x" * length)] * 20

    end = tiers.combine_subtasks(a_state(), ["part"] * 20, ends)

    assert isinstance(end, Candidate) is fits
    if isinstance(end, tiers.TierFailure):
        assert "500,000 is most" in end.reason


@pytest.mark.parametrize("letter", LETTERS)
def test_a_result_fits_with_as_many_failed_approaches_as_there_is_room_for(letter: str) -> None:
    """A long answer and all that was done are told; of the approaches before it the latest are."""
    words = {"approach": letter * 4_000, "failure_reason": letter * 2_000, "partial_progress": ""}
    failed = tuple(Approach.model_validate({"number": n, **words}) for n in range(1, 21))
    effect = Effect(summary="x" * 200, outcome="done", digest="d" * 64, tool="send")
    state = (
        a_state()
        .with_(phase=Ended(outcome="completed"))
        .with_answering(answer="x" * 599_000)
        .with_approaches(failed=failed)
        .with_effects(done=(effect,) * 400)
        .with_chain(provider_state={"chain": "x" * 49_000})
    )

    result = turns.build_result(state, has_parent=True)

    assert bounds.size(result) <= bounds.MAX_PAYLOAD_BYTES
    assert len(result.effects) == 400
    assert result.attempts == failed[-len(result.attempts) :]
    assert len(result.attempts) > 5 or letter == "\u0001"


@FEW
@given(st.lists(TEXTS, max_size=40))
def test_words_that_no_model_has_read_fit_into_its_next_call(texts: list[str]) -> None:
    """However many people say something, it goes to the model in one payload."""
    state = a_state()
    for text in texts:
        if text and requests.find_steering_refusal(state, text) is None:
            state = requests.queue_steering(state, UserTurn(text=text, origin="steer"), NOW)
        state = turns.append_steering(state)

    call = turns.build_model_call(state, "scripted:it")

    assert bounds.size(call) < bounds.MAX_UNREAD_BYTES + 20_000


@FEW
@given(st.lists(st.integers(0, 199), max_size=300))
def test_what_judges_fits_into_a_payload(about: list[int]) -> None:
    """Messages are judged in their order, with outlines as large as these may be, once each."""
    large = {"action": "\U0001f600" * 500, "reason": "\U0001f600" * 500, "requester": "x" * 800}
    waiting = tuple(a_request(f"req-{number}").model_copy(update=large) for number in range(200))
    state = a_state().with_oversight(requests=waiting)
    left = [f"req-{number}" for number in about]
    while left:
        together = requests.count_judged_together(state, left)
        outlines = tuple(outline(waiting[int(name[4:])]) for name in {*left[:together]})

        assert together > 0
        assert bounds.size(outlines) < bounds.MAX_PAYLOAD_BYTES // 2
        left = left[together:]


def test_what_judges_gets_outlines_and_the_digest_of_the_whole() -> None:
    """A decision about what was seen counts, though what was shown isn't sent to be judged."""
    request = a_request("req-1").model_copy(update={"preview": "x" * 100_000})
    seen = ApprovalSignal(
        request_id="req-1", decision="approve", approver="alice", digest=request.digest
    )
    other = seen.model_copy(update={"digest": outline(request).digest})
    hearing = JudgeInput(
        run_id="run-1",
        agent="it",
        requester="bob",
        messages=(seen, other),
        requests=(outline(request),),
        closed=(),
        now=NOW,
        execution="run-1-first",
        digests={"req-1": request.digest},
    )

    verdicts = judge(hearing, Trust())

    assert [verdict.code for verdict in verdicts] == ["accepted", "changed"]
    assert bounds.size(hearing) < 10_000


@pytest.mark.parametrize("length", [10, 900, 1_990, 2_000, 100_000])
@pytest.mark.parametrize("stop", [1, None], ids=["failed", "too slow"])
def test_what_a_command_says_at_last_fits_into_a_finding(length: int, stop: int | None) -> None:
    """One long line of a test, which code that nobody trusts may print, wedges no run."""
    command = ("pytest", "x" * length)
    ended = commands.CommandResult(exit_code=stop, stdout="x" * length, stderr="")

    found = commands.build_failure_result(command, ended)

    assert found.tripwire_triggered
    assert found.reason.startswith("'pytest xxx")
    assert len(found.reason) <= MAX_VERDICT_REASON_CHARS
