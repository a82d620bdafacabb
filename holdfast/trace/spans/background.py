"""The spans of what a run has done for itself, and of agents that hand its work on."""

from collections.abc import Iterator, Mapping

from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import sandbox_queue
from holdfast.trace.entries import BackgroundTask, TaskKind, Timed
from holdfast.trace.spans.guardrails import describe_task
from holdfast.trace.spans.values import Span, SpanType, build_span
from holdfast.trace.values import Trace

_SPAN_TYPES: Mapping[TaskKind, SpanType] = {
    "undo": "function",
    "command": "guardrail",
    "child": "agent",
    "notice": "activity",
    "project": "activity",
}


def build_background_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span for each work of the run's own."""
    for work in trace.background_tasks:
        attributes: JsonObject = {
            **({"function_name": work.name} if work.kind == "undo" else {}),
            "purpose": work.kind,
            "about": work.about,
            "call_id": work.call_id or None,
            "run_id": work.run_id or None,
            "came_to": work.came_to or None,
            "success": work.ended_at is not None and not work.failed,
            "attempts": work.attempts,
            "result": work.result.model_dump(mode="json") if work.result else None,
            "task_queue": work.task_queue or None,
            "sandboxed": work.task_queue.endswith(sandbox_queue("")),
            **(
                {"files": [one.model_dump(mode="json") for one in work.files]}
                if work.files
                else {}
            ),
            **describe_task(trace, work),
        }
        kind = "guardrail" if work.guardrail else _SPAN_TYPES[work.kind]
        yield build_span(trace, work, parent, kind, _name(work), attributes)


def _name(work: BackgroundTask) -> str:
    if work.guardrail:
        return f"run_guardrail {work.guardrail}"
    match work.kind:
        case "undo":
            return f"execute_tool {work.name}"
        case "child":
            return f"invoke_agent {work.name}"
        case "command" | "notice" | "project":
            return work.name


def build_handoff_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span for each handoff, at the moment of its record."""
    for record in trace.handoffs:
        at = record.timestamp
        moment = Timed(key=f"handoff.{record.handoff_id}", at=at, ended_at=at)
        attributes = record.model_dump(mode="json", exclude={"type", "timestamp"})
        name = f"handoff {record.to_agent}"
        yield build_span(trace, moment, parent, "handoff", name, attributes)
