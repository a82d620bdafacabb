"""Where one run stands."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from holdfast.activities.statuses import PAUSED, is_open
from holdfast.cli import render, request_details, screen
from holdfast.cli.screen import Screen
from holdfast.client import NoWorker, Run
from holdfast.client.rpc_errors import describe_pause
from holdfast.contracts.approvals import Request
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.budget import Limits, UsageReport
from holdfast.contracts.control import Approach, GoalReport, RetryOf, Waiting
from holdfast.contracts.effects import Compensation, Effect
from holdfast.contracts.journal import MessageEnded, MessageTaken
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.run import StatusReport
from holdfast.contracts.signals import RefusedMessage
from holdfast.contracts.stops import Stop
from holdfast.contracts.texts import shorten
from holdfast.contracts.usage import UsageMetrics
from holdfast.run.limits import plans
from holdfast.run.texts import requests as request_texts
from holdfast.run.texts.figures import dollars, duration, moment, pluralize, render_value
from holdfast.run.verdicts import KEEP_LAST_REFUSALS
from holdfast.trace import controlled
from holdfast.trace.reader import read_trace
from holdfast.trace.released import redact_trace
from holdfast.trace.requests import RequestTrace
from holdfast.trace.values import Trace, TraceStatus
from holdfast.trace.words import short

_MAX_APPROACH_CHARS = 120
"""Characters of what is told about an approach; --json has it whole."""

_PROVIDER = Pattern("[a-z][a-z-]{0,19}")
"""What names a provider of ours."""

MAX_SHOWN_MESSAGES = 10
"""Messages of a session, the latest; the trace has all of them."""

MAX_SHOWN_HAND_BACKS = 5
"""What workers left to others, the latest; the trace has all of it."""


class SessionMessage(Contract):
    """A message of a session and where the work on it stands: `working`, or how that ended."""

    message_id: str
    position: int
    actor: str
    state: str


class RunView(Contract):
    """
    Where one run stands.

    `source` says who says so: a worker that was asked, or the history that the server keeps. The
    history doesn't know the digest of the transcript, the `goal`, nor all that `requests` say.
    `refused` are the latest of `refused_total`. `approach`, `tier` are under way, `attempts` are
    approaches that failed, a `candidate` is an answer that waits for a person: these the history
    tells, whoever was asked for the rest. `retry_of` is the run that it tries again, `handed_back`
    what workers left to others. `effects` and `unresolved` are those of its result, `messages` the
    latest on which a session has worked. `provider_state` is what providers asked to keep.
    """

    source: Literal["worker", "history"]
    run_id: str
    agent: str | None
    tenant: str | None
    actor: str | None
    status: TraceStatus
    in_flight: tuple[str, ...]
    waits_for: tuple[str, ...]
    waiting: Waiting | None = None
    retry_of: RetryOf | None = None
    planning: bool = False
    goal: GoalReport | None = None
    requests: tuple[Request, ...]
    step: int
    tool_calls: int
    hosted_calls: int
    model: str | None
    answer: str | None
    confidence: float | None
    stop: Stop | None
    failure: str | None
    usage: UsageMetrics
    budget: Limits | None
    waited_seconds: float
    started_at: datetime
    ended_at: datetime | None
    transcript_digest: str | None
    refused: tuple[RefusedMessage, ...]
    refused_total: int
    notes: tuple[str, ...]
    provider_state: JsonObject
    handed_back: tuple[str, ...] = ()
    approach: str | None
    attempts: tuple[Approach, ...]
    tier: str | None
    candidate: str | None
    compensation: Compensation | None
    effects: tuple[Effect, ...] = ()
    unresolved: tuple[Effect, ...] = ()
    messages: tuple[SessionMessage, ...] = ()


async def view(run: Run) -> RunView:
    """Return where a run stands; raises HoldfastError when there is no such run."""
    if is_open((await run.describe()).status):
        with suppress(NoWorker):
            return await _ask_worker(run)
    return read_view(read_trace(await run.history()))


async def warn_of_pause(run: Run) -> None:
    """Say that a run is paused in Temporal, of which it knows nothing itself."""
    if (await run.describe()).status == PAUSED:
        screen.warn(describe_pause(run.id))


async def _ask_worker(run: Run) -> RunView:
    status, usage, history = await asyncio.gather(run.status(), run.usage(), run.history())
    requests: tuple[Request, ...] = ()
    if status.waits_for:
        with suppress(NoWorker):  # it came as far as the rest
            requests = await run.pending()
    return build_view(read_trace(history), status, usage, requests)


def show_view(out: Screen, shown: RunView) -> None:
    """Print where a run stands."""
    fields = [
        ("run", shown.run_id),
        ("agent", shown.agent or "-"),
        ("for", f"{shown.actor or '-'} of {shown.tenant or '-'}"),
        *_describe_lineage(shown.retry_of),
        ("status", shown.status.replace("_", " ")),
        *([("mode", "plan: nothing is changed before that")] if shown.planning else []),
        *(("message", _describe_message(one)) for one in shown.messages),
        *(("in flight", line) for line in shown.in_flight),
        *(("waits for", line) for line in shown.waits_for),
        *(("waits", _describe_waiting(one)) for one in (shown.waiting,) if one is not None),
        ("model", shown.model or "-"),
        ("used", _describe_usage(shown)),
        ("limits", _limits(shown.budget)),
        ("started", moment(shown.started_at)),
    ]
    if shown.ended_at is not None:
        took = duration(shown.ended_at - shown.started_at)
        fields.append(("ended", f"{moment(shown.ended_at)}, after {took}"))
    if shown.stop is not None:
        fields.append(("stopped", f"{shown.stop.reason}: {short(shown.stop.detail)}"))
        fields.append(("next", shown.stop.next_safe_action))
    if (more := shown.refused_total - len(shown.refused)) > 0:
        fields.append(("refused", f"{more} before these"))
    fields += [
        ("refused", f"{one.signal} {one.request_id} {one.sender}: {one.reason}")
        for one in shown.refused
    ]
    fields += [("noted", note) for note in shown.notes]
    fields += [_describe_kept(one, kept) for one, kept in shown.provider_state.items()]
    fields += [("left", f"to another worker: {line}") for line in shown.handed_back]
    fields += render.describe_goal(shown.goal) if shown.goal is not None else ()
    fields += _describe_control(shown)
    if shown.failure is not None:
        fields.append(("failure", shown.failure))
    if shown.answer is not None:
        fields.append(("answer", shown.answer))
    if shown.source == "history" and shown.ended_at is None:
        fields.append(("note", "no worker answered; this is what the history says"))
    render.show_fields(out, fields)
    for request in shown.requests:
        request_details.show_request(out, shown.run_id, request)


def _describe_kept(provider: str, kept: JsonValue) -> tuple[str, str]:
    """Say what a provider keeps; a row begins with its name, unless a stranger made that up."""
    if _PROVIDER.fits(provider):
        return f"{provider} keeps", render_value(kept)
    return "kept", f"by {provider}: {render_value(kept)}"


def _describe_lineage(retry_of: RetryOf | None) -> Iterator[tuple[str, str]]:
    if retry_of is not None and retry_of.turn is not None:
        dry = ", dry" if retry_of.dry else ""
        yield "forks", f"{retry_of.run_id}, turn {retry_of.turn} anew{dry}"
    elif retry_of is not None:
        yield "retries", retry_of.run_id


def _describe_message(message: SessionMessage) -> str:
    return f"{message.message_id} · no. {message.position}, of {message.actor} · {message.state}"


def _describe_waiting(wait: Waiting) -> str:
    return f"{wait.reason}; until {moment(wait.until)}"


def _describe_control(shown: RunView) -> Iterator[tuple[str, str]]:
    """Say what was tried and taken back, each on a line, and how sure one may be of the answer."""
    for approach in shown.attempts:
        yield "tried", _describe_approach(approach)
    if shown.approach is not None:
        yield "trying", short(shown.approach)
    if shown.tier is not None:
        yield "tier", shown.tier
    if shown.compensation is not None:
        yield from (("undone", short(line)) for line in shown.compensation.undone)
        yield from (("not undone", short(line)) for line in shown.compensation.not_undone)
    if shown.effects:
        yield "changed", f"{pluralize(len(shown.effects), 'thing')}; --json names them"
    yield from (("unknown", one.summary) for one in shown.unresolved)
    if shown.candidate is not None:
        yield "proposed", short(shown.candidate)
    if shown.confidence is not None:
        yield "sure", f"{shown.confidence:.2f} of 1"


def _describe_approach(approach: Approach) -> str:
    came = f"; came as far as: {shorten(approach.partial_progress, _MAX_APPROACH_CHARS)}"
    plan = shorten(approach.approach, _MAX_APPROACH_CHARS).rstrip(".")
    reason = shorten(approach.failure_reason, _MAX_APPROACH_CHARS)
    return f"{approach.number}. {plan}: {reason}{came if approach.partial_progress else ''}"


def build_view(
    trace: Trace, status: StatusReport, usage: UsageReport, requests: tuple[Request, ...]
) -> RunView:
    """Return where a run stands: as its worker says, and else as its history tells."""
    under_way = replace(trace, ended_at=None, result=None, failure=None)
    said = {**vars(usage), **vars(status), "requests": requests, "source": "worker"}
    known = {name: value for name, value in said.items() if name in RunView.model_fields}
    return read_view(under_way).copy_with(known)


def read_view(trace: Trace) -> RunView:
    """Return where a run stands, by its history alone."""
    refused = _find_refusals(trace)
    shown = redact_trace(trace)
    result, ledger, tried = shown.result, trace.ledger, controlled.find_approaches(shown)
    return RunView(
        source="history",
        run_id=trace.run_id,
        agent=trace.brief.agent if trace.brief else None,
        tenant=trace.brief.tenant if trace.brief else None,
        actor=trace.brief.actor if trace.brief else None,
        retry_of=trace.brief.retry_of if trace.brief else None,
        planning=_is_planning(trace),
        status=trace.status,
        in_flight=trace.in_flight,
        waits_for=tuple(_waits_for(trace, asked) for asked in trace.waiting),
        waiting=trace.provider_wait,
        requests=(),
        step=(result or ledger).steps,
        tool_calls=ledger.tool_calls,
        hosted_calls=ledger.hosted_calls,
        model=result.model if result else (trace.turns[-1].model if trace.turns else None),
        answer=result.answer if result else None,
        provider_state=(result.provider_state if result else None) or {},
        confidence=result.confidence if result else None,
        stop=result.stop if result else None,
        failure=trace.failure,
        usage=(result or ledger).usage,
        budget=trace.limits,
        waited_seconds=_sum_waits(trace),
        started_at=trace.started_at,
        ended_at=trace.ended_at,
        transcript_digest=None,
        refused=refused[-KEEP_LAST_REFUSALS:],
        refused_total=len(refused),
        notes=tuple(entry.text for entry in trace.audit_lines if entry.event == "noted"),
        handed_back=_find_hand_backs(trace),
        approach=tried.under_way,
        attempts=tried.given_up,
        tier=controlled.find_tier(trace),
        candidate=controlled.find_candidate(trace),
        compensation=controlled.find_compensation(trace),
        effects=result.effects if result else (),
        unresolved=result.unresolved if result else (),
        messages=_find_messages(trace),
    )


def _is_planning(trace: Trace) -> bool:
    if trace.brief is None or trace.brief.mode != "plan" or trace.agent is None:
        return False
    results = (one.result for one in trace.calls if one.result is not None)
    return not plans.has_approved_plan(trace.agent, results)


def _find_hand_backs(trace: Trace) -> tuple[str, ...]:
    """Return the latest lines of workers that had no code for the run."""
    lines = dict.fromkeys(one.text for one in trace.audit_lines if one.event == "handed back")
    return tuple(lines)[-MAX_SHOWN_HAND_BACKS:]


def _find_messages(trace: Trace) -> tuple[SessionMessage, ...]:
    """Return the latest messages on which a session has worked."""
    ended = {one.message_id: one.status for one in trace.talk if isinstance(one, MessageEnded)}
    taken = [one for one in trace.talk if isinstance(one, MessageTaken)]
    return tuple(
        SessionMessage(
            message_id=one.message_id,
            position=one.position,
            actor=one.actor,
            state=ended.get(one.message_id, "working"),
        )
        for one in taken[-MAX_SHOWN_MESSAGES:]
    )


def _sum_waits(trace: Trace) -> float:
    waits = (asked.wait_duration for asked in trace.requests.values())
    return sum(wait.total_seconds() for wait in waits if wait)


def _waits_for(trace: Trace, asked: RequestTrace) -> str:
    """Say what a request waits for as its run does, as far as the history knows."""
    so_far = f" ({len(asked.approvals)} of {asked.count} approved)" if asked.count > 1 else ""
    match asked.kind:
        case "question":
            what = request_texts.question_line(asked.reason)
        case "escalation":
            what = request_texts.halt_line(asked.reason)
        case "review":
            what = request_texts.review_line(asked.subject, asked.reason)
        case "approval":
            what = _describe_approval(trace, asked)
    return shorten(f"{asked.request_id} · {what}") + so_far


def _describe_approval(trace: Trace, asked: RequestTrace) -> str:
    for call in trace.calls:
        for ruled in call.rulings:
            if ruled.risk and ruled.request_id == asked.request_id:
                return request_texts.approval_line(call.call.name, ruled.risk)
    return asked.reason


def _describe_usage(shown: RunView) -> str:
    used = [pluralize(shown.step, "step"), pluralize(shown.tool_calls, "tool call")]
    if shown.hosted_calls:
        used.append(pluralize(shown.hosted_calls, "hosted call"))
    tokens = pluralize(shown.usage.total_tokens, "token")
    return ", ".join((*used, tokens, dollars(shown.usage.estimated_cost)))


def _limits(budget: Limits | None) -> str:
    if budget is None:
        return "-"
    limits = budget.model_dump(mode="json", exclude_none=True)
    return ", ".join(f"{name} {value}" for name, value in limits.items())


def _find_refusals(trace: Trace) -> tuple[RefusedMessage, ...]:
    return tuple(
        RefusedMessage(
            signal=said.signal,
            request_id=said.request_id,
            sender=said.sender,
            reason=said.refusal,
            at=said.at,
            code=said.code or "unreadable",
        )
        for said in trace.messages
        if said.accepted is False
    )
