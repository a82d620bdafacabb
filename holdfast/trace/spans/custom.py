"""The spans that tools and guardrails have of their own work."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import CustomSpan
from holdfast.trace.entries import Timed
from holdfast.trace.spans.values import Span, build_span
from holdfast.trace.values import Trace


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
