"""What the terminal shows: transcript lines, requests, tables. Colours on a terminal only."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue
from rich.console import Console
from rich.text import Text

from contracts.approvals import ApprovalRequest, Escalation, Question, Request
from holdfast.trace.words import Line, Tone, duration, moment, plain

_STYLES: dict[Tone, str] = {
    "plain": "",
    "quiet": "dim",
    "good": "green",
    "bad": "red",
    "waiting": "yellow",
}


def console(*, errors: bool = False) -> Console:
    """
    Return standard output, or standard error.

    Nothing in a text is markup, and no line is cut or wrapped.
    """
    return Console(stderr=errors, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_line(out: Console, line: Line) -> None:
    """Print a line of a transcript."""
    out.print(Text(str(line), style=_STYLES[line.tone]))


def show_json(value: JsonValue) -> None:
    """Print a value as JSON, for programs: no colours, every character as it is."""
    print(json.dumps(value, ensure_ascii=False, indent=2))  # noqa: T201 -- rich would style it


def show_table(out: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns that are as wide as they need, on a terminal and into a pipe alike."""
    shown = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(header))]
    for number, row in enumerate(shown):
        padded = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.print(Text(padded.rstrip(), style="" if number else "bold"))


def show_fields(out: Console, fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values below each other; a value may have several lines."""
    width = max(len(name) for name, _ in fields)
    for name, value in fields:
        first, *more = plain_lines(value)
        out.print(Text.assemble((f"{name:<{width}}", "dim"), f"  {first}"))
        for line in more:
            out.print(Text(f"{' ' * width}  {line}"))


def show_request(out: Console, run: str, request: Request) -> None:
    """Print everything that a person needs to judge a request, and how to answer it."""
    out.print(Text(f"{run}  {request.request_id}  {plain(_question(request))}", style="yellow"))
    for name, value in _particulars(request):
        for number, line in enumerate(plain_lines(value)):
            out.print(Text(f"    {'' if number else name:<10}{line}"))
    waits = duration(datetime.now(UTC) - request.requested_at)
    out.print(Text(f"    {'waits':<10}since {waits}, until {moment(request.expires_at)}"))
    out.print(Text(f"    {'decide':<10}{command(run, request)}"))


def command(run: str, request: Request) -> str:
    """Return the command with which a person answers a request."""
    match request:
        case ApprovalRequest():
            return f"holdfast approve {run} {request.request_id}   (or: reject)"
        case Question():
            return f'holdfast answer {run} {request.request_id} "..."'
        case Escalation():
            return f"holdfast resolve {run} {request.request_id} resume   (or: abort, extend)"


def field(value: JsonValue) -> str:
    """Return a field of a contract as text: words as they are, the rest as JSON."""
    match value:
        case str():
            return value or "-"
        case None:
            return "-"
        case _:
            return json.dumps(value, ensure_ascii=False)


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text with every character visible; at least one."""
    return [plain(line) for line in text.splitlines()] or [""]


def _question(request: Request) -> str:
    match request:
        case ApprovalRequest():
            return f"approve {request.tool}?"
        case Question():
            return request.question
        case Escalation():
            return f"escalated: {request.reason}"


def _particulars(request: Request) -> list[tuple[str, str]]:
    match request:
        case ApprovalRequest():
            found = [*_action(request), *_consequences(request), *_conditions(request)]
            return [(name, value) for name, value in found if value]
        case Question():
            return [("why", request.reason)]
        case Escalation():
            return [("detail", request.detail)]


def _action(request: ApprovalRequest) -> list[tuple[str, str]]:
    """Show what will be done, with every argument, and the draft of it as it stands."""
    arguments = [
        ("", f"{name} = {json.dumps(value, ensure_ascii=False)}")
        for name, value in request.arguments.items()
    ]
    return [("action", request.action), *arguments, ("draft", _draft(request.preview))]


def _draft(preview: JsonValue) -> str:
    """Show a draft whole: what is left out would be approved unseen."""
    match preview:
        case None:
            return ""
        case str():
            return preview
        case dict():
            return "\n".join(f"{name} = {field(value)}" for name, value in preview.items())
        case _:
            return field(preview)


def _consequences(request: ApprovalRequest) -> list[tuple[str, str]]:
    policy = f" of policy {request.policy}" if request.policy else ""
    return [
        ("risk", f"{request.risk}: {request.reason} (rule {request.rule}{policy})"),
        ("scope", "" if request.scope == "none" else request.scope),
        ("expected", request.expected_result),
        ("rollback", request.rollback),
        ("recovery", request.recovery),
        ("for", request.requester),
    ]


def _conditions(request: ApprovalRequest) -> list[tuple[str, str]]:
    """Show who may approve, how many must, how they prove who they are, and who has."""
    who = f"a member of {' or '.join(request.groups)}" if request.groups else "anybody"
    given = [f"{one.approver} at {moment(one.at)}" for one in request.approvals]
    count = f"{request.count} approvals, {len(given)} given" if request.count > 1 else ""
    return [
        ("who", f"{who}, but not whom it is for"),
        ("needs", count),
        ("given", "\n".join(given)),
        ("strength", _strength(request)),
        ("escalates", _escalation(request)),
    ]


def _strength(request: ApprovalRequest) -> str:
    if not request.needs_proof:
        return ""
    methods = f", by {' or '.join(request.methods)}" if request.methods else ""
    age = request.max_auth_age
    fresh = f", not longer than {duration(timedelta(seconds=age))} ago" if age is not None else ""
    how = f"; signed in{methods}{fresh}".replace("in, ", "in ", 1) if methods or fresh else ""
    return f"strong: a signed approval{how}"


def _escalation(request: ApprovalRequest) -> str:
    if not request.escalate_to or request.escalate_after is None:
        return ""
    groups = " or ".join(request.escalate_to)
    if request.escalated_at is not None:
        return f"since {moment(request.escalated_at)} members of {groups} may approve too"
    at = request.requested_at + timedelta(seconds=request.escalate_after)
    return f"at {moment(at)} to {groups}"
