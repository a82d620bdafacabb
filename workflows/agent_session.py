"""The workflow of a session: messages one after the other, until it closes."""

from pydantic import JsonValue
from temporalio import workflow

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.sessions.archive import ArchivedSession, LeftQuery
from holdfast.contracts.sessions.messages import (
    SESSION_WORKFLOW_TYPE,
    ConversationPage,
    OutcomeReport,
    SessionReport,
    SessionResult,
)
from holdfast.run.sessions.opening import build_session_result
from holdfast.workflows.execution.handlers import RunHandlers
from holdfast.workflows.log import log_event
from holdfast.workflows.sessions import views
from holdfast.workflows.sessions.opening import open_session
from holdfast.workflows.views import PageQuery, read_query


@workflow.defn(name=SESSION_WORKFLOW_TYPE, failure_exception_types=[HoldfastError])
class AgentSession(RunHandlers):
    """A run that goes on: its id is that of the session."""

    def __init__(self) -> None:
        super().__init__()
        self._opening = True

    @workflow.run
    async def run(self, *arguments: JsonValue) -> SessionResult:
        """Answer messages until the session is closed."""
        try:
            await open_session(self._run, arguments)
        finally:
            self._opening = False
        await self._loop.run()
        result = build_session_result(self._run.state, archived=self._loop.archived)
        log_event("session.closed", self._run.state, messages=result.messages)
        return result

    @workflow.query
    def outcome(self, *given: JsonValue) -> OutcomeReport:
        """Say where the work on a message stands, and what it came to."""
        asked, unheard = read_query("outcome", views.OutcomeQuery, given), self._inbox.unheard
        return views.outcome(self._run.state, asked, unheard, opening=self._opening)

    @workflow.query
    def conversation(self, *page: JsonValue) -> ConversationPage:
        """Return a part of what was said."""
        return views.conversation(self._run.state, read_query("conversation", PageQuery, page))

    @workflow.query
    def session(self) -> SessionReport:
        """Say what the session is, and how far it is."""
        return views.report(self._run.state)

    @workflow.query
    def archive(self, *given: JsonValue) -> ArchivedSession:
        """Return what the session goes on with, if it was ended from outside."""
        run, now = self._run, workflow.now()
        return views.show_archive(
            views.take_unheard(run.state, self._inbox.unheard, now),
            read_query("archive", LeftQuery, given),
            tuple(run.begun.values()),
            run.begun_parts,
            now,
        )
