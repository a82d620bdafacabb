"""Parts of what people read of a request: arguments, drafts, grants, conditions. Pure."""

import json
from collections.abc import Iterable
from datetime import timedelta

from pydantic import JsonValue

from holdfast.contracts.approvals import Approvable
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Grant
from holdfast.contracts.control import Approach, ModelAttempt
from holdfast.contracts.effects import UndoRuling
from holdfast.contracts.texts import escape_invisible, one_line
from holdfast.contracts.usage import UsageMetrics
from holdfast.run.texts.figures import dollars, duration, moment, pluralize, render_value


def render_arguments(given: JsonObject) -> list[tuple[str, str]]:
    """Show each argument in a line of its own."""
    return [
        ("", f"{_quote(name)} = {escape_invisible(json.dumps(value, ensure_ascii=False))}")
        for name, value in given.items()
    ]


def render_draft(preview: JsonValue) -> list[tuple[str, str]]:
    """Show a draft whole: what is left out would be approved unseen."""
    match preview:
        case None:
            return []
        case dict():
            lines = (f"{_quote(name)} = {render_value(value)}" for name, value in preview.items())
            return stack_values("draft", lines)
        case str():
            return [("draft", preview)]
        case _:
            return [("draft", render_value(preview))]


def _quote(name: str) -> str:
    """Quote a name that could be taken for one with its value."""
    plain = name.replace("-", "_").isidentifier()
    return name if plain else escape_invisible(json.dumps(name, ensure_ascii=False))


def stack_values(name: str, values: Iterable[str]) -> list[tuple[str, str]]:
    """Return values that belong together, each in a line of its own."""
    return [("" if number else name, value) for number, value in enumerate(values)]


def render_attempt(attempt: ModelAttempt) -> str:
    """Write which model failed when, how, and what that cost."""
    cost = "" if attempt.cost is None else f" ({dollars(attempt.cost)})"
    failure = f"{attempt.kind}: {one_line(attempt.error)}{cost}"
    return f"turn {attempt.turn}, {attempt.model}, {moment(attempt.at)}: {failure}"


def render_approach(approach: Approach) -> str:
    """Write what was tried, why it failed and how far it came."""
    came = f"; came as far as: {one_line(approach.partial_progress)}"
    return (
        f"{approach.number}. {one_line(approach.approach).rstrip('.')}: "
        f"{one_line(approach.failure_reason)}{came if approach.partial_progress else ''}"
    )


def describe_usage(usage: UsageMetrics) -> str:
    """Write what was used."""
    tokens = f"{usage.input_tokens} + {pluralize(usage.output_tokens, 'token')}"
    return f"{tokens}, {dollars(usage.estimated_cost)}"


def describe_grant(grant: Grant | None) -> str:
    """Say what a call may do from within the sandbox: its code may try anything."""
    if grant is None:
        return ""
    commands, hosts = ", ".join(grant.commands) or "none", ", ".join(grant.hosts) or "none"
    return f"it may run commands: {commands}; it may ask hosts: {hosts}"


def describe_undo(undo: UndoRuling | None) -> str:
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


def describe_conditions(request: Approvable) -> list[tuple[str, str]]:
    """Show who may approve, how many must, how they prove who they are, and who has."""
    who = f"a member of {' or '.join(request.groups)}" if request.groups else "anybody"
    given = [f"{one.approver} at {moment(one.at)}" for one in request.approvals]
    count = f"{request.count} approvals, {len(given)} given" if request.count > 1 else ""
    return [
        ("who", f"{who}, but not whom it is for"),
        ("needs", count),
        *stack_values("given", given),
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
