"""
A trace as a text that a person reads and compares: its lines, and its tree of spans.

What else is made of it stands there as digests: lines as they grow, what those are told who watch
the run, spans in their other forms.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue

from holdfast.client.fold import EventFold
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.run import WORKFLOW_TYPE
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.trace.reader import TraceReader, read_trace
from holdfast.trace.spans import otlp
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanEvent, SpanTree, flatten
from holdfast.trace.transcript import Progress, lines
from holdfast.trace.words import Line
from tests.histories.playing import Chain

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?: UTC|Z)")
_DURATION = re.compile(r"\b\d+ ms|\b\d+\.\d s")
_TIMED = {"latency_ms", "first_token_ms", "elapsed_ms"}
_TIMED_FIELD = re.compile(rf'"({"|".join(sorted(_TIMED))})":\d+')
_SOME_DAY = "2026-01-01T00:00:00.000000Z"
_DIGEST_CHARS = 12
HOUR = timedelta(hours=1)
OURS = {WORKFLOW_TYPE, SESSION_WORKFLOW_TYPE}
_EMPTY: tuple[JsonValue, ...] = (None, "", [], {})


def render(chains: Sequence[Chain]) -> str:
    """
    Write the traces of all runs among these workflows.

    A moment is written as the event at which it was, `1.12` in the first execution, and how long
    something took as `…`: those differ from playing to playing.
    """
    runs = (_run(chain) for chain in chains if workflow_type(chain) in OURS)
    return "\n\n".join("\n".join(written) for written in runs) + "\n"


def workflow_type(chain: Chain) -> str:
    """What kind of workflow a chain is of."""
    return chain[0].events[0].workflow_execution_started_event_attributes.workflow_type.name


def _run(chain: Chain) -> Iterator[str]:
    trace, moments = read_trace(chain), _Moments(chain)
    yield from map(_line, lines(trace))
    yield ""
    tree = span_tree(trace)
    spans = {span.span_id: span for span in tree.spans}
    (root,) = (span for span in spans.values() if span.parent_id is None)
    yield from map(moments.name_all, _span(root, spans, ""))
    grown = digest(list(map(_line, _grown(chain))))[:_DIGEST_CHARS]
    told = digest(list(_told(chain)))[:_DIGEST_CHARS]
    also = (f"also: lines as they grew {grown}", f"events {told}")
    yield ", ".join((*also, *_forms(_timeless(tree))))


def _line(line: Line) -> str:
    return _DURATION.sub("…", _MOMENT.sub("…", str(line).rstrip()))


def _grown(chain: Chain) -> Iterator[Line]:
    """Write the lines as whoever watches the run reads them, event by event."""
    reader, progress = TraceReader(), Progress()
    for history in chain:
        for event in history.events:
            reader.read(event)
            yield from progress.fresh(reader.trace)


def _told(chain: Chain) -> Iterator[str]:
    """Write the events as whoever watches the run is told them, without their places and times."""
    fold = EventFold()
    for history in chain:
        for event in history.events:
            for told in fold.read(event):
                text = told.model_dump_json(exclude={"id", "run_id", "at"})
                yield _TIMED_FIELD.sub(r'"\1":1', _MOMENT.sub(_SOME_DAY, text))


def _forms(tree: SpanTree) -> Iterator[str]:
    """Write the digests of the forms in which spans are exported."""
    forms: JsonObject = {
        "tree": tree.model_dump(mode="json"),
        "seed": flatten(tree),
        "otlp": [line.decode() for line in otlp.render_lines(tree)],
        "content": [line.decode() for line in otlp.render_lines(tree, content=True)],
    }
    yield from (f"{name} {digest(form)[:_DIGEST_CHARS]}" for name, form in forms.items())


def _timeless(tree: SpanTree) -> SpanTree:
    """Return a tree without what differs from playing to playing: ids, times, how long it took."""
    text = _TIMED_FIELD.sub(r'"\1":1', _MOMENT.sub(_SOME_DAY, tree.model_dump_json()))
    for place, known in enumerate((tree.trace_id, *(span.span_id for span in tree.spans))):
        text = text.replace(known, f"{place:0{len(known)}x}")
    return SpanTree.model_validate_json(text)


def _span(span: Span, spans: dict[str, Span], indent: str) -> Iterator[str]:
    yield f"{indent}{span.type}: {span.name}  {span.started_at} to {span.ended_at}"
    yield from _attributes(span.attributes, indent)
    for event in span.events:
        yield from _event(event, indent)
    for child in span.children:
        yield from _span(spans[child], spans, f"{indent}  ")


def _event(event: SpanEvent, indent: str) -> Iterator[str]:
    yield f"{indent}    * {event.name}  {event.at}"
    yield from _attributes(event.attributes, f"{indent}    ")


def _attributes(attributes: dict[str, JsonValue], indent: str) -> Iterator[str]:
    for name, value in attributes.items():
        if value not in _EMPTY:
            shown = "…" if name in _TIMED else json.dumps(value, ensure_ascii=False)
            yield f"{indent}    {name}: {shown}"


class _Moments:
    """Names moments by the events that happened at them."""

    def __init__(self, chain: Chain) -> None:
        self._named = sorted(
            (f"{event.event_time.ToDatetime():%Y-%m-%dT%H:%M:%S.%fZ}", place, event.event_id)
            for place, history in enumerate(chain, start=1)
            for event in history.events
        )

    def name_all(self, text: str) -> str:
        """Put names in the place of all moments in a text."""
        return _MOMENT.sub(lambda found: self._name(found[0]), text)

    def _name(self, moment: str) -> str:
        place = bisect_right(self._named, moment, key=lambda one: one[0]) - 1
        at, execution, event = self._named[max(place, 0)]
        if at == moment:
            return f"{execution}.{event}"
        hours = round((datetime.fromisoformat(moment) - datetime.fromisoformat(at)) / HOUR)
        return f"{hours} h after {execution}.{event}" if hours else f"after {execution}.{event}"
