"""How a run hears its last words; how a session is kept when it closes, or goes on anew."""

from temporalio import workflow

from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.bounds import MAX_COUNT
from holdfast.contracts.sessions.archive import ArchivedPage, SaveResult
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.contracts.sessions.state import SessionState
from holdfast.run.sessions.messages import require_session
from holdfast.run.sessions.opening import leave_session
from holdfast.workflows import options
from holdfast.workflows.inbound.inbox import Inbox
from holdfast.workflows.inbound.signals import hear_what_waits
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.sessions import views
from holdfast.workflows.views import PageQuery, select_page

PAGES_IN_PLACE = "pages-in-place"
"""The patch by which a page says where it stands though what was said before it was left out."""

CLOSED_IN_FLOODS = "closed-in-floods"
"""The patch by which a session that is over waits for no flood to end."""


async def hear_last_words(run: RunContext, inbox: Inbox) -> None:
    """
    Hear what has come to a run that is over, and gather no more of it.

    Of what comes to a session later, which may have no end, only a message that it would take is
    heard: the session goes on with that.
    """
    if inbox.keeps_from_ending():
        await hear_what_waits(run.state.run_id)  # as before a new execution
        inbox.set_draining()
        if run.state.session is None or workflow.patched(CLOSED_IN_FLOODS):
            await inbox.end()
            while _has_more_to_do(run, inbox):
                await inbox.end()
            return
    await workflow.wait_condition(workflow.all_handlers_finished)
    inbox.set_draining(on=False)


def _has_more_to_do(run: RunContext, inbox: Inbox) -> bool:
    """Whether a message that nobody has read is work for a session that has none."""
    if (session := run.state.session) is None or session.waiting:
        return False
    said = (one for one in inbox.find_open_questions() if one.signal == "message")
    taken = views.take_unheard(run.state, said, workflow.now())
    return bool(require_session(taken).waiting)


async def archive_session(run: RunContext) -> SaveResult:
    """Archive a session that is closed, if its worker has an archive."""
    await archive_conversation(run)
    left = leave_session(run.state, (), {}, workflow.now())
    return await workflow.execute_local_activity_method(
        SessionActivities.save_session, left, **options.record("the session is archived")
    )


async def archive_conversation(run: RunContext) -> None:
    """Archive what was said since the last time, in pages."""
    while begin := _select_new_turns(run):
        place = _find_place(require_session(run.state))
        items = select_page(begin, PageQuery(limit=MAX_COUNT))
        page = ArchivedPage(
            tenant=run.state.brief.tenant,
            session_id=run.state.run_id,
            first_offset=place,
            items=items,
        )
        await workflow.execute_local_activity_method(
            SessionActivities.save_conversation,
            page,
            **options.record("what was said is archived"),
        )
        session = require_session(run.state).with_(archived=place + len(items))
        run.state = run.state.with_(session=session)


def _select_new_turns(run: RunContext) -> tuple[ConversationTurn, ...]:
    session = require_session(run.state)
    return session.conversation[max(session.archived - session.first_offset, 0) :]


def _find_place(session: SessionState) -> int:
    """
    Return where in all that was said the next page begins.

    Of a session that was ended from outside what doesn't fit is left out before it is archived:
    that is in its history alone.
    """
    if session.first_offset > session.archived and workflow.patched(PAGES_IN_PLACE):
        return session.first_offset
    return session.archived
