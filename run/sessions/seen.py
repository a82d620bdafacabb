"""The ids of messages that a session has taken, in few bytes. Pure."""

import base64
import hashlib

from holdfast.contracts.sessions.bounds import MAX_SEEN_MESSAGES
from holdfast.contracts.sessions.state import SessionState

_CHARS, _BYTES = 8, 6
"""Of one id; among 10,000 of them a new one is taken for another once in 28 billion times."""


def add(seen: str, message_id: str) -> str:
    """Return these ids with one more; the oldest is forgotten."""
    return (seen + _mark(message_id))[-MAX_SEEN_MESSAGES * _CHARS :]


def find_position(session: SessionState, message_id: str) -> int | None:
    """Return the place of a message among all of its session, from 1 on, if it is known."""
    mark, seen = _mark(message_id), session.seen
    at = seen.find(mark)
    while at >= 0 and at % _CHARS:
        at = seen.find(mark, at + 1)
    if at < 0:
        return None
    return session.messages - len(seen) // _CHARS + at // _CHARS + 1


def _mark(message_id: str) -> str:
    name = message_id.encode("utf-8", "surrogatepass")
    return base64.urlsafe_b64encode(hashlib.sha256(name).digest()[:_BYTES]).decode()
