"""The spans that tools and guardrails have of their own work."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from holdfast.contracts.calls import CustomSpan
from holdfast.trace.spans.records import iso, iso_or_null
from holdfast.trace.spans.values import Span, span_id
from holdfast.trace.values import AuxiliaryCall, Call, Trace


def build_call_spans(trace: Trace, ran: Call | AuxiliaryCall, parent: str) -> Iterator[Span]:
    """Build the spans of what a tool did in a call."""
    times = (ran.started_at or ran.at, ran.ended_at or trace.ended_at)
    yield from build_custom_spans(trace, ran.spans, ran.key, parent, times)


def build_custom_spans(
    trace: Trace,
    spans: Iterable[CustomSpan],
    key: str,
    parent: str,
    times: tuple[datetime, datetime | None],
) -> Iterator[Span]:
    """Build spans below one with these times; its clock is another than that of the worker."""
    begin, end = times
    for number, one in enumerate(spans, start=1):
        started = _clamp(one.started_at, begin, end)
        yield Span(
            span_id=span_id(trace, f"{key}.custom.{number}"),
            parent_id=parent,
            type="custom",
            name=one.name,
            started_at=iso(started),
            ended_at=iso_or_null(_clamp(one.ended_at, started, end)),
            attributes={"data": one.data, "error": one.error or None},
        )


def _clamp(moment: datetime, begin: datetime, end: datetime | None) -> datetime:
    moment = max(moment, begin)
    return moment if end is None else min(moment, end)
