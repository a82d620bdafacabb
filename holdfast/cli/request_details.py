"""Requests as the people read them who decide: everything that they need, and how to answer."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from holdfast.cli import screen
from holdfast.cli.render import field
from holdfast.cli.screen import Screen
from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRequest,
    Escalation,
    Question,
    Request,
    Review,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Grant
from holdfast.contracts.control import Approach, ModelAttempt, UndoRuling
from holdfast.contracts.texts import escape_invisible, escape_invisible_lines, one_line
from holdfast.contracts.usage import UsageMetrics
from holdfast.run.summaries import subject_line
from holdfast.tools.values.answers import describe_fitting
from holdfast.trace.words import dollars, duration, moment, pluralize

_VALUE_COLUMN = 14
"""The column in which the values of a request begin."""

_BELOW = 18
"""The column in which a line goes on that is too long: nothing else begins there."""


def show_request(out: Screen, run: str, request: Request) -> None:
    """Print everything that a person needs to judge a request, and how to answer it."""
    out.line(f"{run}  {request.request_id}  {_question(request)}", "yellow", hang=_BELOW)
    waits = duration(datetime.now(UTC) - request.requested_at)
    for name, value in (
        *describe(request),
        ("waits", f"since {waits}, until {moment(request.expires_at)}"),
        ("digest", request.digest),
    ):
        first, *more = escape_invisible_lines(value)
        out.line(f"    {name:<10}{first}", hang=_BELOW)
        for line in more:  # marked: it could look like an argument, or a field of a draft
            out.line(f"{'':<{_VALUE_COLUMN}}| {line}", hang=_BELOW)
    # Not cut: it is there to be copied.
    out.line(f"    {'decide':<10}{command(run, request)}", hang=None)


def command(run: str, request: Request) -> str:
    """Return the command with which a person answers a request."""
    name = request.request_id
    match request:
        case ApprovalRequest() | Review():
            return f"{screen.command('approve', run, name)}   (or: reject)"
        case Question():
            return f'{screen.command("answer", run, name)} "..."'
        case Escalation():
            return f"{screen.command('resolve', run, name)} resume   (or: abort, extend)"


def describe(request: Request) -> list[tuple[str, str]]:
    """Return what a person needs to judge a request, as names and values."""
    match request:
        case ApprovalRequest():
            found = [
                *_describe_action(request),
                *_describe_consequences(request),
                *_describe_conditions(request),
            ]
        case Review():
            found = [*_describe_review(request), *_describe_conditions(request)]
        case Question():
            found = [*_describe_question(request)]
        case Escalation():
            found = list(_describe_escalation(request))
    return [(name, value) for name, value in found if value]


def _describe_question(request: Question) -> Iterator[tuple[str, str]]:
    """Show all that the call says beside its question, and which answers fit."""
    yield "why", request.reason
    yield "tool", request.tool
    yield from _arguments(request.arguments)
    if request.answer_schema is not None:
        yield "answer", describe_fitting(request.answer_schema)


def _question(request: Request) -> str:
    match request:
        case ApprovalRequest():
            return f"approve {request.tool}?"
        case Review():
            return f"approve {subject_line(request.subject)}? {request.reason}"
        case Question():
            return request.question or f"{request.tool} asks"
        case Escalation():
            return f"escalated: {request.reason}"


def _describe_action(request: ApprovalRequest) -> list[tuple[str, str]]:
    """Show what will be done, with every argument, and the draft of it as it stands."""
    arguments = _arguments(request.arguments)
    return [("action", request.action), *arguments, *_draft(request.preview)]


def _arguments(given: JsonObject) -> list[tuple[str, str]]:
    return [
        ("", f"{_named(name)} = {escape_invisible(json.dumps(value, ensure_ascii=False))}")
        for name, value in given.items()
    ]


def _draft(preview: JsonValue) -> list[tuple[str, str]]:
    """Show a draft whole: what is left out would be approved unseen."""
    match preview:
        case None:
            return []
        case dict():
            lines = (f"{_named(name)} = {field(value)}" for name, value in preview.items())
            return _below_each_other("draft", lines)
        case str():
            return [("draft", preview)]
        case _:
            return [("draft", field(preview))]


def _named(name: str) -> str:
    """Quote a name that could be taken for one with its value."""
    plain = name.replace("-", "_").isidentifier()
    return name if plain else escape_invisible(json.dumps(name, ensure_ascii=False))


def _below_each_other(name: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return values that belong together, each in a line of its own."""
    return [("" if number else name, value) for number, value in enumerate(values)]


def _describe_review(request: Review) -> list[tuple[str, str]]:
    """Show what is approved as it stands: what is left out would be approved unseen."""
    return [
        ("asks", request.action),
        ("reason", request.reason),
        ("what", request.subject),
        ("text", request.text),
        ("call", request.call_id),
        ("recovery", request.recovery),
        ("for", request.requester),
    ]


def _describe_escalation(request: Escalation) -> Iterator[tuple[str, str]]:
    """Show why a run came to a halt: what was tried and what it cost, each in its line."""
    yield "asks", request.action
    yield "reason", request.reason
    yield "detail", request.detail
    yield "trigger", request.trigger
    yield from _below_each_other("attempts", map(_attempt, request.attempts))
    yield from _below_each_other("tried", map(_approach, request.approaches))
    yield "used", _describe_usage(request.usage) if request.usage else ""
    yield "sure", f"{request.confidence:.2f} of 1" if request.confidence is not None else ""
    yield "answer", request.answer or ""


def _attempt(attempt: ModelAttempt) -> str:
    cost = "" if attempt.cost is None else f" ({dollars(attempt.cost)})"
    failure = f"{attempt.kind}: {one_line(attempt.error)}{cost}"
    return f"turn {attempt.turn}, {attempt.model}, {moment(attempt.at)}: {failure}"


def _approach(approach: Approach) -> str:
    came = f"; came as far as: {one_line(approach.partial_progress)}"
    return (
        f"{approach.number}. {one_line(approach.approach).rstrip('.')}: "
        f"{one_line(approach.failure_reason)}{came if approach.partial_progress else ''}"
    )


def _describe_usage(usage: UsageMetrics) -> str:
    tokens = f"{usage.input_tokens} + {pluralize(usage.output_tokens, 'token')}"
    return f"{tokens}, {dollars(usage.estimated_cost)}"


def _describe_consequences(request: ApprovalRequest) -> list[tuple[str, str]]:
    policy = f" of policy {request.policy}" if request.policy else ""
    return [
        ("risk", f"{request.risk}: {request.reason} (rule {request.rule}{policy})"),
        ("scope", "" if request.scope == "none" else request.scope),
        ("expected", request.expected_result),
        ("rollback", request.rollback),
        ("sandbox", _describe_grant(request.grant)),
        ("undo", _undo(request.undo)),
        ("recovery", request.recovery),
        ("for", request.requester),
    ]


def _describe_grant(grant: Grant | None) -> str:
    """Say what a call may do from within the sandbox: its code may try anything."""
    if grant is None:
        return ""
    commands, hosts = ", ".join(grant.commands) or "none", ", ".join(grant.hosts) or "none"
    return f"it may run commands: {commands}; it may ask hosts: {hosts}"


def _undo(undo: UndoRuling | None) -> str:
    """Say what would take the call back: whoever approves the call approves that."""
    if undo is None:
        return ""
    way_back = f"; recovery: {undo.recovery}" if undo.recovery else ""
    allowed = {
        "allow": "may run if the run has to take this back",
        "approval_required": "approved with this, as far as this approval suffices for it",
        "deny": "never runs",
    }
    why = f"{undo.reason} (rule {undo.rule})"
    return f"{undo.tool} ({undo.risk}): {allowed[undo.verdict]}: {why}{way_back}"


def _describe_conditions(request: Approvable) -> list[tuple[str, str]]:
    """Show who may approve, how many must, how they prove who they are, and who has."""
    who = f"a member of {' or '.join(request.groups)}" if request.groups else "anybody"
    given = [f"{one.approver} at {moment(one.at)}" for one in request.approvals]
    count = f"{request.count} approvals, {len(given)} given" if request.count > 1 else ""
    return [
        ("who", f"{who}, but not whom it is for"),
        ("needs", count),
        *_below_each_other("given", given),
        ("strength", _strength(request)),
        ("escalates", _escalation(request)),
    ]


def _strength(request: Approvable) -> str:
    if not request.needs_proof:
        return ""
    methods = f", by {' or '.join(request.methods)}" if request.methods else ""
    age = request.max_auth_age
    fresh = f", not longer than {duration(timedelta(seconds=age))} ago" if age is not None else ""
    how = f"; signed in{methods}{fresh}".replace("in, ", "in ", 1) if methods or fresh else ""
    return f"strong: a signed approval{how}"


def _escalation(request: Approvable) -> str:
    if not request.escalate_to or request.escalate_after is None:
        return ""
    groups = " or ".join(request.escalate_to)
    if request.escalated_at is not None:
        return f"since {moment(request.escalated_at)} members of {groups} may approve too"
    at = request.requested_at + timedelta(seconds=request.escalate_after)
    return f"at {moment(at)} to {groups}"
