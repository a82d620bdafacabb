"""The spans of what a run does for itself: guardrails, undoing, projects, children, handoffs."""

from collections.abc import Iterator, Mapping

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.run import sandbox_queue
from holdfast.trace.entries import BackgroundTask, GuardrailRun, TaskKind, Timed
from holdfast.trace.requests import RequestTrace
from holdfast.trace.spans.values import Span, SpanType, build_custom_spans, build_span
from holdfast.trace.values import Trace

_INPUT_LAYERS = {"input", "pre_execution"}
"""The layers that look at what goes in, into a model or a tool."""

_SUBTYPES = {"input": "llm", "pre_execution": "tool_call", "output": "llm"}

_ACTIONS = {"allow": "allow", "warn": "allow", "escalate": "escalate", "deny": "block"}

_TRIPPED = {"ask": "escalate", "warn": "warn"}
"""What a tripwire comes to that doesn't block."""

_SUBJECT_PREFIX = "guardrail"
"""What the subject of a review begins with that a guardrail asks for."""


def build_guardrail_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span for each time that a guardrail looked which is a function of the app."""
    for looked in trace.guardrail_runs:
        for name in looked.names:
            look = Timed(key=f"{looked.key}.{name}", at=looked.at, ended_at=looked.ended_at)
            span = _build_span(trace, look, name, parent, _describe_look(trace, looked, name))
            yield span
            own = [one for one in looked.spans if one.guardrail == name]
            yield from build_custom_spans(trace, own, look, span.span_id)


def build_idle_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span without length for each guardrail that the run has and that never looked."""
    looked = {name for run in trace.guardrail_runs for name in run.names}
    looked |= {work.guardrail for work in trace.background_tasks}
    looked |= {name for asked in trace.requests.values() if (name := find_reviewer(trace, asked))}
    for spec in trace.guardrail_specs:
        if spec.name not in looked:
            at = trace.started_at
            never = Timed(key=f"guardrail.{spec.name}", at=at, ended_at=at)
            yield _build_span(trace, never, spec.name, parent, {"looked": False})


def build_review_span(trace: Trace, name: str, asked: RequestTrace, parent: str) -> Span:
    """Build the span of a guardrail that asks people; it has tripped where they reject."""
    verdicts = {"approved": "allow", "rejected": "deny"}
    said = verdicts.get(asked.outcome or "")
    review = Timed(key=f"{asked.key}.{name}", at=asked.at, ended_at=asked.closed_at)
    return _build_span(trace, review, name, parent, {**_say(said), "looked": True})


def find_reviewer(trace: Trace, asked: RequestTrace) -> str:
    """Return the name of the guardrail that is this review; none where it is anything else."""
    prefix, _, rest = asked.subject.partition(":")
    name = rest.partition(":")[0]
    spec = trace.find_guardrail(name)
    reviews = spec is not None and spec.review is not None
    return name if prefix == _SUBJECT_PREFIX and reviews else ""


def _describe_task(trace: Trace, work: BackgroundTask) -> JsonObject:
    """Return what a command or a judge says as a guardrail; nothing for any other work."""
    if not work.guardrail:
        return {}
    return {**_describe(trace, work.guardrail), **_say(_judge(trace, work)), "looked": True}


def _build_span(trace: Trace, look: Timed, name: str, parent: str, more: JsonObject) -> Span:
    """Build the span of one guardrail, named as OpenTelemetry's draft for guardrails has it."""
    attributes = {**_describe(trace, name), **more}
    return build_span(trace, look, parent, "guardrail", f"run_guardrail {name}", attributes)


def _describe(trace: Trace, name: str) -> JsonObject:
    spec = trace.find_guardrail(name)
    layer = spec.layer if spec else ""
    return {
        "guardrail_name": name,
        "triggered": False,
        "blocking": spec is not None and spec.mode == "blocking" and spec.on_trip != "warn",
        "layer": layer or None,
        "gen_ai.operation.name": "run_guardrail",
        "gen_ai.guardrail.component.name": name,
        "gen_ai.guardrail.target.type": "input" if layer in _INPUT_LAYERS else "output",
        "gen_ai.guardrail.target.subtype": _SUBTYPES.get(layer),
    }


def _describe_look(trace: Trace, looked: GuardrailRun, name: str) -> JsonObject:
    """Say what it came to; what doesn't apply has neither allowed nor denied anything."""
    verdicts, tripped = looked.find_verdicts(name), looked.has_tripwire(name)
    applies = any(one.applicable for one in verdicts)
    allowed = "allow" if applies else None
    worst = next((one for one in verdicts if one.tripwire_triggered), None)
    about = worst or next(iter(verdicts), None)
    return {
        "gen_ai.guardrail.target.id": (about.call_id or about.subject) if about else None,
        **_say(_name_tripwire(trace, name) if tripped else allowed),
        "gen_ai.guardrail.verdict.reason": (about.reason if about else looked.error) or None,
        "applicable": applies if verdicts else None,
        "looked": True,
        "attempts": looked.attempts,
        "error": looked.error or None,
        "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
    }


def _name_tripwire(trace: Trace, name: str) -> str:
    spec = trace.find_guardrail(name)
    return _TRIPPED.get(spec.on_trip if spec else "", "deny")


def _say(verdict: str | None) -> JsonObject:
    return {
        "triggered": verdict in {"deny", "escalate", "warn"},
        "gen_ai.guardrail.verdict.type": verdict,
        "gen_ai.guardrail.action.type": _ACTIONS[verdict] if verdict else None,
    }


def _judge(trace: Trace, work: BackgroundTask) -> str | None:
    """Say what the end of a command or a judge means; who can't decide has tripped."""
    if work.ended_at is None:
        return None
    match work.result, work.output:
        case ToolSuccess(data={"exit_code": 0}), _:
            return "allow"
        case None, {"tripwire_triggered": False} if not work.failed:
            return "allow"
        case _:
            return _name_tripwire(trace, work.guardrail)


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
            **_describe_task(trace, work),
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
