"""How a session begins, and how it goes on from where it was left. Pure."""

from collections.abc import Mapping
from datetime import datetime

from holdfast.contracts.run import AgentSnapshot, RunMetadata
from holdfast.contracts.sessions.archive import ArchivedSession
from holdfast.contracts.sessions.messages import SessionInput, SessionResult
from holdfast.contracts.sessions.state import SessionState
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.effects import EffectRecord
from holdfast.contracts.state.parts import Parts
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.transcript import AssistantTurn, TranscriptDigest, TranscriptItem
from holdfast.run import answers, parts
from holdfast.run.delegation.ceilings import lower_ceiling
from holdfast.run.sessions.messages import end_message, require_session
from holdfast.run.transcript import append_items, build_continue_as_new_input, halt


def build_brief(given: SessionInput, run_id: str, *, regulated: bool) -> RunMetadata:
    """Build what a session is begun with as a run has it."""
    return RunMetadata(
        agent=given.agent,
        tenant=given.tenant,
        actor=given.actor,
        session_id=run_id,
        metadata=given.metadata,
        stream=given.stream,
        regulated=regulated,
    )


def start_session(
    given: SessionInput,
    agent: AgentSnapshot,
    now: datetime,
    *,
    run_id: str,
    first_execution_run_id: str,
    execution: str,
) -> RunState:
    """Begin a session in which nothing was said yet."""
    limits = agent.budget if given.budget is None else agent.budget.with_changes(given.budget)
    return RunState(
        run_id=run_id,
        first_execution_run_id=first_execution_run_id,
        execution=execution,
        brief=build_brief(given, run_id, regulated=given.regulated or agent.regulated),
        agent=agent.with_(budget=limits),
        started_at=now,
        session=SessionState(
            agent=given.agent,
            actor=given.actor,
            limits=limits,
            budget=given.session_budget,
            idle_timeout=given.idle_timeout,
            context=given.context,
            last_updated=now,
            idle_since=now,
        ),
    )


def is_kept_from(state: RunState, left: RunState) -> bool:
    """Whether not all look at a session's words now who looked at last, as after a handoff."""
    return not left.agent.answer_guardrails <= state.agent.answer_guardrails


def reopen_session(
    state: RunState, archived: ArchivedSession, *, is_kept: bool = False
) -> RunState:
    """
    Go on from where a session was left, as its agent is now and with nothing approved.

    Its own budget is the lower of what it had and what it is opened with. What models said whose
    words were withheld stays so, but for answers that are out: where nobody looks at words now,
    or all of it *is kept* from who looks.
    """
    left, begun = archived.state, require_session(state)
    if left.withholds and (is_kept or not state.withholds):
        left = _redact_conversation(left)
    was = require_session(left)
    session = was.copy_with(
        {
            "actor": begun.actor,
            "limits": begun.limits,
            "ceiling": None,
            "budget": lower_ceiling(was.budget, begun.budget),
            "idle_timeout": begun.idle_timeout,
            "idle_since": begun.idle_since,
            "closing": None,
            "opened": was.opened + 1,
        }
    )
    regulated = state.brief.regulated or left.brief.regulated
    return state.with_(
        brief=state.brief.copy_with({"regulated": regulated}),
        session=session,
        call_marks=left.call_marks,
        planned=left.planned,
        conversation=left.conversation.with_(
            pruned_before=0, hidden=(), failed_summaries=0, steers=(), unread=0
        ),
        guarding=left.guarding.with_(held=(), claimed=()),
        effects=EffectRecord(
            known=left.effects.known, unresolved=left.effects.unresolved, lost=left.effects.lost
        ),
        oversight=left.oversight.with_(requests=(), reviewed=(), releases=(), acknowledged=()),
        parts=Parts(tier_attempts=left.parts.tier_attempts, delegated=left.parts.delegated),
    )


def redact_session(left: ArchivedSession, beginning: str) -> ArchivedSession:
    """
    Leave out what models said, but for answers that were given, and what proves a reader of it.

    *beginning* is the name of what its transcript goes on from.
    """
    place = TranscriptDigest(digest=beginning)
    state = left.state.with_conversation(origin=beginning, sent=place, head=place)
    return left.copy_with({"state": _redact_conversation(state)})


def _redact_conversation(left: RunState) -> RunState:
    """Leave out what models said, but for answers that were given."""
    given = {one.content for one in require_session(left).conversation if one.role == "assistant"}
    said = left.conversation
    items = tuple(_redact_item(item, given) for item in said.items)
    empty = said.with_(items=(), head=said.sent, context_bytes=0, summary="", summarised_before=0)
    return append_items(left.with_(conversation=empty), *items)


def _redact_item(item: TranscriptItem, given: set[str]) -> TranscriptItem:
    if isinstance(item, AssistantTurn) and not item.calls and item.text in given:
        return item.with_(parts=())
    return answers.redact_item(item)


def leave_session(
    state: RunState,
    begun: tuple[CallState, ...],
    lost_parts: Mapping[str, str],
    now: datetime,
) -> ArchivedSession:
    """
    Return what a session goes on with when it is opened again.

    Where it was ended from outside, the work on a message ends without an answer, and nobody knows
    whether those calls happened that had *begun*, nor what its *lost_parts* did.
    """
    if not state.is_idle:
        state = parts.close_turn(state, begun, now)
        for part, agent in lost_parts.items():
            state = parts.after_loss(state, part, agent)
        if state.outcome is None:
            why = Stop.because(StopReason.SESSION_CLOSED, "it was ended from outside")
            state = halt(state, why, now)
        state = end_message(state, now)
    left = state.with_(journal=(), suspended=False).with_chain(provider_state={})
    return ArchivedSession(
        tenant=state.brief.tenant,
        session_id=state.run_id,
        execution=state.execution,
        closed_at=now,
        state=build_continue_as_new_input(left),
    )


def build_session_result(state: RunState, *, archived: bool) -> SessionResult:
    """Build the result of a session that is closed."""
    session = require_session(state)
    return SessionResult(
        session_id=state.run_id,
        agent=state.agent.name,
        reason=session.closing or "",
        messages=session.messages,
        steps=session.totals.steps,
        tool_calls=session.totals.tool_calls,
        usage=session.totals.usage.summary,
        archived=archived,
    )
