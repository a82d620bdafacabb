"""A trace as a tree of spans, for tools that read such trees."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Literal

from pydantic import JsonValue

from contracts.base import Contract, JsonObject
from contracts.run import WORKFLOW_TYPE
from contracts.tools import ToolCall, ToolSuccess
from holdfast.trace.values import Asked, Call, Noted, Said, Trace, Turn


class SpanEvent(Contract):
    """Something that happened at one moment of a span."""

    name: str
    at: str
    attributes: JsonObject


class Span(Contract):
    """
    One operation of a run. Times are ISO 8601 in UTC; `ended_at` is null while it goes on.

    Names follow OpenTelemetry's conventions for generative AI.
    """

    span_id: str
    parent_id: str | None
    type: Literal["agent", "generation", "function", "approval"]
    name: str
    started_at: str
    ended_at: str | None
    attributes: JsonObject
    events: tuple[SpanEvent, ...] = ()
    children: tuple[str, ...] = ()


class SpanTree(Contract):
    """
    The spans of one run, the root first.

    `trace_id` is that of the run's first execution and stays the same when it goes on in another.
    `group_id` is the session.
    """

    trace_id: str
    workflow_name: str
    group_id: str | None
    run_id: str
    status: str
    spans: tuple[Span, ...]


def span_tree(trace: Trace) -> SpanTree:
    """Build the tree. The same history gives the same ids, however often it is read."""
    root = _root(trace)
    below = list(_below(trace, root.span_id))
    children: defaultdict[str | None, list[str]] = defaultdict(list)
    for span in below:
        children[span.parent_id].append(span.span_id)
    spans = tuple(
        span.model_copy(update={"children": tuple(children[span.span_id])})
        for span in (root, *below)
    )
    return SpanTree(
        trace_id=hashlib.sha256(trace.first_execution.encode()).hexdigest()[:32],
        workflow_name=WORKFLOW_TYPE,
        group_id=trace.brief.session_id if trace.brief else None,
        run_id=trace.run_id,
        status=trace.status,
        spans=spans,
    )


def _root(trace: Trace) -> Span:
    name = trace.brief.agent if trace.brief else "unknown"
    result = trace.result
    return Span(
        span_id=_id(trace, "run"),
        parent_id=None,
        type="agent",
        name=f"invoke_agent {name}",
        started_at=_iso(trace.started_at),
        ended_at=_end(trace.ended_at),
        attributes={
            "agent_name": name,
            "instructions_hash": trace.agent.prefix_digest if trace.agent else None,
            "model": trace.agent.models[0] if trace.agent else None,
            "tenant": trace.brief.tenant if trace.brief else None,
            "actor": trace.brief.actor if trace.brief else None,
            "input": trace.goal,
            "status": trace.status,
            "answer": result.answer if result else None,
            "stop": result.stop.model_dump(mode="json") if result and result.stop else None,
            "failure": trace.failure,
            "executions": trace.executions,
        },
        events=tuple(_events(trace)),
    )


def _below(trace: Trace, root: str) -> Iterator[Span]:
    for turn in trace.turns:
        yield _generation(trace, turn, root)
        for call in turn.calls:
            function = _function(trace, call, root)
            yield function
            for ruled in call.rulings:
                if ruled.request_id is not None:
                    yield _approval(trace, trace.requests[ruled.request_id], function.span_id)
    for asked in trace.requests.values():
        if asked.kind == "escalation":
            yield _approval(trace, asked, root)


def _generation(trace: Trace, turn: Turn, parent: str) -> Span:
    return Span(
        span_id=_id(trace, turn.key),
        parent_id=parent,
        type="generation",
        name=f"chat {turn.model}",
        started_at=_iso(turn.at),
        ended_at=_end(turn.ended_at or trace.ended_at),
        attributes={
            "turn": turn.number,
            "model": turn.model,
            "tokens_in": turn.usage.input_tokens,
            "tokens_cached": turn.usage.cached_tokens,
            "tokens_cache_write": turn.usage.cache_write_tokens,
            "tokens_out": turn.usage.output_tokens,
            "tokens_reasoning": turn.usage.reasoning_tokens,
            "tokens_failed": turn.failed_usage.total_tokens,
            "estimated_cost": turn.usage.model_dump(mode="json")["estimated_cost"],
            "latency_ms": turn.latency_ms,
            "first_token_ms": turn.first_token_ms,
            "attempts": turn.attempts,
            "stop": turn.stop,
            "objections": list(turn.objections),
            "text": turn.text,
            "reasoning": [part.text for part in turn.parts if part.kind == "reasoning"],
            "hosted": [
                {"name": part.name, "text": part.text}
                for part in turn.parts
                if part.kind == "hosted_call"
            ],
            "calls": [call.call.call_id for call in turn.calls],
            "error": turn.error,
        },
    )


def _function(trace: Trace, call: Call, parent: str) -> Span:
    asked = call.call
    arguments: JsonValue = (
        dict(asked.arguments) if isinstance(asked, ToolCall) else asked.raw_arguments
    )
    rulings: list[JsonValue] = [
        {
            "verdict": ruled.verdict,
            "rule": ruled.rule,
            "risk": ruled.risk,
            "reason": ruled.reason,
            "at": _iso(ruled.at),
            "request_id": ruled.request_id,
        }
        for ruled in call.rulings
    ]
    return Span(
        span_id=_id(trace, call.key),
        parent_id=parent,
        type="function",
        name=f"execute_tool {asked.name}",
        started_at=_iso(call.at),
        ended_at=_end(call.ended_at or trace.ended_at),
        attributes={
            "function_name": asked.name,
            "call_id": asked.call_id,
            "arguments": arguments,
            "rulings": rulings,
            "result": call.result.model_dump(mode="json") if call.result else None,
            "success": isinstance(call.result, ToolSuccess),
            "elapsed_ms": call.elapsed_ms,
            "attempts": call.attempts,
        },
    )


def _approval(trace: Trace, asked: Asked, parent: str) -> Span:
    settled = asked.settled
    return Span(
        span_id=_id(trace, asked.key),
        parent_id=parent,
        type="approval",
        name=f"await {asked.kind}",
        started_at=_iso(asked.at),
        ended_at=_end(asked.closed_at or trace.ended_at),
        attributes={
            "request_id": asked.request_id,
            "kind": asked.kind,
            "reason": asked.reason,
            "outcome": asked.outcome,
            "decision": settled.text if settled else None,
            "approver": settled.sender if settled else None,
            "approver_reason": settled.reason if settled else None,
        },
        events=tuple(_said(said) for said in asked.refused),
    )


def _events(trace: Trace) -> Iterator[SpanEvent]:
    for entry in trace.entries:
        match entry:
            case Said():
                yield _said(entry)
            case Noted():
                attributes: JsonObject = {"text": entry.text}
                yield SpanEvent(name=entry.event, at=_iso(entry.at), attributes=attributes)
            case _:
                continue


def _said(said: Said) -> SpanEvent:
    return SpanEvent(
        name=said.signal,
        at=_iso(said.at),
        attributes={
            "text": said.text,
            "request_id": said.request_id,
            "sender": said.sender,
            "identity": said.identity,
            "reason": said.reason,
            "accepted": said.accepted,
            "refusal": said.refusal,
        },
    )


def _id(trace: Trace, key: str) -> str:
    return hashlib.sha256(f"{trace.first_execution}/{key}".encode()).hexdigest()[:16]


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _end(time: datetime | None) -> str | None:
    return None if time is None else _iso(time)
