"""How a session is kept when it closes, and what was said when it goes on in a new execution."""

from temporalio import workflow

from holdfast.activities.sessions.keeping import SessionActivities
from holdfast.contracts.bounds import MAX_COUNT
from holdfast.contracts.sessions.archive import ArchivedPage, SaveResult
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.run.sessions.messages import require_session
from holdfast.run.sessions.opening import leave_session
from holdfast.workflows import options
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.views import PageQuery, select_page


async def archive_session(run: RunContext) -> SaveResult:
    """Archive a session that is closed, if its worker has an archive."""
    await archive_conversation(run)
    left = leave_session(run.state, (), {}, workflow.now())
    return await workflow.execute_local_activity_method(
        SessionActivities.save_session, left, **options.record("the session is archived")
    )


async def archive_conversation(run: RunContext) -> None:
    """Archive what was said since the last time, in pages."""
    session = require_session(run.state)
    while begin := _select_new_turns(run):
        items = select_page(begin, PageQuery(limit=MAX_COUNT))
        page = ArchivedPage(
            tenant=run.state.brief.tenant,
            session_id=run.state.run_id,
            first_offset=session.archived,
            items=items,
        )
        await workflow.execute_local_activity_method(
            SessionActivities.save_conversation,
            page,
            **options.record("what was said is archived"),
        )
        session = require_session(run.state).with_(archived=session.archived + len(items))
        run.state = run.state.with_(session=session)


def _select_new_turns(run: RunContext) -> tuple[ConversationTurn, ...]:
    session = require_session(run.state)
    return session.conversation[max(session.archived - session.first_offset, 0) :]
