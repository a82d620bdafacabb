"""A trace as a tree of spans, for tools that read such trees."""

from collections import defaultdict
from collections.abc import Iterator

from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import ToolCall, ToolSuccess
from holdfast.contracts.run import WORKFLOW_TYPE, AgentSnapshot, sandbox_queue
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE
from holdfast.tools.redaction import WITHHELD, Redactor
from holdfast.trace.entries import AuditLine, AuxiliaryCall, Call, DecisionTrace, Timed, Turn
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace
from holdfast.trace.spans import records
from holdfast.trace.spans.own import (
    build_background_spans,
    build_guardrail_spans,
    build_handoff_spans,
    build_idle_spans,
    build_review_span,
    find_reviewer,
)
from holdfast.trace.spans.values import (
    Span,
    SpanEvent,
    SpanTree,
    build_custom_spans,
    build_span,
    iso,
    iso_or_null,
)
from holdfast.trace.values import Trace

_REDACTOR = Redactor(frozenset)
"""Nobody here knows the secrets of the worker, which kept those out of history: lookalikes."""


def span_tree(trace: Trace, *, reasoning: bool = False) -> SpanTree:
    """
    Build the tree. The same history gives the same ids, however often it is read.

    What looks like a credential is replaced by its kind. What models wrote to reason is left out,
    unless *reasoning* is asked for.
    """
    root = _build_root_span(trace)
    below = list(_build_child_spans(trace, root.span_id, reasoning=reasoning))
    children: defaultdict[str | None, list[str]] = defaultdict(list)
    for span in below:
        children[span.parent_id].append(span.span_id)
    spans = tuple(
        _redact(span.with_(children=tuple(children[span.span_id]))) for span in (root, *below)
    )
    return SpanTree(
        trace_id=trace.first_execution.replace("-", ""),
        workflow_name=SESSION_WORKFLOW_TYPE if trace.is_session else WORKFLOW_TYPE,
        group_id=trace.brief.session_id if trace.brief else None,
        run_id=trace.run_id,
        status=trace.status,
        spans=spans,
    )


def _redact(span: Span) -> Span:
    """Leave out credentials: what a person typed, or a tool said, may hold some."""
    try:
        told = span.model_dump_json(include={"name", "attributes", "events"})
        shown = _REDACTOR.json(told.encode())
    except ValueError:
        return span.with_(name=span.type, attributes={"withheld": WITHHELD}, events=())
    return Span.model_validate({**span.model_dump(mode="json"), **from_json(shown)})


def _build_root_span(trace: Trace) -> Span:
    agent = next((turn.agent for turn in trace.turns), trace.agent)  # not one that took over
    name = trace.brief.agent if trace.brief else "unknown"
    result = trace.result
    attributes: JsonObject = {
        "agent_name": name,
        **_describe_prefix(agent),
        "model": next(iter(agent.models), None) if agent else None,
        "tenant": trace.brief.tenant if trace.brief else None,
        "actor": trace.brief.actor if trace.brief else None,
        "input": trace.goal,
        "status": trace.status,
        "answer": result.answer if result else None,
        "stop": result.stop.model_dump(mode="json") if result and result.stop else None,
        "failure": trace.failure,
        "effects": [one.model_dump(mode="json") for one in result.effects] if result else [],
        "unresolved": [one.model_dump(mode="json") for one in result.unresolved] if result else [],
        "executions": trace.executions,
        **_describe_lineage(trace),
    }
    run = Timed(key="run", at=trace.started_at, ended_at=trace.ended_at)
    span = build_span(trace, run, None, "agent", f"invoke_agent {name}", attributes)
    return span.with_(events=tuple(_build_run_events(trace)))


def _describe_prefix(agent: AgentSnapshot | None, tools: tuple[str, ...] = ()) -> JsonObject:
    """
    Return the digests of what each call of a model begins with; one changes with each part.

    Where a turn was sent some *tools* alone they are of these.
    """
    if agent is None:
        return dict.fromkeys(("instructions_hash", "tools_hash", "settings_hash"))
    prefix = agent.prefix.narrow(tools).model_dump(mode="json")
    return {
        "instructions_hash": digest(agent.instructions),
        "tools_hash": digest(
            {**prefix, "instructions": "", "settings": {}, "output_schema": None}
        ),
        "settings_hash": digest({**prefix, "instructions": "", "tools": [], "hosted": []}),
    }


def _describe_lineage(trace: Trace) -> JsonObject:
    """Return which run this one tries again; nothing where it tries none."""
    earlier = trace.brief.retry_of if trace.brief else None
    return {} if earlier is None else {"retry_of": earlier.model_dump(mode="json")}


def _build_child_spans(trace: Trace, root: str, *, reasoning: bool) -> Iterator[Span]:
    for turn in trace.turns:
        yield _build_generation_span(trace, turn, root, reasoning=reasoning)
        for call in turn.calls:
            function = _build_function_span(trace, call, root)
            yield function
            yield from build_custom_spans(trace, call.spans, call, function.span_id)
            for companion in call.auxiliary_calls:
                ran = _build_auxiliary_span(trace, call, companion, function.span_id)
                yield ran
                yield from build_custom_spans(trace, companion.spans, companion, ran.span_id)
            for ruled in call.rulings:
                if ruled.request_id is not None:
                    asked = trace.requests[ruled.request_id]
                    yield _build_approval_span(trace, asked, function.span_id, ruled)
    for asked in trace.requests.values():
        if asked.is_of_run:
            yield from _build_request_spans(trace, asked, root)
    yield from build_guardrail_spans(trace, root)
    yield from build_idle_spans(trace, root)
    yield from build_handoff_spans(trace, root)
    yield from build_background_spans(trace, root)


def _build_request_spans(trace: Trace, asked: RequestTrace, root: str) -> Iterator[Span]:
    """Build the span of a request of the run, below that of the guardrail which asks for it."""
    parent = root
    if name := find_reviewer(trace, asked):
        guardrail = build_review_span(trace, name, asked, root)
        yield guardrail
        parent = guardrail.span_id
    yield _build_approval_span(trace, asked, parent)


def _build_generation_span(trace: Trace, turn: Turn, parent: str, *, reasoning: bool) -> Span:
    thought: JsonObject = {
        "reasoning": [part.text for part in turn.parts if part.kind == "reasoning"]
    }
    attributes: JsonObject = {
        "turn": turn.number,
        "purpose": turn.purpose,
        "held_back": turn.held_back,
        "agent_name": turn.agent.name if turn.agent else None,
        **_describe_prefix(turn.agent, turn.tools),
        "model": turn.model,
        "tokens_in": turn.usage.input_tokens,
        "tokens_cached": turn.usage.cached_tokens,
        "tokens_cache_write": turn.usage.cache_write_tokens,
        "tokens_out": turn.usage.output_tokens,
        "tokens_reasoning": turn.usage.reasoning_tokens,
        "tokens_failed": turn.failed_usage.total_tokens,
        "estimated_cost": turn.usage.model_dump(mode="json")["estimated_cost"],
        "latency_ms": turn.latency_ms,
        "first_token_ms": turn.first_token_ms,
        "attempts": turn.attempts,
        "stop": turn.stop,
        "objections": list(turn.objections),
        "text": turn.text,
        **(thought if reasoning else {}),
        "tools": _list_tools(turn),
        "hosted": [
            {"name": part.name, "text": part.text}
            for part in turn.parts
            if part.kind == "hosted_call"
        ],
        "calls": [call.call.call_id for call in turn.calls],
        "error": turn.error,
    }
    return build_span(trace, turn, parent, "generation", f"chat {turn.model}", attributes)


def _list_tools(turn: Turn) -> list[JsonValue] | None:
    """Return the names of the tools that the model was sent, those of its provider too."""
    if turn.agent is None:
        return None
    prefix = turn.agent.prefix.narrow(turn.tools)
    return [one.name for one in (*prefix.tools, *prefix.hosted)]


def _build_function_span(trace: Trace, call: Call, parent: str) -> Span:
    asked = call.call
    arguments: JsonValue = (
        dict(asked.arguments) if isinstance(asked, ToolCall) else asked.raw_arguments
    )
    ruled = call.rulings[-1] if call.rulings else None
    attributes: JsonObject = {
        "function_name": asked.name,
        "call_id": asked.call_id,
        "purpose": "call",
        "arguments": arguments,
        "arguments_digest": records.arguments_digest(asked, ruled),
        "decisions": records.decisions(trace, call),
        "draft_id": call.draft_id or None,
        "lost": call.lost.model_dump(mode="json") if call.lost else None,
    }
    return _build_tool_span(trace, call, parent, attributes)


def _build_auxiliary_span(trace: Trace, call: Call, ran: AuxiliaryCall, parent: str) -> Span:
    attributes: JsonObject = {
        "function_name": ran.tool,
        "call_id": call.call.call_id,
        "purpose": ran.purpose,
        "draft_id": ran.draft_id or None,
    }
    return _build_tool_span(trace, ran, parent, attributes)


def _build_tool_span(
    trace: Trace, ran: Call | AuxiliaryCall, parent: str, attributes: JsonObject
) -> Span:
    attributes = {
        **attributes,
        "result": ran.result.model_dump(mode="json") if ran.result else None,
        "success": isinstance(ran.result, ToolSuccess),
        "elapsed_ms": ran.elapsed_ms,
        "attempts": ran.attempts,
        "task_queue": ran.task_queue or None,
        "sandboxed": ran.task_queue.endswith(sandbox_queue("")),
    }
    name = f"execute_tool {attributes['function_name']}"
    return build_span(trace, ran, parent, "function", name, attributes)


def _build_approval_span(
    trace: Trace, asked: RequestTrace, parent: str, ruled: DecisionTrace | None = None
) -> Span:
    settled = asked.settled
    attributes: JsonObject = {
        "request_id": asked.request_id,
        "kind": asked.kind,
        "reason": asked.reason,
        "subject": asked.subject or None,
        "required": asked.required and asked.required.model_dump(mode="json"),
        "expires_at": iso_or_null(asked.expires_at),
        "escalated_at": iso_or_null(asked.escalated_at),
        "outcome": asked.outcome,
        "decision": settled.text if settled else None,
        "approver": settled.author if settled else None,
        "approver_reason": settled.reason if settled else None,
        "approvers": list(records.find_approvers(asked)),
        "approvals": records.approvals(asked, ruled),
    }
    wait = Timed(key=asked.key, at=asked.at, ended_at=asked.closed_at)
    span = build_span(trace, wait, parent, "approval", f"await {asked.kind}", attributes)
    return span.with_(events=tuple(_build_request_events(asked)))


def _build_request_events(asked: RequestTrace) -> Iterator[SpanEvent]:
    for heard in asked.heard:
        match heard:
            case MessageTrace():
                yield _build_message_event(heard)
            case EscalatedToGroup(groups=groups, at=at):
                attributes: JsonObject = {"groups": list(groups)}
                yield SpanEvent(name="escalated", at=iso(at), attributes=attributes)


def _build_run_events(trace: Trace) -> Iterator[SpanEvent]:
    for entry in trace.entries:
        match entry:
            case MessageTrace():
                yield _build_message_event(entry)
            case AuditLine():
                attributes: JsonObject = {"text": entry.text}
                yield SpanEvent(name=entry.event, at=iso(entry.at), attributes=attributes)
            case _:
                continue
    for said in trace.flood:
        yield _build_message_event(said)


def _build_message_event(said: MessageTrace) -> SpanEvent:
    return SpanEvent(
        name=said.signal,
        at=iso(said.at),
        attributes={
            "text": said.text,
            "request_id": said.request_id,
            "sender": said.sender,
            "identity": said.identity,
            "reason": said.reason,
            "approver": said.approver,
            "accepted": said.accepted,
            "code": said.code,
            "refusal": said.refusal,
        },
    )
