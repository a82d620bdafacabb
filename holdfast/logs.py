"""How a worker logs: events with fields, on standard error, and nothing on standard output."""

import logging
import sys

import structlog


def configure() -> None:
    """Log as JSON lines, or for people on a terminal."""
    on_terminal = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer()
            if on_terminal
            else structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )
    # What a tool raises is in history with its message; the SDK would log its traceback as well.
    logging.getLogger("temporalio.activity").setLevel(logging.ERROR)
