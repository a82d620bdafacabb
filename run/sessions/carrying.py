"""What of a session goes on in a new execution. Pure."""

from holdfast.contracts import bounds
from holdfast.contracts.sessions.bounds import (
    MAX_CARRIED_CONVERSATION_BYTES,
    MAX_CARRIED_OUTCOMES_BYTES,
)
from holdfast.contracts.state.run import RunState


def carry_session(state: RunState) -> RunState:
    """Leave out what a new execution doesn't begin with: what was said long ago, old results."""
    session = state.session
    if session is None:
        return state
    said = bounds.select_latest(session.conversation, MAX_CARRIED_CONVERSATION_BYTES)
    fresh = session.with_(
        conversation=said,
        first_offset=session.first_offset + len(session.conversation) - len(said),
        ended=bounds.select_latest(session.ended, MAX_CARRIED_OUTCOMES_BYTES),
    )
    return state.with_(session=fresh)
