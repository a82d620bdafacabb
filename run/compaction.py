"""Making room in a model's window: old results go first, then a summary stands for turns. Pure."""

from datetime import datetime

from holdfast.contracts.bounds import MAX_COMPACTED_CHARS
from holdfast.contracts.model import ModelReply
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import ItemRange, TranscriptView, UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import context, escalations
from holdfast.run.transcript import append_items, measure_context

MAX_REMAINING_SHARE = 0.8
"""What leaves more of the context than this share isn't worth doing."""


MAX_SUMMARY_ATTEMPTS = 2
"""Summaries that may fail before a narrower task is needed."""

_REQUEST = UserTurn(text=context.SUMMARY_PROMPT, origin="notice")


def prune_point(state: RunState) -> int:
    """Return the place before which results become stubs now; 0 for nowhere."""
    said, limit = state.conversation, state.agent.max_context_bytes
    if said.context_bytes > limit:
        place = context.find_prune_point(said.items, limit, said.view)
        return place if place > said.pruned_before else 0
    if not is_near_window(state):
        return 0
    place = context.find_prune_point(said.items, said.context_bytes, said.view)
    if place <= said.pruned_before:
        return 0
    pruned = said.view.with_(pruned_before=place)
    return place if _is_worthwhile(state, pruned) else 0


def _is_worthwhile(state: RunState, after: TranscriptView) -> bool:
    left = context.total_size(
        context.apply_view(state.conversation.items, after, state.agent.max_context_bytes),
        context.read_size,
    )
    return left <= MAX_REMAINING_SHARE * state.conversation.context_bytes


def is_near_window(state: RunState) -> bool:
    """Whether the latest call came near the window of the model, by what its provider counted."""
    facts = next((one for one in state.agent.facts if one.model == state.model), None)
    used = state.ledger.last_call.total_tokens
    return facts is not None and context.nears_window(used, facts.context_tokens)


def wants_summary(state: RunState) -> bool:
    """Whether a summary has to stand for the earlier part, because pruning isn't enough."""
    # While it is paused the model's turn isn't over, and nothing may come between.
    if state.chain.paused or not is_near_window(state):
        return False
    view = state.conversation.view
    place = context.find_summary_point(state.conversation.items, view)
    return place > 0 and _is_worthwhile(state, view.with_(summarised_before=place, summary="…"))


def request_summary(state: RunState) -> RunState:
    """Ask the model for a summary."""
    return state if _has_summary_request(state) else append_items(state, _REQUEST)


def withdraw_summary_request(state: RunState) -> RunState:
    """Leave out a request that nobody answered: the model that took over has room."""
    if not _has_summary_request(state):
        return state
    said = state.conversation
    last = ItemRange(begin=len(said.items) - 1, end=len(said.items))
    return measure_context(state.with_conversation(hidden=(*said.hidden, last)))


def _has_summary_request(state: RunState) -> bool:
    said = state.conversation
    shown = not said.hidden or said.hidden[-1].end < len(said.items)
    return shown and said.items[-1:] == (_REQUEST,)


def after_summary(state: RunState, reply: ModelReply, now: datetime) -> RunState:
    """Let a summary stand for what came before it; request and summary aren't shown themselves."""
    begin = len(state.conversation.items) - 1
    before = context.find_summary_point(state.conversation.items[:begin], state.conversation.view)
    state = append_items(state, reply.build_turn())
    hidden = (
        *state.conversation.hidden,
        ItemRange(begin=begin, end=len(state.conversation.items)),
    )
    if reply.stop != "end_turn" or not reply.text.strip() or not before:
        return _after_failed_summary(state.with_conversation(hidden=hidden), now)
    return reset_last_call_usage(
        measure_context(
            state.with_conversation(
                hidden=hidden,
                summary=reply.text[:MAX_COMPACTED_CHARS],
                summarised_before=before,
                summary_read_before=begin,
                failed_summaries=0,
            )
        )
    )


def reset_last_call_usage(state: RunState) -> RunState:
    """Forget what the latest call used: the next one is shown less."""
    ledger = state.ledger.with_(last_call=CallUsage())
    return state.with_(ledger=ledger)


def _after_failed_summary(state: RunState, now: datetime) -> RunState:
    failed = state.conversation.failed_summaries + 1
    state = measure_context(state.with_conversation(failed_summaries=failed))
    if failed < MAX_SUMMARY_ATTEMPTS:
        return state
    stop = Stop.because(
        StopReason.CONTEXT_TOO_LARGE,
        f"the model was asked {failed} times for a summary, and wrote none",
    )
    return escalations.give_up(state, stop, now)
