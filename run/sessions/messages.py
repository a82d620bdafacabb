"""Messages of a session: taken in, worked on one after the other, ended with an outcome. Pure."""

from datetime import datetime

from holdfast.contracts import bounds
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.control import MAX_EARLIER_ACTORS
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.journal import MessageEnded, MessageRefused, MessageTaken
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.bounds import (
    MAX_KEPT_OUTCOMES_BYTES,
    MAX_WAITING_BYTES,
    MAX_WAITING_MESSAGES,
)
from holdfast.contracts.sessions.messages import (
    ConversationTurn,
    MessageReceipt,
    MessageSignal,
    MessageState,
)
from holdfast.contracts.sessions.state import EndedMessage, QueuedMessage, SessionState
from holdfast.contracts.signals import CloseSignal, MessageOutcome
from holdfast.contracts.state.answering import Answering
from holdfast.contracts.state.approaches import Approaches
from holdfast.contracts.state.phase import Ended, Working
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from holdfast.run import context, gates, parts, turns, verdicts
from holdfast.run.delegation.ceilings import lower_ceiling
from holdfast.run.limits import budgets
from holdfast.run.sessions import hiding, seen
from holdfast.run.texts.figures import pluralize
from holdfast.run.transcript import append_items, halt, measure_context

_MAX_STEPS = 1_000_000
"""What a session may take where nobody says how much."""


def require_session(state: RunState) -> SessionState:
    """Return what makes a run a session."""
    if state.session is None:
        raise AssertionError(f"run {state.run_id!r} is no session")
    return state.session


def accept_message(
    state: RunState, message: MessageSignal, now: datetime
) -> tuple[RunState, MessageReceipt]:
    """
    Take a message, behind those that wait; one that was taken before changes nothing.

    A session that is closing goes on with it.
    """
    session = require_session(state)
    if message.tenant not in {None, state.brief.tenant}:
        why = f"there is no session {state.run_id!r} of tenant {message.tenant!r}"
        return _refuse(state, message, why, "unreadable", now)
    if message.agent not in {None, session.agent}:
        why = describe_other_agent(state.run_id, session.agent, message.agent)
        return _refuse(state, message, why, "unreadable", now)
    known = seen.find_position(session, message.message_id)
    if known is not None:
        stands = find_message_state(state, message.message_id)
        return state, MessageReceipt(message_id=message.message_id, position=known, state=stands)
    actor = message.actor or session.actor
    if (full := _find_no_room(session, message, actor)) is not None:
        return _refuse(state, message, full, "full", now)
    number = session.messages + 1
    queued = QueuedMessage(
        message_id=message.message_id, text=message.text, actor=actor, position=number
    )
    said = ConversationTurn(
        role="user",
        content=message.text,
        metadata=message.metadata,
        timestamp=now,
        message_id=message.message_id,
        agent=state.agent.name,
    )
    session = session.with_(
        messages=number,
        seen=seen.add(session.seen, message.message_id),
        waiting=(*session.waiting, queued),
        conversation=(*session.conversation, said),
        last_updated=now,
        closing=None,
    )
    taken = MessageReceipt(message_id=message.message_id, position=number, state="queued")
    return _name_actors(state.with_(session=session)), taken


def describe_other_agent(session_id: str, agent: str, asked: str | None) -> str:
    """Say whose a session is that somebody took for one of another agent, and what to do."""
    return (
        f"session {session_id!r} is one of agent {agent!r}, and not of {asked!r}: name that one, "
        "or choose another id"
    )


def _refuse(
    state: RunState, message: MessageSignal, why: str, code: OutcomeCode, now: datetime
) -> tuple[RunState, MessageReceipt]:
    name, actor = message.message_id, message.actor or require_session(state).actor
    refusal = MessageOutcome(accepted=False, request_id=name, reason=why, code=code)
    refused = verdicts.record_refusal(state, "message", refusal, now, sender=actor)
    return refused, build_receipt(refusal)


def build_receipt(refusal: MessageOutcome) -> MessageReceipt:
    """Answer `send` with a refusal; of what can't be read nobody knows the id."""
    return MessageReceipt(
        message_id=refusal.request_id,
        position=0,
        state="refused",
        reason=refusal.reason,
        code=refusal.code,
    )


def _find_no_room(session: SessionState, message: MessageSignal, actor: str) -> str | None:
    """Say why a message can't wait, if it can't."""
    waiting = session.waiting
    # Of each alone, without what stands between them: one by one it takes ten times longer.
    held = bounds.size(waiting) - len(waiting) - 1 if waiting else 0
    actors = {actor, *(one.actor for one in waiting)}
    if (
        len(waiting) < MAX_WAITING_MESSAGES
        and held + bounds.size(message.text) <= MAX_WAITING_BYTES
        and len(actors) <= MAX_EARLIER_ACTORS
    ):
        return None
    return (
        f"{pluralize(len(waiting), 'message')} with {held:,} bytes waiting, of "
        f"{pluralize(len(actors - {actor}), 'sender')}, and "
        f"{MAX_WAITING_MESSAGES} with {MAX_WAITING_BYTES:,} of {MAX_EARLIER_ACTORS} may: send it "
        "again when one is answered"
    )


def find_message_state(state: RunState, message_id: str) -> MessageState:
    """Say where the work on a message stands."""
    session = require_session(state)
    current = session.current
    if current is not None and current.message_id == message_id:
        rests = state.oversight.requests or state.chain.provider_wait or state.suspended
        return "waiting" if rests else "working"
    if any(one.message_id == message_id for one in session.waiting):
        return "queued"
    return "unknown" if seen.find_position(session, message_id) is None else "done"


def find_result(state: RunState, message_id: str) -> RunResult | None:
    """Return what the work on a message came to, as long as the session keeps that."""
    ended = require_session(state).ended
    return next((one.result for one in ended if one.message_id == message_id), None)


def close(state: RunState, reason: str) -> RunState:
    """Have a session end when what was said before is answered; it waits for nobody else."""
    return state.with_(session=require_session(state).with_(closing=reason))


def close_as_told(state: RunState, message: CloseSignal) -> RunState:
    """Close a session as a person says."""
    said = f": {message.reason}" if message.reason else ""
    return close(state, f"closed by {message.by or 'a person'}{said}")


def take_message(state: RunState, now: datetime) -> RunState:
    """
    Begin the work on the next message, with what its budget and that of the session leave.

    Where nothing is left of the session's it ends at once.
    """
    session = require_session(state)
    message, waiting = session.waiting[0], session.waiting[1:]
    left = _find_rest(session)
    limits, ceiling = session.limits, session.ceiling
    if isinstance(left, Budget):
        limits, ceiling = budgets.cap_limits(session.limits, left), lower_ceiling(ceiling, left)
    told = MessageTaken(
        message_id=message.message_id, position=message.position, actor=message.actor, at=now
    )
    state = state.with_(
        session=session.with_(current=message, waiting=waiting, last_updated=now),
        agent=state.agent.with_(budget=limits),
        ceiling=ceiling,
        ledger=Ledger(),
        started_at=now,
        journal=(*state.journal, told),
    ).with_parts(handoffs=0)
    state = append_items(_name_actors(state), UserTurn(text=message.text, origin="message"))
    return halt(state, left, now) if isinstance(left, Stop) else state


def _find_rest(session: SessionState) -> Budget | Stop | None:
    """Return what is left of the session's own budget, why nothing is, or null without one."""
    budget = session.budget
    if budget is None:
        return None
    whole = Limits(max_steps=_MAX_STEPS).with_changes(budget)
    left = budgets.remaining(whole, session.totals, session.worked + session.totals.waited)
    if isinstance(left, Stop):
        return Stop(
            reason=left.reason,
            detail=f"of the whole session: {left.detail}",
            next_safe_action="go on in another session: the budget of this one never grows",
        )
    given = left.model_dump(exclude_unset=True, include=budget.model_fields_set)
    return Budget.model_validate(given)


def end_message(state: RunState, now: datetime) -> RunState:
    """
    Keep what the work on a message came to, and begin anew with all that belongs to the session.

    What it did is known to all that follows, and no part of an answer that was blocked is.
    """
    session = require_session(state)
    message = session.current
    if message is None:  # it ended while nothing was worked on: too large to go on
        why = state.stop.reason if state.stop else "it ended"
        # Of what was done no names are kept, for which there may be no room: nobody knows it then.
        known = (parts.UNKNOWN_EFFECT,) if state.effects.known else ()
        return _reset_work(close(state, why).with_effects(known=known))
    result = turns.build_result(state)
    answered = ConversationTurn(
        role="assistant",
        content=result.answer or "",
        metadata=_describe_end(result),
        timestamp=now,
        message_id=message.message_id,
        agent=state.agent.name,
    )
    elapsed = (now - state.started_at).total_seconds()
    ended = (*session.ended, EndedMessage(message_id=message.message_id, result=result))
    session = session.with_(
        current=None,
        ended=(*bounds.select_latest(ended[:-1], MAX_KEPT_OUTCOMES_BYTES), ended[-1]),
        totals=budgets.add_child_usage(session.totals, state.ledger),
        worked=session.worked + budgets.worked_seconds(state.ledger, elapsed),
        conversation=(*session.conversation, answered),
        last_updated=now,
        idle_since=now,
    )
    told = MessageEnded(message_id=message.message_id, status=result.status, at=now)
    state = _refuse_late_words(state.with_(journal=(*state.journal, told)), now)
    state = _reset_work(_settle_transcript(state, result.status))
    return _name_actors(state.with_(session=session))


def _describe_end(result: RunResult) -> JsonObject:
    """Say how it ended; the words of guardrails, people and errors are those of the result."""
    stop = result.stop
    said: JsonObject = {"status": result.status}
    if stop is not None and not stop.quotes:
        said["reason"] = stop.reason
    return said


def _refuse_late_words(state: RunState, now: datetime) -> RunState:
    """Keep that no model has read what people said to work that ended without an answer."""
    late = MessageOutcome(
        accepted=False,
        request_id="",
        reason="the work on the message ended before a model read it: say it in a message",
        code="over",
    )
    if not state.conversation.steers:
        return state
    for _ in state.conversation.steers:
        state = verdicts.record_refusal(state, "steer", late, now)
    told = MessageRefused(
        signal="steer",
        digest="",
        reason=late.reason,
        code="over",
        count=len(state.conversation.steers),
    )
    return state.with_(journal=(*state.journal, told))


def _settle_transcript(state: RunState, status: str) -> RunState:
    """Hide what no model may read any more, and say what was done where no answer says it."""
    end = len(state.conversation.items)
    places = (at for at in range(end - 1, -1, -1) if _is_message(state, at))
    begin = next(places, end)
    state = hiding.hide_what_was_given_up(state)
    if status == "blocked":
        state = hiding.hide_from(state, begin)
    elif (unseen := hiding.find_unseen(state)) is not None:
        state = hiding.hide_from(state, max(begin, unseen))
    elif (answer := _find_answer_not_given(state)) is not None:
        state = hiding.hide_from(state, answer)
    if state.conversation.hidden:
        state = measure_context(state)
    if status == "completed":
        return state
    told = f"(The work on this message ended without an answer: {status}.)"
    done = parts.describe_effects(state, quoted=not _hides_since(state, begin))
    text = "\n\n".join(filter(None, (told, done)))
    return append_items(state, UserTurn(text=text, origin="notice"))


def _hides_since(state: RunState, begin: int) -> bool:
    """Whether something said since is hidden, which what was done may quote."""
    said = state.conversation
    return any(place >= begin for place in context.find_hidden_places(said.items, said.hidden))


def _find_answer_not_given(state: RunState) -> int | None:
    """
    Return where a model answered that had yet to pass somebody when the work ended.

    Or said a part of an answer. Nothing but words of people is behind it: where it was found
    wanting that stands there.
    """
    if isinstance(state.phase, Ended) and (state.outcome == "completed" or state.phase.summary):
        return None
    items = state.conversation.items
    places = (at for at in range(len(items) - 1, -1, -1) if not _is_said_by_people(items[at]))
    place = next(places, None)  # a new execution begins with nothing where all was hidden
    last = None if place is None else items[place]
    return place if isinstance(last, AssistantTurn) and not last.calls else None


def _is_said_by_people(item: TranscriptItem) -> bool:
    """Whether people said it to work that was under way."""
    return isinstance(item, UserTurn) and item.origin in {"steer", "guidance"}


def _is_message(state: RunState, place: int) -> bool:
    item = state.conversation.items[place]
    return isinstance(item, UserTurn) and item.origin == "message"


def _reset_work(state: RunState) -> RunState:
    """
    Forget what belongs to the work on one message; what it did is known from now on.

    What guardrails of who took over had yet to look at of earlier messages, they look at with the
    next.
    """
    end = len(state.conversation.items)
    guarded = state.guarding.guarded if gates.select_blocking_checks(state) else end
    watched = state.guarding.watched if gates.select_parallel_checks(state) else end
    return (
        state.with_(
            calls=(),
            phase=Working(),
            progress="",
            answering=Answering(),
            approaches=Approaches(),
        )
        .with_effects(
            known=parts.build_session_effects(state),
            undone=(),
            done=(),
            forgotten=0,
            stood=0,
            compensation=None,
            workspace="",
        )
        .with_oversight(requests=(), reviewed=(), releases=(), acknowledged=())
        .with_conversation(steers=(), unread=0, failed_summaries=0)
        .with_chain(paused=False, attempts=(), provider_wait=None, model_index=0)
        .with_guarding(guarded=guarded, watched=watched, held=(), claimed=())
        .with_parts(tier=0, tier_failure="", subtasks=())
    )


def _name_actors(state: RunState) -> RunState:
    """Say for whom the work is: all who have sent something since the last outcome."""
    session = require_session(state)
    actor = session.current.actor if session.current is not None else session.actor
    others = dict.fromkeys(one.actor for one in session.waiting if one.actor != actor)
    brief = state.brief.copy_with({"actor": actor, "earlier_actors": tuple(others)})
    return state.with_(brief=brief)
