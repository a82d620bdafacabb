"""How a worker logs: events with fields, for people or as JSON, and nothing on standard output."""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import structlog
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import escape_invisible, escape_invisible_lines
from holdfast.settings import LogSettings
from holdfast.workflows.log import FIELDS

Event: TypeAlias = MutableMapping[str, object]

_CORE = TelemetryFilter(core_level="WARN", other_level="ERROR")

STACK = "stack"
"""The field that has several lines."""

_OF_RUNS = ("run_id", "turn", "call_id")
"""The fields by which a line is found, and that stand first."""

_WITHHELD = (
    "what a task, a future or a callback has failed with is left out: it may quote anything"
)

_PLACE = Pattern(r' *File "[^"]+\.pyc?", line [0-9]+, in [\w<>.]+')
"""As Python writes a frame; what was raised may have a line of its own that begins like one."""

_COLOURS = {"warning": "33", "error": "31", "critical": "31"}


def configure(
    redact: Callable[[str], str] = str, *, quiet: bool = False, stacks: bool = True
) -> None:
    """
    Log as events, those of the SDK's core too, which would write by itself otherwise.

    As HOLDFAST_LOG and HOLDFAST_LOG_FILE say; unless they do, for people on a terminal and as JSON
    elsewhere. With *quiet* a terminal shows nothing below a warning. *redact* clears each line.
    Without *stacks* only the places of one are told: what was raised there may quote anything,
    and so may what asyncio says of a task or a callback that has failed, and what libraries say
    below a warning (ANTHROPIC_LOG=debug: whole requests).
    """
    wanted = LogSettings.load()
    handler = logging.StreamHandler(sys.stderr) if wanted.file is None else _open(wanted.file)
    stream = handler.stream or sys.stderr
    terminal = stream.isatty()
    level = logging.getLevelNamesMapping()[
        (wanted.level or ("warning" if quiet and terminal else "info")).upper()
    ]
    people = terminal if wanted.format is None else wanted.format == "people"
    render = _Renderer(redact, people=people, coloured=people and terminal, stacks=stacks)
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, _add_level, render],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
    )
    handler.setFormatter(_EventFormatter(render, stacks=stacks))
    if not stacks:
        handler.addFilter(_is_ours_or_warns)
    logging.basicConfig(handlers=[handler], level=max(level, logging.WARNING), force=True)
    logging.getLogger("temporalio.workflow").setLevel(level)
    # What a tool raises is logged as `activity.raised`; the SDK would log its traceback as well.
    logging.getLogger("temporalio.activity").setLevel(logging.ERROR)
    forwarding = LogForwardingConfig(logger=logging.getLogger("temporalio.core"))
    Runtime.set_default(
        Runtime(telemetry=TelemetryConfig(logging=LoggingConfig(_CORE, forwarding))),
        error_if_already_set=False,
    )


def _open(path: Path) -> logging.FileHandler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return logging.FileHandler(path, encoding="utf-8")
    except OSError as error:
        raise HoldfastError(
            f"HOLDFAST_LOG_FILE: {path}: {error.strerror}: name a file that can be written"
        ) from None


def _add_level(_logger: object, method: str, event: Event) -> Event:
    return {"level": method, **event}


class _Renderer:
    """Writes an event down: on one line, but for a stack where people read it."""

    def __init__(
        self,
        redact: Callable[[str], str],
        *,
        people: bool,
        coloured: bool = False,
        stacks: bool = True,
    ) -> None:
        self._redact = redact
        self._people = people
        self._coloured = coloured
        self._stacks = stacks

    def __call__(self, _logger: object, _method: str, event: Event) -> str:
        now = datetime.now().astimezone()
        if not self._stacks and STACK in event:
            event = {**event, STACK: _select_places(str(event[STACK]))}
        line = self._for_people(event, now) if self._people else _as_json(event, now)
        return self._redact(line)

    def _for_people(self, event: Mapping[str, object], now: datetime) -> str:
        level = str(event["level"])
        begin = f"{now:%H:%M:%S} {level:<7}"
        if self._coloured and level in _COLOURS:
            begin = f"\x1b[{_COLOURS[level]}m{begin}\x1b[0m"
        stack = escape_invisible_lines(str(event[STACK]).rstrip()) if event.get(STACK) else []
        words = " ".join((begin, escape_invisible(str(event["event"])), *_pairs(event)))
        return "\n    ".join((words, *stack))


def _select_places(stack: str) -> str:
    """Return the lines of a stack that say where it was, without those that quote."""
    return "\n".join(line for line in stack.splitlines() if _PLACE.fits(line))


def _pairs(event: Mapping[str, object]) -> Iterator[str]:
    names = [name for name in _OF_RUNS if name in event]
    names += [name for name in event if name not in {*_OF_RUNS, "event", "level", STACK}]
    for name in names:
        value = event[name]
        said = value if isinstance(value, str) else json.dumps(value, default=str)
        shown = escape_invisible(said)
        plain = shown and " " not in shown
        yield f"{name}={shown if plain else json.dumps(shown, ensure_ascii=False)}"


def _as_json(event: Mapping[str, object], now: datetime) -> str:
    shown = {name: _make_visible(name, value) for name, value in event.items()}
    first = {name: shown[name] for name in ("level", "event")}
    whole = {"timestamp": now.isoformat(), **first, **shown}
    return json.dumps(
        whole, ensure_ascii=False, default=lambda value: escape_invisible(repr(value))
    )


def _make_visible(name: str, value: object) -> object:
    """Make visible what values have; names are our own."""
    if not isinstance(value, str):
        return value
    return "\n".join(escape_invisible_lines(value)) if name == STACK else escape_invisible(value)


class _EventFormatter(logging.Formatter):
    """Has what libraries log, and workflows, written as everything else is."""

    def __init__(self, render: _Renderer, *, stacks: bool) -> None:
        super().__init__()
        self._render = render
        self._stacks = stacks

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        event: Event = {"level": level, **structlog.contextvars.get_contextvars()}
        fields: Mapping[str, object] | None = getattr(record, FIELDS, None)
        quoting = self._stacks or record.name != "asyncio"
        said = _message(record) if quoting else _WITHHELD
        event |= {"event": said, "logger": record.name} if fields is None else fields
        if record.exc_info:
            event[STACK] = self.formatException(record.exc_info)
        return self._render(None, level, event)


def _is_ours_or_warns(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.startswith("temporalio")


def _message(record: logging.LogRecord) -> str:
    """Return what a library says; without the values where it gives other ones than it names."""
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        return str(record.msg)
