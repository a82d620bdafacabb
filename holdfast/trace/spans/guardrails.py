"""A span for each guardrail of a run: functions, commands, judges, reviews, what never looked."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict
from holdfast.trace.background_tasks import BackgroundTask, GuardrailRun
from holdfast.trace.requests import RequestTrace
from holdfast.trace.spans.custom import build_custom_spans
from holdfast.trace.spans.records import iso, iso_or_null
from holdfast.trace.spans.values import Span, span_id
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
            look = _build_look_span(trace, looked, name, parent)
            yield look
            own = [one for one in looked.spans if one.guardrail == name]
            times = (looked.at, looked.ended_at or trace.ended_at)
            yield from build_custom_spans(trace, own, f"{looked.key}.{name}", look.span_id, times)


def build_idle_spans(trace: Trace, parent: str) -> Iterator[Span]:
    """Build a span without length for each guardrail that the run has and that never looked."""
    looked = {name for run in trace.guardrail_runs for name in run.names}
    looked |= {work.guardrail for work in trace.background_tasks}
    looked |= {name for asked in trace.requests.values() if (name := find_reviewer(trace, asked))}
    for spec in _specs(trace):
        if spec.name not in looked:
            key, at = f"guardrail.{spec.name}", trace.started_at
            yield _build_span(trace, spec.name, key, parent, (at, at), {"looked": False})


def build_review_span(trace: Trace, name: str, asked: RequestTrace, parent: str) -> Span:
    """Build the span of a guardrail that asks people; it has tripped where they reject."""
    verdicts = {"approved": "allow", "rejected": "deny"}
    said = verdicts.get(asked.outcome or "")
    times = (asked.at, asked.closed_at or trace.ended_at)
    return _build_span(
        trace, name, f"{asked.key}.{name}", parent, times, {**_say(said), "looked": True}
    )


def find_reviewer(trace: Trace, asked: RequestTrace) -> str:
    """Return the name of the guardrail that is this review; none where it is anything else."""
    prefix, _, rest = asked.subject.partition(":")
    name = rest.partition(":")[0]
    spec = _find_spec(trace, name)
    reviews = spec is not None and spec.review is not None
    return name if prefix == _SUBJECT_PREFIX and reviews else ""


def describe_task(trace: Trace, work: BackgroundTask) -> JsonObject:
    """Return what a command or a judge says as a guardrail; nothing for any other work."""
    if not work.guardrail:
        return {}
    return {**_describe(trace, work.guardrail), **_say(_judge(trace, work)), "looked": True}


def _build_look_span(trace: Trace, looked: GuardrailRun, name: str, parent: str) -> Span:
    verdicts = looked.find_verdicts(name)
    return _build_span(
        trace,
        name,
        f"{looked.key}.{name}",
        parent,
        (looked.at, looked.ended_at or trace.ended_at),
        {
            **_verdict(trace, looked, name),
            "looked": True,
            "attempts": looked.attempts,
            "error": looked.error or None,
            "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
        },
    )


def _build_span(
    trace: Trace,
    name: str,
    key: str,
    parent: str,
    times: tuple[datetime, datetime | None],
    more: JsonObject,
) -> Span:
    """Build the span of one guardrail, named as OpenTelemetry's draft for guardrails has it."""
    return Span(
        span_id=span_id(trace, key),
        parent_id=parent,
        type="guardrail",
        name=f"run_guardrail {name}",
        started_at=iso(times[0]),
        ended_at=iso_or_null(times[1]),
        attributes={**_describe(trace, name), **more},
    )


def _describe(trace: Trace, name: str) -> JsonObject:
    spec = _find_spec(trace, name)
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


def _verdict(trace: Trace, looked: GuardrailRun, name: str) -> JsonObject:
    """Say what it came to; what doesn't apply has neither allowed nor denied anything."""
    verdicts, tripped = looked.find_verdicts(name), looked.has_tripwire(name)
    said = _name_tripwire(trace, name) if tripped else _allow_if_applicable(verdicts)
    worst = next((one for one in verdicts if one.tripwire_triggered), None)
    looked_at = worst or (verdicts[0] if verdicts else None)
    return {
        "gen_ai.guardrail.target.id": (looked_at.call_id or looked_at.subject)
        if looked_at
        else None,
        **_say(said),
        "gen_ai.guardrail.verdict.reason": (looked_at.reason if looked_at else looked.error)
        or None,
        "applicable": any(one.applicable for one in verdicts) if verdicts else None,
    }


def _name_tripwire(trace: Trace, name: str) -> str:
    spec = _find_spec(trace, name)
    return _TRIPPED.get(spec.on_trip if spec else "", "deny")


def _say(verdict: str | None) -> JsonObject:
    return {
        "triggered": verdict in {"deny", "escalate", "warn"},
        "gen_ai.guardrail.verdict.type": verdict,
        "gen_ai.guardrail.action.type": _ACTIONS[verdict] if verdict else None,
    }


def _allow_if_applicable(verdicts: Sequence[GuardrailVerdict]) -> str | None:
    return "allow" if any(one.applicable for one in verdicts) else None


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


def _specs(trace: Trace) -> tuple[GuardrailSpec, ...]:
    return (*trace.agent.guardrails, *trace.agent.acceptance) if trace.agent else ()


def _find_spec(trace: Trace, name: str) -> GuardrailSpec | None:
    return next((spec for spec in _specs(trace) if spec.name == name), None)
