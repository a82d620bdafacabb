"""The same spans in other forms: with children's below, and with each field on the span itself."""

from collections.abc import Mapping
from typing import Final

from holdfast.contracts.base import JsonObject
from holdfast.trace.spans.values import Span, SpanTree, SpanType

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
