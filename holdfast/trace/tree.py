"""The tree of spans that other tools read, as values."""

import hashlib
from typing import Literal

from holdfast.contracts.base import Contract, JsonObject
from holdfast.trace.values import Trace


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
    type: Literal["agent", "generation", "function", "approval", "guardrail", "activity"]
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


def span_id(trace: Trace, key: str) -> str:
    """Return the id of a span: the same whenever the same history is read."""
    return hashlib.sha256(f"{trace.first_execution}/{key}".encode()).hexdigest()[:16]
