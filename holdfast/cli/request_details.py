"""Requests as the people read them who decide: everything that they need, and how to answer."""

from datetime import UTC, datetime

from holdfast.cli import screen
from holdfast.cli.screen import Screen
from holdfast.contracts.approvals import Request
from holdfast.contracts.patterns import is_run_id
from holdfast.contracts.texts import escape_invisible_lines
from holdfast.run.texts.figures import duration, moment
from holdfast.run.texts.requests import describe

_VALUE_COLUMN = 14
"""The column in which the values of a request begin."""

_BELOW = 18
"""The column in which a line goes on that is too long: nothing else begins there."""

_MAX_PLAIN_CHARS = 1_000
"""Of the id of a request, with the names of the parts that it came through."""


def show_request(out: Screen, run: str, request: Request) -> None:
    """Print everything that a person needs to judge a request, and how to answer it."""
    text = describe(request)
    out.line(f"{run}  {request.request_id}  {text.question}", "yellow", hang=_BELOW)
    waits = duration(datetime.now(UTC) - request.requested_at)
    for name, value in (
        *((name, value) for name, value in text.details if value),
        ("waits", f"since {waits}, until {moment(request.expires_at)}"),
        ("digest", request.digest),
    ):
        first, *more = escape_invisible_lines(value)
        out.line(f"    {name:<10}{first}", hang=_BELOW)
        for line in more:  # marked: it could look like an argument, or a field of a draft
            out.line(f"{'':<{_VALUE_COLUMN}}| {line}", hang=_BELOW)
    copied, rest = _split_command(run, request)
    line = f"    {'decide':<10}{copied}"
    apart = rest.startswith("   ") and out.is_terminal and len(line + rest) > out.find_width()
    hang = find_hang(run, request)
    out.line(line if apart else line + rest, hang=hang)
    if apart:
        out.line(f"{'':<14}{rest.strip()}")


def find_hang(run: str, request: Request) -> int | None:
    """
    Say in which column the command goes on that answers a request: it isn't cut, to be copied.

    But where a stranger chose its ids, whatever stands in them would begin rows.
    """
    ids = (run, *request.request_id.split("/"))
    plain = len(request.request_id) <= _MAX_PLAIN_CHARS and all(map(is_run_id, ids))
    return None if plain else _BELOW


def command(run: str, request: Request) -> str:
    """Return the command with which a person answers a request."""
    return "".join(_split_command(run, request))


def _split_command(run: str, request: Request) -> tuple[str, str]:
    """Return the same as what is copied, and what is told or filled in behind it."""
    name, rest = describe(request).reply
    return screen.command(name, run, request.request_id), rest
