"""The spans that other tools read, as values, and those of what a run has done for itself."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict
from holdfast.contracts.run import sandbox_queue
from holdfast.trace.background_tasks import BackgroundTask, GuardrailRun, TaskKind
from holdfast.trace.spans.records import iso, iso_or_null
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


_INPUT_LAYERS = {"input", "pre_execution"}
"""The layers that look at what goes in, into a model or a tool."""


_SUBTYPES = {"input": "llm", "pre_execution": "tool_call", "output": "llm"}


_SPAN_TYPES: Mapping[TaskKind, Literal["agent", "function", "guardrail", "activity"]] = {
    "undo": "function",
    "command": "guardrail",
    "child": "agent",
    "notice": "activity",
    "project": "activity",
}


def build_background_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span for each guardrail that looked, and for each other work of the run's own."""
    for guarded in trace.guardrail_runs:
        for name in guarded.names:
            yield _build_guardrail_span(trace, guarded, name, parent)
    for work in trace.background_tasks:
        yield _build_task_span(trace, work, parent)


def _build_guardrail_span(trace: Trace, guarded: GuardrailRun, name: str, parent: str) -> Span:
    """Build the span of one guardrail, named as OpenTelemetry's draft for guardrails has it."""
    verdicts, layer = guarded.find_verdicts(name), _layer(trace, name)
    return Span(
        span_id=span_id(trace, f"{guarded.key}.{name}"),
        parent_id=parent,
        type="guardrail",
        name=f"run_guardrail {name}",
        started_at=iso(guarded.at),
        ended_at=iso_or_null(guarded.ended_at or trace.ended_at),
        attributes={
            "gen_ai.operation.name": "run_guardrail",
            "gen_ai.guardrail.component.name": name,
            **_target(layer),
            **_verdict(trace, guarded, name),
            "layer": layer or None,
            "attempts": guarded.attempts,
            "error": guarded.error or None,
            "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
        },
    )


def _target(layer: str) -> JsonObject:
    return {
        "gen_ai.guardrail.target.type": "input" if layer in _INPUT_LAYERS else "output",
        "gen_ai.guardrail.target.subtype": _SUBTYPES.get(layer),
    }


def _verdict(trace: Trace, guarded: GuardrailRun, name: str) -> JsonObject:
    """Say what it came to; what doesn't apply has neither allowed nor denied anything."""
    verdicts, tripped = guarded.find_verdicts(name), guarded.has_tripwire(name)
    spec = _find_spec(trace, name)
    asks = spec is not None and spec.on_trip == "ask"
    said = _allow_if_applicable(verdicts) if not tripped else ("escalate" if asks else "deny")
    actions = {"allow": "allow", "escalate": "escalate", "deny": "block"}
    worst = next((one for one in verdicts if one.tripwire_triggered), None)
    looked_at = worst or (verdicts[0] if verdicts else None)
    return {
        "gen_ai.guardrail.target.id": (looked_at.call_id or looked_at.subject)
        if looked_at
        else None,
        "gen_ai.guardrail.verdict.type": said,
        "gen_ai.guardrail.action.type": actions[said] if said else None,
        "gen_ai.guardrail.verdict.reason": (looked_at.reason if looked_at else guarded.error)
        or None,
        "applicable": any(one.applicable for one in verdicts) if verdicts else None,
    }


def _allow_if_applicable(verdicts: Sequence[GuardrailVerdict]) -> str | None:
    return "allow" if any(one.applicable for one in verdicts) else None


def _find_spec(trace: Trace, name: str) -> GuardrailSpec | None:
    known = (*trace.agent.guardrails, *trace.agent.acceptance) if trace.agent else ()
    return next((spec for spec in known if spec.name == name), None)


def _build_task_span(trace: Trace, work: BackgroundTask, parent: str) -> Span:
    guardrail: JsonObject = {}
    if work.kind == "command":
        guardrail = {
            "gen_ai.operation.name": "run_guardrail",
            "gen_ai.guardrail.component.name": work.guardrail,
            **_target(_layer(trace, work.guardrail)),
            "gen_ai.guardrail.verdict.type": _judge_command(work),
        }
    return Span(
        span_id=span_id(trace, work.key),
        parent_id=parent,
        type=_SPAN_TYPES[work.kind],
        name=_name(work),
        started_at=iso(work.at),
        ended_at=iso_or_null(work.ended_at or trace.ended_at),
        attributes={
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
            **guardrail,
        },
    )


def _name(work: BackgroundTask) -> str:
    match work.kind:
        case "undo":
            return f"execute_tool {work.name}"
        case "command":
            return f"run_guardrail {work.guardrail}"
        case "child":
            return f"invoke_agent {work.name}"
        case "notice" | "project":
            return work.name


def _layer(trace: Trace, name: str) -> str:
    spec = _find_spec(trace, name)
    return spec.layer if spec else ""


def _judge_command(work: BackgroundTask) -> str | None:
    """Say what the end of a command means: exit code 0 passes."""
    if work.ended_at is None:
        return None
    result = work.result
    data = result.data if isinstance(result, ToolSuccess) else None
    return "allow" if isinstance(data, dict) and data.get("exit_code") == 0 else "deny"
