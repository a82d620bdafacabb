"""Each field of a span has its name in OpenTelemetry, and content is told on request alone."""

import json

import pytest
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.trace.spans.values import Span
from tests.holdfast.sent_spans import a_span, rendered, text, told

GENERATION: JsonObject = {
    "agent_name": "clerk",
    "instructions_hash": "i",
    "tools_hash": "t",
    "settings_hash": "s",
    "model": "openai-chat:gpt-x:mini",
    "tokens_in": 12,
    "tokens_cached": 8,
    "tokens_cache_write": 2,
    "tokens_out": 5,
    "tokens_reasoning": 3,
    "tokens_failed": 4,
    "estimated_cost": "0.25",
    "latency_ms": 900,
    "first_token_ms": 250,
    "turn": 2,
    "purpose": "turn",
    "attempts": 1,
    "stop": "end_turn",
    "text": "It is done.",
    "reasoning": ["so"],
    "error": None,
}


def test_a_model_call_has_the_names_of_the_conventions() -> None:
    """Model and provider by names of their own, tokens by kind; its words are no part of it."""
    # TR-03 AD-19
    assert told(a_span("generation", GENERATION)) == {
        "gen_ai.operation.name": text("chat"),
        "gen_ai.agent.name": text("clerk"),
        "gen_ai.provider.name": text("openai"),
        "gen_ai.request.model": text("gpt-x:mini"),
        "gen_ai.usage.input_tokens": {"intValue": "12"},
        "gen_ai.usage.cache_read.input_tokens": {"intValue": "8"},
        "gen_ai.usage.cache_write.input_tokens": {"intValue": "2"},
        "gen_ai.usage.output_tokens": {"intValue": "5"},
        "gen_ai.usage.reasoning.output_tokens": {"intValue": "3"},
        "gen_ai.response.finish_reasons": {"arrayValue": {"values": [text("end_turn")]}},
        "gen_ai.response.time_to_first_chunk": {"doubleValue": 0.25},
        "holdfast.cost_usd": text("0.25"),
        "holdfast.turn": {"intValue": "2"},
        "holdfast.purpose": text("turn"),
        "holdfast.attempts": {"intValue": "1"},
        "holdfast.instructions_hash": text("i"),
        "holdfast.tools_hash": text("t"),
        "holdfast.settings_hash": text("s"),
        "holdfast.open": {"boolValue": False},
    }


def test_what_a_model_said_is_told_on_request() -> None:
    """In the form of the conventions; what it wrote to reason isn't told even then."""
    # BY-26
    said = told(a_span("generation", GENERATION), content=True)["gen_ai.output.messages"]
    whole = json.dumps(rendered(a_span("generation", GENERATION), content=True))

    assert said == text(
        '[{"role":"assistant","parts":[{"type":"text","content":"It is done."}],'
        '"finish_reason":"end_turn"}]'
    )
    assert '"so"' not in whole


def test_a_run_names_its_model_as_its_calls_do() -> None:
    """Who groups by model and provider finds one name for each, whatever span has it."""
    # TR-02
    run: JsonObject = {
        "agent_name": "clerk",
        "model": "anthropic:claude-x",
        "tenant": "acme",
        "actor": "ann",
        "status": "completed",
        "executions": 2,
        "input": "the goal",
        "answer": "the answer",
        "instructions_hash": "i",
        "tools_hash": "t",
        "settings_hash": "s",
    }
    found = told(a_span("agent", run, parent=None))

    assert found == {
        "gen_ai.operation.name": text("invoke_agent"),
        "gen_ai.agent.name": text("clerk"),
        "gen_ai.provider.name": text("anthropic"),
        "gen_ai.request.model": text("claude-x"),
        "holdfast.run.id": text("run-1"),
        "holdfast.run.status": text("completed"),
        "holdfast.run.executions": {"intValue": "2"},
        "holdfast.tenant": text("acme"),
        "holdfast.actor": text("ann"),
        "holdfast.instructions_hash": text("i"),
        "holdfast.tools_hash": text("t"),
        "holdfast.settings_hash": text("s"),
        "holdfast.open": {"boolValue": False},
    }
    whole = told(a_span("agent", run, parent=None), content=True)
    assert {name: whole[name] for name in whole.keys() - found.keys()} == {
        "holdfast.input": text("the goal"),
        "holdfast.answer": text("the answer"),
    }


def test_the_run_of_a_part_is_named_by_itself() -> None:
    """Below another run it isn't that one's id; who names no model has none."""
    # TR-09
    part = told(a_span("agent", {"agent_name": "helper", "run_id": "run-1.1", "model": None}))

    assert part["holdfast.run.id"] == text("run-1.1")
    assert "gen_ai.request.model" not in part
    assert "gen_ai.provider.name" not in part


def test_a_call_of_a_tool_says_what_was_decided_last() -> None:
    """Arguments and result are content; decision and digest are none."""
    # TR-04 HT-08
    call: JsonObject = {
        "function_name": "send",
        "call_id": "c1",
        "arguments": {"text": "hello"},
        "arguments_digest": "d",
        "result": {"status": "ok", "summary": "sent"},
        "attempts": 2,
        "sandboxed": False,
        "purpose": "call",
        "decisions": [
            {"decision": "approval_required", "rule": "risk:send", "policy": None, "risk": "x"},
            {"decision": "allow", "rule": "approved:req-1", "policy": "p", "risk": "x"},
        ],
    }
    found = told(a_span("function", call))

    assert found == {
        "gen_ai.operation.name": text("execute_tool"),
        "gen_ai.tool.name": text("send"),
        "gen_ai.tool.call.id": text("c1"),
        "gen_ai.tool.type": text("function"),
        "holdfast.arguments_digest": text("d"),
        "holdfast.attempts": {"intValue": "2"},
        "holdfast.sandboxed": {"boolValue": False},
        "holdfast.purpose": text("call"),
        "holdfast.permission.decision": text("allow"),
        "holdfast.permission.rule": text("approved:req-1"),
        "holdfast.permission.policy": text("p"),
        "holdfast.permission.risk": text("x"),
        "holdfast.open": {"boolValue": False},
    }
    whole = told(a_span("function", call), content=True)
    assert {name: whole[name] for name in whole.keys() - found.keys()} == {
        "gen_ai.tool.call.arguments": text('{"text":"hello"}'),
        "gen_ai.tool.call.result": text('{"status":"ok","summary":"sent"}'),
    }


@pytest.mark.parametrize(
    ("span", "named_as", "content"),
    [
        pytest.param(
            a_span(
                "guardrail",
                {
                    "guardrail_name": "rude",
                    "triggered": True,
                    "blocking": False,
                    "layer": "output",
                    "looked": True,
                    "gen_ai.guardrail.verdict.type": "warn",
                    "gen_ai.guardrail.verdict.reason": "it quotes",
                },
            ),
            {
                "holdfast.guardrail.triggered": {"boolValue": True},
                "holdfast.guardrail.blocking": {"boolValue": False},
                "holdfast.guardrail.layer": text("output"),
                "holdfast.guardrail.looked": {"boolValue": True},
                "gen_ai.guardrail.verdict.type": text("warn"),
            },
            {},
            id="guardrail",
        ),
        pytest.param(
            a_span(
                "approval",
                {
                    "request_id": "req-1",
                    "kind": "approval",
                    "outcome": "approved",
                    "approvers": ["ann", "bob"],
                    "reason": "it is large",
                },
            ),
            {
                "holdfast.approval.request_id": text("req-1"),
                "holdfast.approval.kind": text("approval"),
                "holdfast.approval.outcome": text("approved"),
                "holdfast.approval.approvers": {
                    "arrayValue": {"values": [text("ann"), text("bob")]}
                },
            },
            {"holdfast.approval.reason": text("it is large")},
            id="approval",
        ),
        pytest.param(
            a_span(
                "handoff",
                {
                    "handoff_id": "h",
                    "from_agent": "a",
                    "to_agent": "b",
                    "context_passed": ["goal"],
                    "return_expected": True,
                    "timeout_seconds": 1.5,
                    "goal": "charge it",
                },
            ),
            {
                "holdfast.handoff.id": text("h"),
                "holdfast.handoff.from_agent": text("a"),
                "holdfast.handoff.to_agent": text("b"),
                "holdfast.handoff.context_passed": {"arrayValue": {"values": [text("goal")]}},
                "holdfast.handoff.return_expected": {"boolValue": True},
                "holdfast.handoff.timeout_seconds": {"doubleValue": 1.5},
            },
            {"holdfast.handoff.goal": text("charge it")},
            id="handoff",
        ),
        pytest.param(
            a_span("custom", {"data": {"rows": 3}, "error": None}),
            {},
            {"holdfast.data": text('{"rows":3}')},
            id="custom",
        ),
        pytest.param(
            a_span("activity", {"purpose": "notice", "about": "dear ann"}),
            {"holdfast.purpose": text("notice")},
            {},
            id="activity",
        ),
    ],
)
def test_other_work_has_names_of_ours(
    span: Span, named_as: dict[str, JsonValue], content: dict[str, JsonValue]
) -> None:
    """What the conventions have no name for; what anybody said stands in it on request alone."""
    # TR-05 TR-06 TR-07
    shown = {"holdfast.open": {"boolValue": False}}

    assert told(span) == named_as | shown
    assert told(span, content=True) == named_as | shown | content
