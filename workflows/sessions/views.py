"""What a session says about itself when it is asked. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice

from temporalio.exceptions import ApplicationError

from holdfast.contracts.base import Inbound
from holdfast.contracts.sessions.archive import (
    NOT_PROVEN,
    SESSION_NEVER_BEGAN,
    ArchivedSession,
    LeftQuery,
)
from holdfast.contracts.sessions.bounds import MAX_WAITING_MESSAGES
from holdfast.contracts.sessions.messages import (
    ConversationPage,
    MessageSignal,
    OutcomeReport,
    SessionReport,
)
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run.sessions import messages
from holdfast.run.sessions.opening import leave_session, redact_session
from holdfast.workflows.inbound import messages as inbound
from holdfast.workflows.inbound.inbox import InboundMessage
from holdfast.workflows.views import PageQuery, select_page


class OutcomeQuery(Inbound):
    """The argument of the query `outcome`."""

    message_id: str


def outcome(
    state: RunState, query: OutcomeQuery, unheard: Iterable[InboundMessage], *, opening: bool
) -> OutcomeReport:
    """
    Answer the query `outcome`.

    What is unknown is lost for whoever asks. So what has come and nobody has read is queued, and
    while the session is *opening*, and doesn't know what it was told before, so is whatever is
    asked about.
    """
    stands = messages.find_message_state(state, query.message_id)
    if stands == "unknown" and (
        opening or (_has_begun(state) and query.message_id in _list_unheard(unheard))
    ):
        stands = "queued"
    return OutcomeReport(state=stands, result=messages.find_result(state, query.message_id))


def _list_unheard(unheard: Iterable[InboundMessage]) -> set[str]:
    """Return the ids of messages that have come, of as many as may wait."""
    come = (one for one in unheard if one.signal == "message")
    read = (
        inbound.read(one.signal, one.payloads, inbound.SESSION_SIGNALS)
        for one in islice(come, MAX_WAITING_MESSAGES)
    )
    return {said.message_id for said in read if isinstance(said, MessageSignal)}


def conversation(state: RunState, query: PageQuery) -> ConversationPage:
    """Answer the query `conversation` with the first that is carried from an offset on."""
    session = messages.require_session(state)
    first = max(query.offset, session.first_offset)
    carried = PageQuery(offset=first - session.first_offset, limit=query.limit)
    return ConversationPage(
        first_offset=first,
        items=select_page(session.conversation, carried),
        total=session.first_offset + len(session.conversation),
    )


def report(state: RunState) -> SessionReport:
    """Answer the query `session`; one that was refused says nothing of the session."""
    _require_begun(state)
    session = messages.require_session(state)
    return SessionReport(
        session_id=state.run_id,
        agent=state.agent.name,
        opened_with=session.agent,
        tenant=state.brief.tenant,
        actor=session.actor,
        context=session.context,
        last_updated=session.last_updated,
        messages=session.messages,
        waiting=len(session.waiting),
        working_on=session.current and session.current.message_id,
        usage=session.totals.usage.summary,
    )


def show_archive(
    state: RunState,
    query: LeftQuery,
    begun: tuple[CallState, ...],
    lost_parts: Mapping[str, str],
    now: datetime,
) -> ArchivedSession:
    """
    Answer the query `archive`: what the session goes on with that was ended from outside.

    One that was refused leaves nothing, so that who may not open a session replaces none. Where
    answers are withheld only who has read in history what the model was asked is told what models
    said: where other agents do the work that stands nowhere.
    """
    _require_begun(state)
    left = leave_session(state, begun, lost_parts, now)
    proofs = {state.conversation.sent.digest, state.conversation.head.digest}
    if not (state.withholds and state.conversation.head.digest) or query.digest in proofs - {""}:
        return left
    if not query.beginning:
        raise ApplicationError(NOT_PROVEN)
    return redact_session(left, query.beginning)


def take_unheard(state: RunState, unheard: Iterable[InboundMessage], now: datetime) -> RunState:
    """
    Take the messages that had come when the session was ended, behind much else that had.

    Where no more may wait the rest isn't read: ten thousand may have come.
    """
    for one in unheard:
        if len(messages.require_session(state).waiting) >= MAX_WAITING_MESSAGES:
            break
        said = inbound.read(one.signal, one.payloads, inbound.SESSION_SIGNALS)
        if isinstance(said, MessageSignal):
            state, _ = messages.accept_message(state, said, now)
    return state


def _has_begun(state: RunState) -> bool:
    return bool(state.agent.prefix_digest)  # else its agent was never opened


def _require_begun(state: RunState) -> None:
    if not _has_begun(state):
        raise ApplicationError(SESSION_NEVER_BEGAN)
