"""When the server has begun an execution, be it one that goes on behind a reset."""

from datetime import UTC, datetime
from uuid import UUID

_TIME_ORDERED = 7
"""The version of ids whose first 48 bits are milliseconds since 1970 (RFC 9562)."""


def find_reset(execution: str, now: datetime) -> datetime:
    """Return when an execution was made, as its id says; *now* where it says nothing earlier."""
    try:
        made = UUID(execution)
    except ValueError:
        return now
    if made.version != _TIME_ORDERED:
        return now
    return datetime.fromtimestamp(min((made.int >> 80) / 1000, now.timestamp()), UTC)
