"""Spans as a collector of OpenTelemetry is sent them."""

import json

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.trace.spans import otlp
from holdfast.trace.spans.values import Span, SpanEvent, SpanTree, SpanType

BEGIN, END = "2026-11-28T10:00:00.000000Z", "2026-11-28T10:00:01.500000Z"
BEGIN_NANOSECONDS = "1795860000000000000"


def a_span(
    type: SpanType,
    attributes: JsonObject,
    *events: SpanEvent,
    parent: str | None = "a" * 16,
    ended_at: str | None = END,
) -> Span:
    return Span(
        span_id="b" * 16,
        parent_id=parent,
        type=type,
        name=f"a {type}",
        started_at=BEGIN,
        ended_at=ended_at,
        attributes=attributes,
        events=events,
    )


def rendered(span: Span, *, content: bool = False, group_id: str | None = None) -> JsonObject:
    """Return a span as it is sent."""
    tree = SpanTree(
        trace_id="c" * 32,
        workflow_name="AgentRun",
        group_id=group_id,
        run_id="run-1",
        status="completed",
        spans=(span,),
    )
    (line,) = otlp.render_lines(tree, content=content)
    (sent,) = json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return sent


def named(listed: JsonValue) -> dict[str, JsonValue]:
    assert isinstance(listed, list)
    found: dict[str, JsonValue] = {}
    for one in listed:
        match one:
            case {"key": str(name), "value": value}:
                found[name] = value
            case _:
                pytest.fail(f"no attribute: {one}")
    return found


def told(span: Span, *, content: bool = False) -> dict[str, JsonValue]:
    return named(rendered(span, content=content)["attributes"])


def text(value: str) -> JsonObject:
    return {"stringValue": value}
