"""The spans of agents that hand their work on."""

from collections.abc import Iterator

from holdfast.trace.spans.records import iso
from holdfast.trace.spans.values import Span, span_id
from holdfast.trace.values import Trace


def build_handoff_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span for each handoff, at the moment of its record."""
    for record in trace.handoffs:
        at = iso(record.timestamp)
        yield Span(
            span_id=span_id(trace, f"handoff.{record.handoff_id}"),
            parent_id=parent,
            type="handoff",
            name=f"handoff {record.to_agent}",
            started_at=at,
            ended_at=at,
            attributes=record.model_dump(mode="json", exclude={"type", "timestamp"}),
        )
