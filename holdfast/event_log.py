"""The log of a worker's own events: a line that can't be written changes nothing else."""

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_UNWRITABLE = (OSError, ValueError)
"""A disk that is full, a pipe or a file that is closed, a text that its encoding lacks."""


class EventLog:
    """
    Events beside the work, for whoever operates a worker.

    A call has done what it did, whether its line finds room or not. What must stand in the log
    before anything else happens is written with structlog itself, which raises.
    """

    @cached_property
    def _log(self) -> "FilteringBoundLogger":
        import structlog  # loads rich and pygments: not before there is something to log

        return structlog.get_logger()

    def info(self, event: str, **fields: object) -> None:
        """Write an event that was to be expected."""
        with suppress(*_UNWRITABLE):
            self._log.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        """Write an event that somebody may want to do something about."""
        with suppress(*_UNWRITABLE):
            self._log.warning(event, **fields)


log = EventLog()
