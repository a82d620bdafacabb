"""What a model's reply, or its failure, means for the run. Pure."""

import string
from datetime import datetime
from typing import NamedTuple

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.bounds import MAX_HOSTED_LINES, MAX_NOTE_CHARS, MAX_NOTES
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.control import ModelAttempt
from holdfast.contracts.model import ModelReply, StopCause
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import UserTurn
from holdfast.run import answers, backtracking, escalations, fallbacks, requests, turns
from holdfast.run.earlier import recorded_results
from holdfast.run.limits import budgets, loop_detection, routing
from holdfast.run.texts.figures import pluralize
from holdfast.run.transcript import append_items, halt

_ID_CHARACTERS = frozenset(string.ascii_letters + string.digits + "_.:|=+-")
"""Ids of calls become parts of keys and paths, where a slash would mean something."""

_MAX_ID_CHARS = 200

MAX_CALL_MARKS = 10_000
"""So many ids of models are known again; what is called later has an id of ours."""

CACHED_FROM_TURN = 3
"""The turn by which a provider's cache holds what every turn begins with."""

MIN_CACHED_TOKENS = 4_096
"""Tokens of input from which on every provider keeps a cache that keeps any."""


class AuditLine(NamedTuple):
    """What a person should find in history at a glance."""

    event: str
    text: str


def build_audit_lines(state: RunState, reply: ModelReply) -> tuple[AuditLine, ...]:
    """Return what of a reply deserves a line: what ran elsewhere, what is missing or wrong."""
    ran = [part for part in reply.parts if part.kind == "hosted_call"]
    hosted = [
        AuditLine("hosted tool", shorten(f"{part.name}: {part.text}"))
        for part in ran[:MAX_HOSTED_LINES]
    ]
    if len(ran) > MAX_HOSTED_LINES:
        more = pluralize(len(ran) - MAX_HOSTED_LINES, "more call")
        hosted.append(AuditLine("hosted tool", f"{more} of that kind"))
    back = answers.redact(state, "; ".join(reply.objections))
    return (
        *hosted,
        *(AuditLine("noted", note) for note in _fresh_notes(state, reply)),
        *([AuditLine("answer sent back", shorten(back))] if back else []),
    )


def after_model(state: RunState, reply: ModelReply, now: datetime) -> RunState:
    """Bill the reply, keep it, and take its calls or its answer."""
    asked, marks = _assign_unique_ids(state, reply.calls)
    kept = (
        record_reply(state, reply)
        .with_(call_marks=marks)
        .with_chain(paused=not asked and reply.stop == "pause")
    )
    state = append_items(kept, reply.build_turn(asked))
    if asked:
        return _take_calls(state, asked, now)
    if state.chain.paused:
        return state
    if reply.objections and reply.stop == "end_turn":
        return _reject_answer(state, reply, now)
    if reply.stop == "end_turn" and reply.text.strip():
        return answers.propose(state, reply.text, reply.output)
    return _after_no_answer(kept, state, reply, now)


def after_plan(state: RunState, reply: ModelReply, now: datetime) -> RunState:
    """Take an approach; a reply that is none, as one that declines, leads where no answer does."""
    kept = record_reply(state, reply)
    if reply.text.strip() and reply.stop in {"end_turn", "tool_use", "pause"}:
        return backtracking.start_approach(kept, reply)
    return _after_no_answer(kept, append_items(kept, reply.build_turn()), reply, now)


def _after_no_answer(
    kept: RunState, state: RunState, reply: ModelReply, now: datetime
) -> RunState:
    """Go on without an answer: from *kept*, or to the end of *state*, which has what was said."""
    stop = _build_no_answer_stop(state, reply)
    attempt = ModelAttempt(
        turn=state.turns_taken,
        model=reply.model,
        kind="empty" if reply.stop in ("end_turn", "tool_use") else reply.stop,
        error=stop.detail,
        at=now,
        cost=reply.usage.estimated_cost,
    )
    # Another model takes over without a turn that says nothing.
    return fallbacks.after_no_answer(kept, attempt, now) or halt(state, stop, now)


def record_reply(state: RunState, reply: ModelReply) -> RunState:
    """Bill a reply, and keep what it brought beside words and calls."""
    return (
        requests.recount_unread_bytes(turns.charge(state, reply))
        .with_conversation(sent=state.conversation.head)
        .with_chain(
            provider_state=_provider_state(state, reply),
            unheard=False,
            notes=state.chain.notes + _fresh_notes(state, reply),
        )
    )


def _provider_state(state: RunState, reply: ModelReply) -> JsonObject:
    if reply.provider_state is None:
        return state.chain.provider_state
    provider = reply.model.partition(":")[0]
    return {**state.chain.provider_state, provider: reply.provider_state}


def _fresh_notes(state: RunState, reply: ModelReply) -> tuple[str, ...]:
    said = (*reply.notes, *_note_missing_cache(state, reply))
    notes = dict.fromkeys(shorten(note, MAX_NOTE_CHARS) for note in said)
    fresh = [note for note in notes if note not in state.chain.notes]
    return tuple(fresh[: MAX_NOTES - len(state.chain.notes)])


def _note_missing_cache(state: RunState, reply: ModelReply) -> tuple[str, ...]:
    """Note that a model whose provider counts what it reads from a cache has read nothing."""
    used, late = reply.usage, state.turns_taken + 1 >= CACHED_FROM_TURN
    counts = any("cache" in name for counters in used.native.values() for name in counters)
    if not (late and counts and routing.find_speaker(state) == reply.model):
        return ()
    if used.cached_tokens or used.input_tokens < MIN_CACHED_TOKENS:
        return ()
    note = "reads nothing from its cache: what turns begin with has changed, or it expired"
    return (f"{reply.model} {note}",)


def _assign_unique_ids(
    state: RunState, calls: tuple[AnyCall, ...]
) -> tuple[tuple[AnyCall, ...], tuple[str, ...]]:
    """
    Give a call whose id is odd, or that the run has seen before, an id of its own.

    Some servers number calls anew in each reply; an approval, a result or an idempotency key must
    never be another call's, nor a draft's. Where no more are marked none is taken either: an id of
    ours names the execution, the turn and the place, as no other does.
    """
    marks, seen = list(state.call_marks), set(state.call_marks)
    apart: list[AnyCall] = []
    for place, call in enumerate(calls, start=1):
        turn = state.turns_taken + 1
        if full := len(marks) >= MAX_CALL_MARKS:
            fresh = f"call-{digest(state.execution)[:8]}-{turn}-{place}"
        else:
            fresh = call.call_id if is_plain_id(call.call_id) else f"call-{turn}-{place}"
        while (mark := digest(fresh)[:8]) in seen:
            fresh = f"{fresh}-{turn}-{place}"
        if not full:
            marks.append(mark)
        seen.add(mark)
        apart.append(call.with_(call_id=fresh))
    return tuple(apart), tuple(marks)


def is_plain_id(call_id: str) -> bool:
    """Whether an id of a call stays as it is. No pattern, which would wait for other threads."""
    return 0 < len(call_id) <= _MAX_ID_CHARS and _ID_CHARACTERS.issuperset(call_id)


def _take_calls(state: RunState, calls: tuple[AnyCall, ...], now: datetime) -> RunState:
    state = state.with_(calls=tuple(CallState(call=call) for call in calls))
    ledger = state.ledger
    for call in calls:
        tool = state.agent.find_tool(call.name)
        ledger = loop_detection.count_call(
            ledger, call, pollable=tool is not None and tool.pollable
        )
        if stop := loop_detection.check_loop(state.agent.budget, ledger, call):
            return _end_approach_or_run(state.with_(ledger=ledger), stop, now)
    state = state.with_(ledger=ledger)
    drafts = sum(1 for call in calls if (tool := state.agent.find_tool(call.name)) and tool.draft)
    if stop := budgets.too_many_calls(state.agent.budget, ledger, len(calls), drafts):
        return halt(state, stop, now)
    return _answer_dry(state, now) if state.brief.is_dry else state


def _answer_dry(state: RunState, now: datetime) -> RunState:
    """Close the turn with what was recorded: nobody rules on its calls, and none begins."""
    of = state.brief.retry_of
    answered, left = recorded_results.answer_calls(
        state.calls, state.effects.recorded, of.run_id if of else ""
    )
    return turns.close_turn_if_complete(
        state.with_(calls=answered).with_effects(recorded=left), now
    )


def _end_approach_or_run(state: RunState, stop: Stop, now: datetime) -> RunState:
    """End the run, or the approach under way where it can go back."""
    if state.approaches.checkpoint is not None:
        return escalations.end_approach(state, f"{stop.reason}: {stop.detail}")
    return halt(state, stop, now)


def _reject_answer(state: RunState, reply: ModelReply, now: datetime) -> RunState:
    """Tell the model why its answer doesn't fit; too many such answers end the run."""
    ledger = state.ledger.with_(
        failures_in_a_row=state.ledger.failures_in_a_row + 1, retries=state.ledger.retries + 1
    )
    objections = shorten("; ".join(reply.objections), 2000)
    notice = UserTurn(
        text=f"This answer doesn't fit its JSON Schema: {objections}. "
        "Answer again, with nothing but JSON that fits.",
        origin="notice",
    )
    state = append_items(state.with_(ledger=ledger), notice)
    stop = loop_detection.check_failures(state.agent.budget, ledger)
    if stop is None:
        return state
    told = answers.redact(state, objections)  # they quote the answer
    stop = stop.with_(detail=f"the answer doesn't fit its schema: {told}")
    return escalations.give_up(state, stop, now)


def _build_no_answer_stop(state: RunState, reply: ModelReply) -> Stop:
    if reply.stop in ("end_turn", "tool_use"):
        return Stop.because(
            StopReason.NO_ANSWER,
            "the model ended its turn without saying or asking anything that counts",
        )
    said = ": ".join(filter(None, (reply.stop_detail, reply.words)))  # a refusal is both
    return Stop.because(
        StopReason.MODEL_STOPPED,
        shorten(answers.redact(state, said), 500),
        kind=reply.stop,
        next_safe_action=_name_next_safe_action(reply.stop),
    )


def _name_next_safe_action(stop: StopCause) -> str:
    match stop:
        case "max_tokens":
            return "raise max_output_tokens in the agent's settings, or ask for less at once"
        case "refusal" | "content_filter":
            return "read the detail; rephrase the task, or use another model"
        case "context_overflow":
            return "lower max_context_bytes, shorten the task, or use another model"
        case "end_turn" | "tool_use" | "pause" | "other":
            return "read the detail, then start the run again"
