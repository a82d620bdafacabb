"""The transcript only grows; what a model is shown of it, and what is carried on, may shrink."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.contracts.bounds import MAX_CARRIED_TRANSCRIPT_BYTES
from holdfast.contracts.calls import NEXT_VALID_ACTIONS, ToolFailure, ToolResult
from holdfast.contracts.journal import RequestClosed
from holdfast.contracts.state.phase import Stopping
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import (
    AssistantTurn,
    ToolTurn,
    TranscriptDigest,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run import context, requests
from holdfast.run.compaction import prune_point
from holdfast.run.transcript import append_items, build_continue_as_new_input, halt, prune
from holdfast.run.turns import build_model_call
from tests.builders import (
    NOW,
    a_call,
    a_request,
    a_state,
    a_success,
    a_transcript,
    an_approval,
    asked_for,
    ruled_upon,
    to_approve,
)

STOP = Stop(reason="loop detected: same tool, same args", detail="", next_safe_action="")
LARGE = st.lists(st.none() | st.integers(0, 300_000), max_size=10)


def grown(items: tuple[TranscriptItem, ...], max_context_bytes: int = 10_000_000) -> RunState:
    """A run that has these items behind its goal, which is the first of them."""
    return append_items(a_state(max_context_bytes=max_context_bytes), *items[1:])


def test_appending_keeps_digest_and_size_in_step() -> None:
    """Every further item moves the head and counts its bytes."""
    state = a_state()
    words = UserTurn(text="be brief", origin="steer")

    longer = append_items(state, words)

    assert longer.conversation.items == (*state.conversation.items, words)
    assert longer.conversation.head == TranscriptDigest().extend(longer.conversation.items)
    assert longer.conversation.context_bytes == context.total_size(longer.conversation.items)
    assert longer.conversation.sent == state.conversation.sent


def test_pruning_keeps_the_record_whole() -> None:
    """What a model is shown shrinks; items and digest stay as they were."""
    # LP-02
    state = grown(a_transcript([5000, 5000, 5000]), max_context_bytes=10_000)

    shown = prune(state, 5)

    assert (shown.conversation.items, shown.conversation.head) == (
        state.conversation.items,
        state.conversation.head,
    )
    assert shown.conversation.pruned_before == 5
    assert shown.conversation.context_bytes == context.total_size(
        context.apply_view(state.conversation.items, TranscriptView(pruned_before=5), 10_000)
    )
    assert shown.conversation.context_bytes < state.conversation.context_bytes


def test_a_halted_turn_has_all_its_results() -> None:
    """Calls that were open when a run is stopped are answered with `aborted`, in call order."""
    # T-21 HG-13
    first, second = a_call(call_id="c1"), a_call("send", call_id="c2")
    state = asked_for(first, second)
    done: ToolResult = a_success(first)
    state = state.model_copy(
        update={"calls": (state.calls[0].model_copy(update={"result": done}), state.calls[1])}
    )

    over = halt(state, STOP, NOW)

    aborted = ToolFailure(
        status="aborted",
        call_id="c2",
        name="send",
        type="aborted",
        reason=STOP.reason,
        next_valid_actions=NEXT_VALID_ACTIONS["aborted"],
    )
    assert over.conversation.items[-1] == ToolTurn(results=(done, aborted))
    assert (over.calls, over.outcome, over.stop) == ((), "stopped", STOP)
    assert over.conversation.head == TranscriptDigest().extend(over.conversation.items)


def test_a_halted_run_waits_for_nobody() -> None:
    """A run that is over has no open requests, and its history says what became of them."""
    state = a_state().with_oversight(requests=(a_request(),))

    over = halt(state, STOP, NOW)

    assert over.oversight.requests == ()
    assert [one.outcome for one in over.oversight.closed] == ["withdrawn"]
    assert over.journal == (
        RequestClosed(request_id=a_request().request_id, outcome="withdrawn", at=NOW),
    )


def test_a_run_that_a_person_has_stopped_ends_for_no_other_reason() -> None:
    """Whatever goes wrong while it comes to its end, the result says who ended it and why."""
    told = STOP.model_copy(update={"ended_by": "dana"})
    state = a_state().with_(phase=Stopping(stop=told))

    over = halt(state, STOP, NOW, "failed")

    assert (over.outcome, over.stop) == ("stopped", told)


def test_a_short_transcript_is_carried_whole() -> None:
    """A new execution goes on with the same conversation."""
    state = grown(a_transcript([100, None, 100]))

    fresh = build_continue_as_new_input(state)

    assert fresh.conversation.items == state.conversation.items
    assert fresh.conversation.context_bytes == state.conversation.context_bytes


def test_the_digest_goes_on_where_it_ended() -> None:
    """The transcript of a new execution is chained to that of the one before it."""
    # T-34
    state = grown(a_transcript([100, None, 100]))

    fresh = build_continue_as_new_input(state)

    assert fresh.conversation.origin == state.conversation.head.digest
    assert fresh.conversation.sent == TranscriptDigest(
        length=0, digest=state.conversation.head.digest
    )
    assert fresh.conversation.head == fresh.conversation.sent.extend(fresh.conversation.items)


def test_the_first_call_of_a_new_execution_brings_everything() -> None:
    """The model's next call names the new beginning and holds all items behind it."""
    fresh = build_continue_as_new_input(grown(a_transcript([100, None, 100])))

    call = build_model_call(fresh, "scripted:it")

    assert call.items == fresh.conversation.items
    assert TranscriptDigest(digest=call.origin).extend(fresh.conversation.items) == call.head


def test_a_carried_state_is_json() -> None:
    """The next execution reads exactly the state that this one had."""
    fresh = build_continue_as_new_input(grown(a_transcript([100, None, 100])))

    assert RunState.model_validate_json(fresh.model_dump_json()) == fresh


def test_what_decides_is_carried() -> None:
    """Budget, counters, requests, words and provider's state go on; nothing begins again."""
    # T-33 PS-24
    state = ruled_upon(
        asked_for(a_call("send", text="hi")),
        (to_approve(a_call("send", text="hi")),),
        a_state().started_at,
    )
    state = requests.queue_steering(state, UserTurn(text="be brief", origin="steer"), NOW)
    state = state.with_chain(provider_state={"anthropic": {"container_id": "x"}})

    fresh = build_continue_as_new_input(state)

    rest = {"items", "head", "sent", "origin", "context_bytes", "pruned_before"}
    assert fresh.model_dump(exclude={"conversation": rest}) == state.model_dump(
        exclude={"conversation": rest}
    )
    assert requests.find(fresh, an_approval().request_id) is not None


def test_what_was_pruned_is_carried_as_it_is_shown() -> None:
    """A pruned transcript is carried as the model saw it, and is whole again for the next."""
    state = prune(grown(a_transcript([5000, 5000, 5000]), max_context_bytes=10_000), 5)

    fresh = build_continue_as_new_input(state)

    assert fresh.conversation.items == context.apply_view(
        state.conversation.items, TranscriptView(pruned_before=5), 10_000
    )
    assert fresh.conversation.pruned_before == 0


@given(LARGE)
@example([1_000_000])
@example([100_000, 1_000_000])
def test_a_long_transcript_is_carried_in_part(sizes: list[int | None]) -> None:
    """However long a run is, what it carries on fits into a payload, and makes a whole."""
    # HG-18 T-33
    items = a_transcript(sizes)

    fresh = build_continue_as_new_input(grown(items))

    assert fresh.conversation.items[0] == items[0]
    assert context.total_size(fresh.conversation.items) <= MAX_CARRIED_TRANSCRIPT_BYTES + 1000
    assert _conversation(fresh.conversation.items)
    assert [item for item in items if isinstance(item, UserTurn)] == [
        item
        for item in fresh.conversation.items
        if isinstance(item, UserTurn) and item.origin != "notice"
    ]


def test_drafts_that_guardrails_look_at_count_where_they_are_sent() -> None:
    """They take no room of what a model reads, and are carried on as far as a payload holds."""
    # LP-02 HG-18
    items = a_transcript([1_000] * 20)
    drafted = tuple(
        item.model_copy(update={"drafts": (a_success(a_call("draft"), "x" * 100_000),)})
        if isinstance(item, ToolTurn)
        else item
        for item in items
    )

    plain, state = grown(items, 20_000), grown(drafted, 20_000)
    fresh = build_continue_as_new_input(state)

    assert state.conversation.context_bytes == plain.conversation.context_bytes
    assert prune_point(state) == prune_point(plain) > 0
    assert prune(state, 9).conversation.context_bytes == prune(plain, 9).conversation.context_bytes
    assert fresh.conversation.items[0] == items[0]
    assert context.total_size(fresh.conversation.items) <= MAX_CARRIED_TRANSCRIPT_BYTES
    assert fresh.conversation.items[-1] == drafted[-1]


@pytest.mark.parametrize("size", [100, 2000])
@pytest.mark.slow
def test_what_was_left_out_is_said(size: int) -> None:
    """In place of old turns stands a notice, and behind it the model's own turn comes first."""
    fresh = build_continue_as_new_input(grown(a_transcript([size] * 2000)))

    kinds = [item.kind for item in fresh.conversation.items]
    notice = UserTurn(text="(Earlier turns are left out here.)", origin="notice")
    assert fresh.conversation.items[1] == notice
    assert kinds[:3] == ["user", "user", "assistant"]
    assert kinds[-2:] == ["assistant", "tool"]


def test_the_latest_results_are_carried_whole() -> None:
    """What the model hasn't read yet isn't left out between two executions."""
    calls = [a_call(call_id=f"c{number}") for number in range(20)]
    results = tuple(a_success(call, "x" * 20_000) for call in calls)
    state = append_items(
        a_state(),
        AssistantTurn(model="scripted:it", calls=tuple(calls)),
        ToolTurn(results=results),
    )

    assert build_continue_as_new_input(state).conversation.items[-1] == ToolTurn(results=results)


@pytest.mark.slow
def test_carrying_on_again_and_again_stays_small() -> None:
    """A run of many executions carries no more than a run of two, and one notice."""
    more = a_transcript([100] * 2000)[1:]
    state = a_state(max_context_bytes=10_000_000)
    for _ in range(5):
        state = build_continue_as_new_input(append_items(state, *more))

    notices = [
        item
        for item in state.conversation.items
        if isinstance(item, UserTurn) and item.origin == "notice"
    ]
    assert context.total_size(state.conversation.items) <= MAX_CARRIED_TRANSCRIPT_BYTES
    assert len(notices) == 1


def _conversation(items: tuple[TranscriptItem, ...]) -> bool:
    """Whether each call has its result directly behind it, and no result is alone."""
    for place, item in enumerate(items):
        following = items[place + 1] if place + 1 < len(items) else None
        if isinstance(item, AssistantTurn) != isinstance(following, ToolTurn):
            return False
        if isinstance(item, AssistantTurn) and isinstance(following, ToolTurn):
            asked = [call.call_id for call in item.calls]
            if asked != [result.call_id for result in following.results]:
                return False
    return True
