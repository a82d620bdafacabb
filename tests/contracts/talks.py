"""An example of every contract of sessions, in full."""

from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.journal import MessageEnded, MessageTaken
from holdfast.contracts.run import RunResult
from holdfast.contracts.sessions.archive import (
    ArchivedPage,
    ArchivedSession,
    LeftQuery,
    LoadedSession,
    LoadSession,
    SaveResult,
)
from holdfast.contracts.sessions.messages import (
    ConversationPage,
    ConversationTurn,
    MessageReceipt,
    MessageSignal,
    OutcomeReport,
    SessionInput,
    SessionReport,
    SessionResult,
)
from holdfast.contracts.sessions.state import EndedMessage, QueuedMessage, SessionState
from holdfast.contracts.signals import CloseSignal
from holdfast.contracts.usage import UsageMetrics
from tests.builders import FIRST, LATER, NOW, a_state

USED = UsageMetrics(input_tokens=100, output_tokens=7)
RESULT = RunResult(
    status="completed",
    answer="paid",
    stop=None,
    steps=2,
    usage=USED,
    provider_state=None,
    confidence=None,
    model="scripted:it",
)
QUEUED = QueuedMessage(message_id="m-2", text="and now?", actor="ann", position=2)
SAID = ConversationTurn(
    role="user",
    content="pay it",
    metadata={"channel": "chat"},
    timestamp=NOW,
    message_id="m-1",
    agent="it",
)
SESSION = SessionState(
    agent="it",
    actor="web",
    limits=Limits(max_steps=9),
    budget=Budget(max_steps=90),
    idle_timeout=60.0,
    context={"order": 1044},
    metadata={"team": "ops"},
    last_updated=LATER,
    idle_since=NOW,
    messages=2,
    seen="abcdefgh",
    waiting=(QUEUED,),
    current=QUEUED,
    ended=(EndedMessage(message_id="m-1", result=RESULT),),
    totals=Ledger(steps=2, tool_calls=1),
    worked=1.5,
    conversation=(SAID,),
    first_offset=3,
    archived=3,
    closing="enough",
)
ARCHIVED = ArchivedSession(
    tenant="acme",
    session_id="acme-4711",
    execution=FIRST,
    closed_at=LATER,
    state=a_state().with_(session=SESSION),
)

EXAMPLES: list[Contract] = [
    SESSION,
    QUEUED,
    EndedMessage(message_id="m-1", result=RESULT),
    ARCHIVED,
    ArchivedPage(tenant="acme", session_id="acme-4711", first_offset=3, items=(SAID,)),
    LoadSession(session_id="acme-4711", tenant="acme", agent="it"),
    LoadedSession(archived=ARCHIVED),
    SaveResult(kept=True),
    LeftQuery(digest="ab" * 32),
    SessionInput.model_validate({"agent": "it", "session_budget": {"max_steps": 90}}),
    MessageSignal(message_id="m-1", text="pay it", actor="ann", metadata={"channel": "chat"}),
    CloseSignal(reason="enough", by="ann"),
    MessageReceipt(message_id="m-1", position=1, state="queued"),
    OutcomeReport(state="done", result=RESULT),
    SAID,
    ConversationPage(first_offset=3, items=(SAID,), total=4),
    SessionReport(
        session_id="acme-4711",
        agent="billing",
        opened_with="it",
        tenant="acme",
        actor="web",
        context={"order": 1044},
        last_updated=LATER,
        messages=2,
        waiting=1,
        working_on="m-1",
        usage=USED,
    ),
    SessionResult(
        session_id="acme-4711",
        agent="it",
        reason="enough",
        messages=2,
        steps=2,
        tool_calls=1,
        usage=USED,
        archived=True,
    ),
    MessageTaken(message_id="m-1", position=1, actor="ann", at=NOW),
    MessageEnded(message_id="m-1", status="completed", at=LATER),
]
