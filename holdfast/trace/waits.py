"""The requests of a run while it is read."""

from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.trace.requests import Asked, EscalatedToGroup, Outcome, Said


class Waits:
    """What waits for people, or did; each request changes until it is closed."""

    def __init__(self) -> None:
        self.made = 0
        self.requests: dict[str, Asked] = {}

    @property
    def next_id(self) -> str:
        """The id that the run gives its next request: it counts them."""
        return f"req-{self.made + 1}"

    def ask(self, asked: Asked) -> None:
        """Open a request."""
        self.made += 1
        self.requests[asked.request_id] = asked

    def open(self) -> tuple[Asked, ...]:
        """Return the requests that wait."""
        return tuple(asked for asked in self.requests.values() if asked.outcome is None)

    def add(self, request_id: str, heard: Said | EscalatedToGroup) -> bool:
        """Add what happened while a request waits; false if none waits under this id."""
        asked = self.requests.get(request_id)
        if asked is None or asked.outcome is not None:
            return False
        self.requests[request_id] = replace(asked, heard=(*asked.heard, heard))
        return True

    def settle(self, asked: Asked, outcome: Outcome, said: Said, at: datetime) -> None:
        """Close a request with the message that decided it."""
        self.requests[asked.request_id] = replace(
            asked, outcome=outcome, settled=said, closed_at=at
        )

    def pass_on(self, request_id: str, at: datetime) -> None:
        """Let members of further groups decide too."""
        asked = self.requests.get(request_id)
        if asked is not None and asked.required is not None:
            self.add(request_id, EscalatedToGroup(groups=asked.required.escalate_to, at=at))

    def expire(self, at: datetime) -> tuple[Asked, ...]:
        """
        Close the requests whose time is over, and return them: a wait ended by its timer.

        It was the timer of the request that was due first. The times of timers and of requests
        come from different clocks.
        """
        waiting = self.open()
        now = max(at, min((_due(asked, at) for asked in waiting), default=at))
        expired = tuple(
            asked for asked in waiting if asked.expires_at is None or asked.expires_at <= now
        )
        for asked in expired:
            self.requests[asked.request_id] = replace(asked, outcome="expired", closed_at=at)
        return expired


def _due(asked: Asked, now: datetime) -> datetime:
    """Say when a request changes if nobody decides: it is passed on, or expires."""
    expires_at = asked.expires_at or now
    after = asked.required.escalate_after if asked.required else None
    if after is None or asked.escalated_at is not None:
        return expires_at
    return min(asked.at + timedelta(seconds=after), expires_at)
