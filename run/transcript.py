"""The transcript of a run: it only grows; what a model is shown of it may shrink. Pure."""

from datetime import datetime

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import (
    MAX_CARRIED_TRANSCRIPT_BYTES,
    MAX_RESULTS_BYTES,
    MAX_STATE_BYTES,
    MAX_TURN_BYTES,
    size,
)
from holdfast.contracts.calls import AnyCall, ToolCall, ToolResult
from holdfast.contracts.control import Checkpoint
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.journal import AnswerWithheld
from holdfast.contracts.run import RunStatus
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.phase import Closing, Ended, Stopping, Working
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import (
    AssistantTurn,
    ItemRange,
    ToolTurn,
    TranscriptDigest,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run import context, gates, requests
from holdfast.run.limits.reservations import add_reservations
from holdfast.run.sessions import hiding
from holdfast.run.sessions.carrying import carry_session
from holdfast.run.tool_results import build_abort

LAST_WORDS_REQUEST = UserTurn(
    text="No further turn is allowed, and no tool can be called any more. Sum up for whoever "
    "reads the result: what was done and found out, what is missing, what you would do next.",
    origin="notice",
)
"""What a model is told that sums up when its steps are used up; its answer is no turn."""


def append_items(state: RunState, *items: TranscriptItem) -> RunState:
    """Return the state with more items at the end of its transcript."""
    return state.with_conversation(
        items=state.conversation.items + items,
        head=state.conversation.head.extend(items),
        context_bytes=state.conversation.context_bytes
        + context.total_size(items, context.read_size),
    )


def cut_before_turn(state: RunState, turn: int) -> RunState:
    """
    Return the state with what was said before a turn of a model, the first of which is 1.

    Raises InvalidInput where there was none, or where its transcript lacks one since.
    """
    said, taken = state.conversation, state.turns_taken
    places = [
        at
        for at, item in enumerate(said.items)
        if isinstance(item, AssistantTurn) and said.items[at - 1 : at] != (LAST_WORDS_REQUEST,)
    ]
    if turn > taken:
        raise InvalidInput(f"it has no turn {turn}: its models took {taken}")
    if len(places) < taken:
        raise InvalidInput("its transcript doesn't have all its turns any more")
    place = places[turn - 1 - taken]  # from the end: a run that tries another again has its turns
    summarised = said.summarised_before if said.summarised_before <= place else 0
    return measure_context(
        state.with_conversation(
            items=said.items[:place],
            hidden=tuple(
                ItemRange(begin=one.begin, end=min(one.end, place))
                for one in said.hidden
                if one.begin < place
            ),
            pruned_before=min(said.pruned_before, place),
            summarised_before=summarised,
            summary=said.summary if summarised else "",
        )
    )


def prune(state: RunState, before: int) -> RunState:
    """Show less of what stands before this place from now on; the record keeps it whole."""
    return measure_context(state.with_conversation(pruned_before=before))


def measure_context(state: RunState) -> RunState:
    """Measure what a model is shown from now on."""
    said = state.conversation
    shown = context.apply_view(said.items, said.view, state.agent.max_context_bytes)
    return state.with_conversation(context_bytes=context.total_size(shown, context.read_size))


def halt(state: RunState, stop: Stop, now: datetime, outcome: RunStatus = "stopped") -> RunState:
    """
    End the run without an answer; one that was stopped from outside ends for no other reason.

    What has ended stays as it ended.

    Calls that were open get an `aborted` result, and what waited for people is withdrawn.
    """
    match state.phase:
        case Ended():
            return state
        case Stopping(stop=told):
            stop, outcome, by_person = told, "stopped", True
        case Working() | Closing():
            by_person = False
    state = requests.withdraw_requests(abort_open_calls(drop_candidate(state), stop.reason), now)
    return state.with_(phase=Ended(outcome=outcome, stop=stop, by_person=by_person))


def drop_candidate(state: RunState, by: str = "") -> RunState:
    """Withhold the answer that waits, if one does; *by* a guardrail or a check."""
    if state.answering.candidate is None:
        return state
    return state.with_(journal=(*state.journal, AnswerWithheld(by=by))).with_answering(
        candidate=None
    )


def abort_open_calls(state: RunState, reason: str) -> RunState:
    """Close the turn: calls that were open get an `aborted` result, those that ran are booked."""
    if not state.calls:
        return state
    calls = tuple(
        call.with_(result=call.result or build_abort(call.call, reason)) for call in state.calls
    )
    results = tuple(call.result for call in calls if call.result is not None)
    booked = state.with_(ledger=add_reservations(state.with_(calls=calls)))
    return append_results(booked, results)


def append_results(state: RunState, results: tuple[ToolResult, ...]) -> RunState:
    """Put the results of all calls behind the turn that asked for them, and count what is read."""
    turn, ledger = build_tool_turn(state, results), state.ledger
    if state.agent.budget.max_result_chars is not None:
        read = ledger.result_chars + len(turn.model_dump_json(exclude={"filled", "drafts"}))
        ledger = ledger.with_(result_chars=read)
    return append_items(state.with_(calls=(), ledger=ledger), turn)


def build_tool_turn(state: RunState, results: tuple[ToolResult, ...]) -> ToolTurn:
    """Build what closes the turn, with what its calls left out, and what guardrails look at."""
    filled = collect_filled_arguments(state, state.calls)
    every = limit_results(state, (*results, *gates.select_watched_drafts(state)))
    end = len(results)
    return ToolTurn(results=every[:end], filled=filled, drafts=every[end:])


def find_written_calls(state: RunState) -> dict[str, AnyCall]:
    """Return the calls of the open turn by their ids, as the model wrote them."""
    turn = state.conversation.items[-1] if state.conversation.items else None
    return {one.call_id: one for one in turn.calls} if isinstance(turn, AssistantTurn) else {}


def collect_filled_arguments(
    state: RunState, calls: tuple[CallState, ...]
) -> dict[str, JsonObject]:
    """Return what calls of the open turn left out, by their ids, as far as it is filled in."""
    filled, asked = dict[str, JsonObject](), find_written_calls(state)
    for call in (one.call for one in calls):
        written = asked.get(call.call_id)
        if isinstance(call, ToolCall) and isinstance(written, ToolCall):
            filled[call.call_id] = call.diff_arguments(written.arguments)
    return {call_id: values for call_id, values in filled.items() if values}


def limit_results(state: RunState, results: tuple[ToolResult, ...]) -> tuple[ToolResult, ...]:
    """Return results as there is room for them behind the turn that asked for them."""
    room = MAX_TURN_BYTES - context.size(state.conversation.items[-1])
    return context.fit_results(results, min(room, MAX_RESULTS_BYTES))


def build_continue_as_new_input(state: RunState) -> RunState:
    """Return what a new execution begins with; of a long transcript only what is left in view."""
    state, calls = carry_session(state), _carried_calls(state)
    items, seen, shortened = carry_items(
        state, size(state.with_(calls=calls).with_conversation(items=()))
    )
    begun = TranscriptDigest(digest=state.conversation.head.digest)
    state = gates.skip_items_without_checks(state)
    end = len(state.conversation.items)
    fresh = append_items(
        state.with_(calls=calls)
        .with_conversation(
            origin=begun.digest,
            sent=begun,
            head=begun,
            items=(),
            context_bytes=0,
            pruned_before=0,
            hidden=(),
            summarised_before=seen.summarised_before,
            summary_read_before=_carried_summary_end(state, len(items), shortened=shortened),
        )
        .with_guarding(
            guarded=0 if shortened else max(len(items) - (end - state.guarding.guarded), 0),
            watched=0 if shortened else max(len(items) - (end - state.guarding.watched), 0),
        )
        .with_approaches(checkpoint=_carried_checkpoint(state, items)),
        *items,
    )
    # Of what people are asked about a part alone may be left: it is looked at as what it is then.
    return (
        fresh.with_guarding(guarded=0, watched=0) if hiding.lacks_review_subject(fresh) else fresh
    )


def carry_items(
    state: RunState, rest: int
) -> tuple[tuple[TranscriptItem, ...], TranscriptView, bool]:
    """
    Return what is left in view of a transcript, how it is seen, and whether it was shortened.

    It is shortened where there is no room for it beside so many bytes of the *rest*.
    """
    items, seen = context.carry_over(
        state.conversation.items, state.conversation.view, state.agent.max_context_bytes
    )
    room, shortened = max(min(MAX_CARRIED_TRANSCRIPT_BYTES, MAX_STATE_BYTES - rest), 0), False
    for place in (context.find_prune_point(items, room, seen, context.size), len(items)):
        if context.total_size(items) > room:
            pruned = seen.with_(pruned_before=place)
            items, seen = context.carry_over(items, pruned, room, context.size)
            shortened = True
    return items, seen, shortened


def _carried_summary_end(state: RunState, length: int, *, shortened: bool) -> int:
    """Find among so many carried items the end of what its writer had read; rather a later one."""
    said = state.conversation
    if not said.summary:
        return 0
    read = max(said.summary_read_before, said.pruned_before)
    since = 0 if shortened else len(context.leave_hidden(said.items, said.hidden, read))
    return max(length - since, 1)


def _carried_calls(state: RunState) -> tuple[CallState, ...]:
    """Return the calls of an open turn, with their results as the turn will show them."""
    results = tuple(call.result for call in state.calls if call.result is not None)
    kept = {result.call_id: result for result in limit_results(state, results)} if results else {}
    return tuple(call.with_(result=kept.get(call.call.call_id)) for call in state.calls)


def _carried_checkpoint(state: RunState, carried: tuple[TranscriptItem, ...]) -> Checkpoint | None:
    """
    Find the checkpoint's place among what is *carried*; what came before it is in view there.

    All before it gives way first, but for what lasts, where not all behind it is carried.
    """
    checkpoint, said = state.approaches.checkpoint, state.conversation
    if checkpoint is None:
        return None
    before = said.items[: checkpoint.items]
    lasting = context.select_lasting(context.leave_hidden(before, said.hidden))
    behind = context.leave_hidden(said.items, said.hidden, checkpoint.items)
    place = max(len(carried) - len(behind), len(lasting))
    _, seen = context.carry_over(before, said.view, state.agent.max_context_bytes)
    summarised = seen.summarised_before if checkpoint.summary else 0
    return checkpoint.copy_with({"items": place, "summarised_before": summarised})
