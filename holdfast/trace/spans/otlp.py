"""
Spans as OpenTelemetry has them: OTLP in JSON, with its names for generative AI.

The encoding is that of the OTLP specification 1.5 (ids in hexadecimal, times in nanoseconds and as
strings). The names are those of the semantic conventions for generative AI; what they have no name
for is under `holdfast.`. All ids are made of the history alone: what is sent twice is the same.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import JsonValue
from pydantic_core import to_json

from holdfast.contracts.base import JsonObject
from holdfast.trace.spans.values import Span, SpanEvent, SpanTree, SpanType
from holdfast.workflows.inbound.messages import SESSION_SIGNALS

MAX_SPANS_PER_LINE = 500
"""Spans that one message holds: collectors take 4 MB at most."""

_INTERNAL, _CLIENT = 1, 3
_STATUS_ERROR = 2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MILLISECONDS: Final = 1000

_PROVIDERS: Final = {"openai-chat": "openai"}
"""Prefixes of models that have another name there."""

_HASHES = ("instructions_hash", "tools_hash", "settings_hash")


def _name_below(prefix: str, *names: str) -> dict[str, str]:
    """Name what the conventions have no name for."""
    return {name: f"{prefix}.{name}" for name in names}


_NAMES: Final[Mapping[SpanType, Mapping[str, str]]] = {
    "agent": {
        "agent_name": "gen_ai.agent.name",
        "run_id": "holdfast.run.id",
        **_name_below("holdfast", "tenant", "actor", *_HASHES),
        **_name_below("holdfast.run", "status", "executions"),
    },
    "generation": {
        "agent_name": "gen_ai.agent.name",
        "tokens_in": "gen_ai.usage.input_tokens",
        "tokens_out": "gen_ai.usage.output_tokens",
        "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
        "tokens_cache_write": "gen_ai.usage.cache_write.input_tokens",
        "tokens_reasoning": "gen_ai.usage.reasoning.output_tokens",
        "estimated_cost": "holdfast.cost_usd",
        **_name_below("holdfast", "turn", "purpose", "attempts", *_HASHES),
    },
    "function": {
        "function_name": "gen_ai.tool.name",
        "call_id": "gen_ai.tool.call.id",
        **_name_below("holdfast", "arguments_digest", "attempts", "sandboxed", "purpose"),
    },
    "guardrail": _name_below("holdfast.guardrail", "triggered", "blocking", "layer", "looked"),
    "approval": _name_below("holdfast.approval", "request_id", "kind", "outcome", "approvers"),
    "handoff": {
        "handoff_id": "holdfast.handoff.id",
        **_name_below("holdfast.handoff", "from_agent", "to_agent", "context_passed"),
        **_name_below("holdfast.handoff", "return_expected", "timeout_seconds"),
    },
    "activity": _name_below("holdfast", "purpose"),
    "custom": {},
}

_OPERATIONS: Final[Mapping[SpanType, str]] = {
    "agent": "invoke_agent",
    "generation": "chat",
    "function": "execute_tool",
}

_CONTENT: Final[Mapping[SpanType, Mapping[str, str]]] = {
    "agent": {"input": "holdfast.input", "answer": "holdfast.answer"},
    "function": {
        "arguments": "gen_ai.tool.call.arguments",
        "result": "gen_ai.tool.call.result",
    },
    "approval": {"reason": "holdfast.approval.reason"},
    "handoff": {"goal": "holdfast.handoff.goal"},
    "custom": {"data": "holdfast.data"},
}
"""What is told only where content is asked for."""

_EVENT_CONTENT = {"text", "reason"}

_REFUSED = {"accepted", "code"}
"""What is told of a message that doesn't count: any other field is a stranger's to fill."""

_UNKNOWN_TOOL = "unknown tool"


def render_lines(tree: SpanTree, *, content: bool = False) -> Iterator[bytes]:
    """
    Yield OTLP messages, each one line of JSON, as a collector reads them from a file or over HTTP.

    A span that goes on ends, for now, at the latest moment that is known, and says
    `holdfast.open`: sent again when it is over, it has the same id. Without *content* there is
    nothing in them of what people, models and tools said. A name is that, too, which a model
    gives a call and no tool has, or a stranger a signal.
    """
    tools = {name for span in tree.spans for name in _find_tools(span)}
    now = max(time for span in tree.spans for time in _times(span))
    for first in range(0, len(tree.spans), MAX_SPANS_PER_LINE):
        some = tree.spans[first : first + MAX_SPANS_PER_LINE]
        told = some if content else (_mask_tool(span, tools) for span in some)
        spans: list[JsonValue] = [_span(tree, span, now, content=content) for span in told]
        yield to_json(_wrap(spans))


def _find_tools(span: Span) -> Iterator[str]:
    """Yield names that tools have: those that a model was sent, that ran, or were decided upon."""
    match span.attributes:
        case {"tools": list(sent)} if span.type == "generation":
            yield from (name for name in sent if isinstance(name, str))
        case {"function_name": str(name), "purpose": purpose} if purpose != "call":
            yield name
        case {"function_name": str(name), "decisions": list(decided)}:
            yield from (name for one in decided if isinstance(one, dict) and one["risk"])
        case _:
            return


def _mask_tool(span: Span, known: Collection[JsonValue]) -> Span:
    if span.type != "function" or span.attributes.get("function_name") in known:
        return span
    named: JsonObject = {**span.attributes, "function_name": _UNKNOWN_TOOL}
    return span.with_(name=f"execute_tool {_UNKNOWN_TOOL}", attributes=named)


def _wrap(spans: list[JsonValue]) -> JsonObject:
    scope: JsonObject = {"name": "holdfast"}
    resource: JsonObject = {"attributes": _attributes({"service.name": "holdfast"})}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]
    }


def _span(tree: SpanTree, span: Span, now: str, *, content: bool) -> JsonObject:
    named = {
        **_name_all(span, _NAMES[span.type]),
        **_describe(tree, span),
        **(_name_all(span, _CONTENT.get(span.type, {})) if content else {}),
        **(_messages(span) if content else {}),
        "holdfast.open": span.ended_at is None,
    }
    error = named.get("error.type")
    return {
        "traceId": tree.trace_id,
        "spanId": span.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "name": span.name,
        "kind": _CLIENT if span.type == "generation" else _INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.started_at),
        "endTimeUnixNano": _nanoseconds(span.ended_at or now),
        "attributes": _attributes(named),
        "events": [_event(event, content=content) for event in span.events],
        **({"status": {"code": _STATUS_ERROR, "message": error}} if error else {}),
    }


def _describe(tree: SpanTree, span: Span) -> JsonObject:
    """Return what isn't an attribute of ours under another name."""
    said: JsonObject = {
        name: value
        for name, value in span.attributes.items()
        if name.startswith("gen_ai.") and name != "gen_ai.guardrail.verdict.reason"
    }
    if (operation := _OPERATIONS.get(span.type)) is not None:
        said["gen_ai.operation.name"] = operation
    if tree.group_id is not None:
        said["gen_ai.conversation.id"] = tree.group_id
    match span.type:
        case "agent":
            said |= _name_model(span)
            said |= {"holdfast.run.id": tree.run_id} if span.parent_id is None else {}
        case "generation":
            said |= _name_model(span) | _describe_reply(span)
        case "function":
            said |= _describe_decision(span)
        case _:
            pass
    return said | _describe_error(span)


def _name_model(span: Span) -> JsonObject:
    """Return the model that is asked, and by whom it is offered, each by its own name."""
    match span.attributes.get("model"):
        case str(model):
            provider, _, name = model.partition(":")
            return {
                "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
                "gen_ai.request.model": name,
            }
        case _:
            return {}


def _describe_reply(span: Span) -> JsonObject:
    said: JsonObject = {}
    first = span.attributes.get("first_token_ms")
    if span.attributes.get("stop"):
        said["gen_ai.response.finish_reasons"] = [span.attributes["stop"]]
    if isinstance(first, int | float):
        said["gen_ai.response.time_to_first_chunk"] = first / _MILLISECONDS
    return said


def _describe_decision(span: Span) -> JsonObject:
    """Return what the permission engine decided last about a call."""
    said: JsonObject = {"gen_ai.tool.type": "function"}
    match span.attributes.get("decisions"):
        case [*_, dict() as last]:
            known = {"decision", "rule", "policy", "risk"}
            said |= {f"holdfast.permission.{name}": last[name] for name in sorted(known & {*last})}
        case _:
            pass
    return said


def _describe_error(span: Span) -> JsonObject:
    match span.attributes:
        case {"error": str()}:
            return {"error.type": "model_error" if span.type == "generation" else "error"}
        case {"failure": str()}:
            return {"error.type": "failed"}
        case {"stop": {"quotes": True}, "status": str(status)}:
            return {"error.type": status}
        case {"stop": {"reason": str(reason)}} if span.type == "agent":
            return {"error.type": reason}
        case {"result": {"status": str(status)}} if status != "ok":
            return {"error.type": status}
        case _:
            return {}


def _messages(span: Span) -> JsonObject:
    """Return what a model said, in the form of the conventions."""
    if span.type != "generation" or not span.attributes.get("text"):
        return {}
    said: JsonObject = {
        "role": "assistant",
        "parts": [{"type": "text", "content": span.attributes["text"]}],
        "finish_reason": span.attributes.get("stop"),
    }
    return {"gen_ai.output.messages": [said]}


def _event(event: SpanEvent, *, content: bool) -> JsonObject:
    counts = content or event.attributes.get("accepted", True) is True
    told = {
        f"holdfast.{name}": value
        for name, value in event.attributes.items()
        if content or name not in _EVENT_CONTENT
        if counts or name in _REFUSED
    }
    return {
        "timeUnixNano": _nanoseconds(event.at),
        "name": event.name if counts or event.name in SESSION_SIGNALS else "unknown signal",
        "attributes": _attributes(told),
    }


def _name_all(span: Span, names: Mapping[str, str]) -> JsonObject:
    return {names[name]: value for name, value in span.attributes.items() if name in names}


def _attributes(named: Mapping[str, JsonValue]) -> list[JsonValue]:
    """Write attributes as OTLP has them; what is null is left out."""
    return [
        {"key": name, "value": _value(value)}
        for name, value in named.items()
        if value is not None and value != []
    ]


def _value(value: JsonValue) -> JsonObject:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
        case list() if all(isinstance(entry, str) for entry in value):
            return {"arrayValue": {"values": [_value(entry) for entry in value]}}
        case _:
            return {"stringValue": to_json(value).decode()}


def _times(span: Span) -> Iterator[str]:
    yield span.started_at
    if span.ended_at is not None:
        yield span.ended_at
    yield from (event.at for event in span.events)


def _nanoseconds(moment: str) -> str:
    since = datetime.fromisoformat(moment) - _EPOCH
    return str(since // _MICROSECOND * 1000)
