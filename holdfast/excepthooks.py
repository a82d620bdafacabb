"""What a process says of warnings and of what it failed with, before `logs` knows more."""

import logging
import sys
import threading
from types import TracebackType

from holdfast.contracts.texts import escape_invisible_lines


def capture() -> None:
    """
    Let nothing but what is logged reach standard error, from here on and in the whole process.

    Warnings, and what fails in a thread, where nobody hears of it or at the very end, are written
    as what libraries log is: with every character visible, until `logs.configure` says more.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_VisibleFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    # A line that can't be written would be printed with all that it was to say.
    logging.raiseExceptions = False
    sys.excepthook = _log_uncaught
    sys.unraisablehook = lambda lost: _log_error(
        lost.exc_type, lost.exc_value, lost.exc_traceback, lost.err_msg or "an error was lost"
    )
    threading.excepthook = lambda failed: _log_error(
        failed.exc_type, failed.exc_value, failed.exc_traceback, "a thread has failed"
    )


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Say what ended this process, unless somebody did by Ctrl-C: nothing has failed then."""
    if not issubclass(kind, KeyboardInterrupt):
        _log_error(kind, error, trace, "this process has failed")


def _log_error(
    kind: type[BaseException],
    error: BaseException | None,
    trace: TracebackType | None,
    event: str,
) -> None:
    if not issubclass(kind, SystemExit):
        logging.getLogger("holdfast").error("%s", event, exc_info=(kind, error or kind(), trace))


class _VisibleFormatter(logging.Formatter):
    """One line, and what belongs to it, such as a traceback, to the right of it."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n    ".join(escape_invisible_lines(super().format(record)))
