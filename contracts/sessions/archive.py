"""What an archive keeps of sessions that are closed, and how it is asked for that."""

from datetime import datetime
from operator import not_
from typing import Annotated

from pydantic import Field

from holdfast.contracts.base import Contract, Inbound
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.contracts.state.run import RunState

OPENED = "opened"
"""The memo of an execution that says how often its session was opened by then."""

NEVER_BEGAN = "never began"
"""What an execution says of itself that had an input which it couldn't use, or was refused."""

SESSION_NEVER_BEGAN = f"this session {NEVER_BEGAN}"
RUN_NEVER_BEGAN = f"this run {NEVER_BEGAN}: its input can't be used"

NOT_PROVEN = "that is not the digest of what its model was shown last"
"""What an execution says of itself to whoever hasn't read in history what it withholds."""

TOLD_PLAINLY = frozenset({SESSION_NEVER_BEGAN, RUN_NEVER_BEGAN, NOT_PROVEN})
"""Refusals that no codec seals: they have no word of anybody, and whoever asks goes by them."""


class ArchivedSession(Contract):
    """
    A session as it goes on when it is opened again; without what waited for people.

    `execution` is the one that left it so. Of what was said it has the latest; pages have all.
    """

    tenant: str
    session_id: str
    execution: str
    closed_at: datetime
    state: RunState


class ArchivedPage(Contract):
    """A part of what was said in a session: turns from `first_offset` on."""

    tenant: str
    session_id: str
    first_offset: int
    items: tuple[ConversationTurn, ...]


class LoadSession(Contract):
    """Input of the activity `load_session`: which session opens, and for whom."""

    session_id: str
    tenant: str
    agent: str


class LoadedSession(Contract):
    """Its output: how the session was left, null where nobody has had it before."""

    archived: ArchivedSession | None = None


class SaveResult(Contract):
    """
    Output of what writes to an archive: whether this worker has one.

    A session that `hears_more` looks behind it for what came meanwhile, before it completes.
    """

    kept: bool
    hears_more: bool = Field(default=False, exclude_if=not_)


class LeftQuery(Inbound):
    """
    The argument of the query `archive`: what a model was shown last proves a reader.

    Who has no proof may have it without what models said. The transcript is then called by the
    name of its `beginning`, which nobody else knows.
    """

    digest: str = ""
    beginning: Annotated[str, Field(max_length=100)] = ""
