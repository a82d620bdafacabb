"""What time it is for an activity that decides."""

from datetime import datetime, timedelta
from time import monotonic

from temporalio import activity

DECISION_TIMEOUT = timedelta(seconds=10)
"""So long a decision may wait for its turn, and take."""


class Clock:
    """
    The server's time, which a run goes by: no worker's clock decides whether something lapsed.

    The server says when an activity began. It knows nothing of a local one: that waited as long as
    the difference of two times of the worker that asked for it, and the run asks only once.
    """

    def __init__(self, asked_at: datetime) -> None:
        info = activity.info()
        # Longer than it may take it only seems to have waited: its worker's clock was set.
        waited = max(info.started_time - info.scheduled_time, timedelta(0))
        waited = min(waited, DECISION_TIMEOUT)
        self._began = asked_at + waited if info.is_local else max(asked_at, info.started_time)
        self._since = monotonic()

    def now(self) -> datetime:
        """Return what time it is, however long the activity has run by now."""
        return self._began + timedelta(seconds=monotonic() - self._since)
