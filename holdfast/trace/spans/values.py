"""Spans as values, one for each operation of a run; and the same spans in other forms."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, Literal, Self, TypeAlias, TypedDict, Unpack

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
    name: str
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


_FLAT_TYPES: Final[Mapping[SpanType, str]] = {
    "agent": "agent_span",
    "generation": "generation_span",
    "function": "function_span",
    "guardrail": "guardrail_span",
    "handoff": "handoff_span",
}

_CUSTOM = "custom_span"


def join_parts(tree: SpanTree, parts: Mapping[str, SpanTree]) -> SpanTree:
    """
    Return one tree of a run and of the runs that did a part of it, by their ids.

    The root of each part hangs below the span that stands for it in the run above.
    """
    spans: list[Span] = []
    for span in tree.spans:
        part = parts.get(str(span.attributes.get("run_id")))
        if part is None:
            spans.append(span)
            continue
        (root, *below) = part.spans
        spans.append(span.with_(children=(*span.children, root.span_id)))
        spans += (root.with_(parent_id=span.span_id), *below)
    return tree.with_spans(tuple(spans))


def flatten(tree: SpanTree) -> JsonObject:
    """
    Return a tree whose spans have their fields on themselves, beside `type: agent_span` and so on.

    What has no type of its own there is a `custom_span` with `operation_name` and `metadata`.
    """
    return {
        **tree.model_dump(mode="json", exclude={"spans"}),
        "spans": [_flatten_span(span) for span in tree.spans],
    }


def _flatten_span(span: Span) -> JsonObject:
    own = span.model_dump(mode="json", exclude={"type", "name", "attributes"})
    known = _FLAT_TYPES.get(span.type)
    if known is None:
        return {
            "type": _CUSTOM,
            **own,
            "operation_name": span.name,
            "metadata": span.attributes,
        }
    return {"type": known, **span.attributes, **own, "name": span.name}
