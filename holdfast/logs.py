"""How a worker logs: events with fields, on standard error, and nothing on standard output."""

import logging
import sys
from collections.abc import Callable, MutableMapping

import structlog
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from holdfast.contracts.texts import escape_invisible, escape_invisible_lines

_CORE = TelemetryFilter(core_level="WARN", other_level="ERROR")


def configure() -> None:
    """Log as events, those of the SDK's core too, which would write by itself otherwise."""
    configure_structlog()
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(_CORE, forwarding))),
        error_if_already_set=False,
    )
    # What a tool raises is in history with its message; the SDK would log its traceback as well.
    logging.getLogger("temporalio.activity").setLevel(logging.ERROR)


def configure_structlog(redact: Callable[[str], str] = str) -> None:
    """Log as JSON lines, or for people on a terminal; *redact* clears each line of secrets."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _make_visible,
            structlog.dev.ConsoleRenderer()
            if sys.stderr.isatty()
            else structlog.processors.JSONRenderer(ensure_ascii=False),
            lambda _, __, line: redact(str(line)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    capture(redact)


def capture(redact: Callable[[str], str] = str) -> None:
    """Write what libraries log as everything else is written: with every character visible."""
    handler = logging.StreamHandler()
    handler.setFormatter(_VisibleFormatter(redact))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)


class _VisibleFormatter(logging.Formatter):
    """One line, and what belongs to it, such as a traceback, to the right of it."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        return "\n    ".join(escape_invisible_lines(self._redact(super().format(record))))


def _make_visible(
    _logger: object, _method: str, event: MutableMapping[str, object]
) -> MutableMapping[str, object]:
    """Make visible what values have; names are our own."""
    return {
        name: escape_invisible(value) if isinstance(value, str) else value
        for name, value in event.items()
    }
