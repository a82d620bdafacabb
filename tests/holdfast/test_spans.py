"""The tree of spans that a trace is exported as."""

from datetime import UTC, datetime

import pytest
from temporalio.client import WorkflowHistory

from contracts.usage import CallUsage
from holdfast import Budget, call, calls, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.spans import Span, SpanTree, span_tree
from tests.histories import activities
from tests.running import Runs
from tests.sample import scripted


@pytest.fixture
async def history(runs: Runs) -> WorkflowHistory:
    """A run with every kind of span: calls that fail, are denied, approved; an escalation."""
    usage = CallUsage(input_tokens=100, cached_tokens=10, output_tokens=7)
    sending = call("send", log="/dev/null", text="hello")
    first = calls(call("find", name="x"), call("delete", record="y"), sending)
    second = calls(call("find", name="a"), call("find", name="b"))
    app = scripted(
        [using(first, usage), using(second, usage), say("done")],
        escalates=True,
        budget=Budget(max_steps=9, max_consecutive_failures=2),
    )
    async with runs.working(app):
        run = await runs.start("it", session_id="monday")
        approval = await run.asked_for_approval()
        await run.approve("req-9", "mallory")
        await run.approve(approval.request_id, "alice", reason="fine")
        while (escalation := (await run.asked())[0]).kind != "escalation":
            pass
        await run.signal("resolution", {"request_id": escalation.request_id, "action": "resume"})
        await run.result()
        return await run.handle.fetch_history()


@pytest.fixture
def tree(history: WorkflowHistory) -> SpanTree:
    return span_tree(read_trace([history]))


def of_type(tree: SpanTree, name: str) -> list[Span]:
    """The spans of one type."""
    return [span for span in tree.spans if span.type == name]


def moments(span: Span) -> tuple[datetime, datetime]:
    """When a span began and ended."""
    assert span.ended_at is not None
    return datetime.fromisoformat(span.started_at), datetime.fromisoformat(span.ended_at)


async def test_spans_form_one_tree(tree: SpanTree) -> None:
    """There is one root, every parent exists, and each parent names exactly its children."""
    # TR-09 TR-11
    known = {span.span_id: span for span in tree.spans}

    assert len(known) == len(tree.spans)
    assert [span.type for span in tree.spans if span.parent_id is None] == ["agent"]
    for span in tree.spans:
        below = [other.span_id for other in tree.spans if other.parent_id == span.span_id]
        assert list(span.children) == below
        assert span.parent_id is None or span.parent_id in known


async def test_times_of_spans_nest(tree: SpanTree) -> None:
    """Times are ISO 8601 in UTC; a span ends after it began, and within its parent."""
    # TR-10
    known = {span.span_id: span for span in tree.spans}

    for span in tree.spans:
        began, ended = moments(span)
        assert (began.tzinfo, span.started_at[-1]) == (UTC, "Z")
        assert began <= ended
        if span.parent_id is not None:
            above = moments(known[span.parent_id])
            assert above[0] <= began
            assert ended <= above[1]


async def test_each_operation_is_one_span(history: WorkflowHistory, tree: SpanTree) -> None:
    """There is one span for each model call, tool call and wait, however often it is read."""
    # TR-01
    models = [one for one in activities(history) if one.name == "call_model"]

    assert len(of_type(tree, "generation")) == len(models) == 3
    assert len(of_type(tree, "function")) == 5
    assert len(of_type(tree, "approval")) == 2
    assert span_tree(read_trace([history])) == tree


async def test_spans_say_what_happened(tree: SpanTree) -> None:
    """Each type of span has the fields that its readers look for."""
    # TR-02 TR-03 TR-04 TR-08
    root = tree.spans[0]
    first, *_ = of_type(tree, "generation")
    failed, denied, sent, *_ = of_type(tree, "function")
    approval, escalation = of_type(tree, "approval")

    assert (tree.workflow_name, tree.group_id) == ("AgentRun", "monday")
    assert (root.name, root.attributes["agent_name"]) == ("invoke_agent it", "it")
    assert root.attributes["model"] == "scripted:it"
    assert len(str(root.attributes["instructions_hash"])) == 64
    assert [first.attributes[name] for name in ("model", "tokens_in", "tokens_out")] == [
        *("scripted:it", 100, 7)
    ]
    assert first.attributes["latency_ms"] is not None
    assert [span.attributes["success"] for span in (failed, denied, sent)] == [False, False, True]
    assert sent.attributes["arguments"] == {"log": "/dev/null", "text": "hello"}
    assert [span.attributes["result"] is None for span in (failed, denied, sent)] == [False] * 3
    assert approval.parent_id == sent.span_id
    assert [approval.attributes[name] for name in ("outcome", "approver", "approver_reason")] == [
        *("approved", "alice", "fine")
    ]
    assert (escalation.parent_id, escalation.attributes["decision"]) == (root.span_id, "resume")


async def test_refused_messages_are_events(tree: SpanTree) -> None:
    """A message that changed nothing is an event of the run, with its sender and the reason."""
    refused = [event for event in tree.spans[0].events if event.attributes.get("refusal")]

    assert [(event.name, event.attributes["sender"]) for event in refused] == [
        ("approval", "mallory")
    ]
