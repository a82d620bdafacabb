"""Spans as values: one for each operation of a run."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Literal, Self, TypeAlias, TypedDict, Unpack

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import CustomSpan
from holdfast.trace.entries import Timed
from holdfast.trace.values import Trace

SpanType: TypeAlias = Literal[
    "agent", "generation", "function", "approval", "handoff", "guardrail", "activity", "custom"
]


class SpanEvent(Contract):
    """Something that happened at one moment of a span."""

    name: str
    at: str
    attributes: JsonObject


class SpanChange(TypedDict, total=False):
    """What may change of it."""

    parent_id: str
    attributes: JsonObject
    events: tuple[SpanEvent, ...]
    children: tuple[str, ...]


class Span(Contract):
    """
    One operation of a run. Times are ISO 8601 in UTC; `ended_at` is null while it goes on.

    Names follow OpenTelemetry's conventions for generative AI.
    """

    span_id: str
    parent_id: str | None
    type: SpanType
    name: str
    started_at: str
    ended_at: str | None
    attributes: JsonObject
    events: tuple[SpanEvent, ...] = ()
    children: tuple[str, ...] = ()

    def with_(self, **changes: Unpack[SpanChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class SpanTree(Contract):
    """
    The spans of one run, the root first.

    `trace_id` is the id of the run's first execution, without dashes: by it the run is found, and
    it stays the same when the run goes on in another.
    `group_id` is the session.
    """

    trace_id: str
    workflow_name: str
    group_id: str | None
    run_id: str
    status: str
    spans: tuple[Span, ...]

    def with_spans(self, spans: tuple[Span, ...]) -> Self:
        """Return a copy with these spans, the root first."""
        return self.copy_with({"spans": spans})


def build_span(
    trace: Trace,
    timed: Timed,
    parent: str | None,
    type: SpanType,
    name: str,
    attributes: JsonObject,
) -> Span:
    """
    Build the span of what took time below another; what has no end yet ends with its run.

    Its id is the same whenever the same history is read.
    """
    key = f"{trace.first_execution}/{timed.key}"
    return Span(
        span_id=hashlib.sha256(key.encode()).hexdigest()[:16],
        parent_id=parent,
        type=type,
        name=name,
        started_at=iso(timed.at),
        ended_at=iso_or_null(timed.ended_at or trace.ended_at),
        attributes=attributes,
    )


def build_custom_spans(
    trace: Trace, spans: Iterable[CustomSpan], ran: Timed, parent: str
) -> Iterator[Span]:
    """Build spans below one with these times; its clock is another than that of the worker."""
    begin, end = ran.started_at or ran.at, ran.ended_at or trace.ended_at
    for number, one in enumerate(spans, start=1):
        started = _clamp(one.started_at, begin, end)
        timed = Timed(
            key=f"{ran.key}.custom.{number}",
            at=started,
            ended_at=_clamp(one.ended_at, started, end),
        )
        attributes: JsonObject = {"data": one.data, "error": one.error or None}
        yield build_span(trace, timed, parent, "custom", one.name, attributes)


def _clamp(moment: datetime, begin: datetime, end: datetime | None) -> datetime:
    moment = max(moment, begin)
    return moment if end is None else min(moment, end)


def iso(time: datetime) -> str:
    """Write a time as ISO 8601 in UTC."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def iso_or_null(time: datetime | None) -> str | None:
    """Write a time that may not have come."""
    return None if time is None else iso(time)
