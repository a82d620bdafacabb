"""The tree of spans that a trace is exported as."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from holdfast import Budget
from holdfast.adapters.wire import as_list
from holdfast.contracts.base import JsonObject, digest
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.usage import CallUsage
from holdfast.testing import Reply, call, calls, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import Span, SpanTree
from tests.builders import a_call, a_proof, an_agent, an_approval, to_approve, yes
from tests.histories import activities
from tests.histories.stored import history_file, unpack
from tests.holdfast.written import Written
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
        run = await runs.start("it", session_id="monday", tenant="acme", actor="ann")
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


def test_a_span_has_the_model_that_was_asked() -> None:
    """Where a model fails and the next goes on, each span names its own, with tokens and time."""
    # TR-03
    run, *_ = unpack(history_file("fallback").read_bytes())
    spans = of_type(span_tree(read_trace(run)), "generation")

    assert [(span.attributes["model"], span.attributes["error"]) for span in spans] == [
        ("scripted:first", "the overloaded one"),
        ("scripted:second", None),
    ]
    for name in ("tokens_in", "tokens_out", "latency_ms"):
        assert spans[-1].attributes[name] is not None


async def test_refused_messages_are_events(tree: SpanTree) -> None:
    """A message that changed nothing is an event of the run, with its sender and the reason."""
    refused = [event for event in tree.spans[0].events if event.attributes.get("refusal")]

    assert [(event.name, event.attributes["sender"]) for event in refused] == [
        ("approval", "mallory")
    ]


async def test_every_decision_has_a_record(tree: SpanTree) -> None:
    """What was decided about a call, by which rule, on whose behalf, who approved it, and when."""
    # BY-04
    records = [record for span in of_type(tree, "function") for record in decisions(span)]
    known = ("tool", "arguments_digest", "risk", "scope", "decision", "rule")

    assert [(one["tool"], one["decision"], one["approvers"]) for one in records] == [
        *[("find", "allow", [])] * 2,  # once more after the wait
        ("delete", "deny", []),
        ("send", "approval_required", ["alice"]),
        *[("send", "allow", ["alice"])] * 2,  # once more when the read before it had run
        *[("find", "allow", [])] * 2,
    ]
    for one in records:
        assert [name for name in known if not one[name]] == []
        assert (one["tenant"], one["actor"], one["session_id"]) == ("acme", "ann", "monday")
        assert datetime.fromisoformat(str(one["timestamp"])).tzinfo == UTC


async def test_the_audit_of_each_call_is_whole(history: WorkflowHistory, tree: SpanTree) -> None:
    """Which tool, the digest of its very arguments, what was decided, who approved, and when."""
    # HT-08
    approved = next(
        event.event_time.ToDatetime(UTC)
        for event in reversed(history.events)
        if event.workflow_execution_signaled_event_attributes.signal_name == "approval"
    )
    calls_of_run = read_trace([history]).calls
    spans = of_type(tree, "function")

    assert len(spans) == len(calls_of_run) == 5
    for span, made in zip(spans, calls_of_run, strict=True):
        assert isinstance(made.call, ToolCall)
        of_arguments = digest(made.call.arguments)
        assert span.attributes["function_name"] == made.call.name
        assert span.attributes["arguments_digest"] == of_arguments
        assert {str(one["arguments_digest"]) for one in decisions(span)} == {of_arguments}
        began, _ = moments(span)
        at = [datetime.fromisoformat(str(one["timestamp"])) for one in decisions(span)]
        assert at == sorted(at)
        assert at[0] >= began
    (wait, _) = of_type(tree, "approval")
    (given,) = as_list(wait.attributes["approvals"])
    assert isinstance(given, dict)
    assert (given["approved_by"], given["arguments_digest"]) == (
        "alice",
        digest({"log": "/dev/null", "text": "hello"}),
    )
    assert approved <= datetime.fromisoformat(str(given["timestamp"])) <= moments(wait)[1]


@pytest.mark.parametrize(
    ("reply", "attempts", "success", "failed"),
    [
        pytest.param(call("find", name="x"), 1, False, 0, id="refused by the tool"),
        pytest.param(call("add", a="x", b=2), 0, False, 0, id="no arguments for it"),
        pytest.param(call("flaky", log="{log}", failures=2), 3, True, 0, id="passing"),
        pytest.param(call("flaky", log="{log}", failures=9), 4, False, 1, id="never passing"),
    ],
)
async def test_what_failed_for_temporal_is_not_what_failed_for_the_model(
    runs: Runs, tmp_path: Path, reply: Reply, attempts: int, success: bool, failed: int
) -> None:
    """Only what may pass is raised, and tried again; whatever it comes to, the run goes on."""
    # T-09
    ((name, arguments),) = reply.calls
    assert isinstance(arguments, dict)
    given = {k: str(tmp_path / "log") if v == "{log}" else v for k, v in arguments.items()}
    async with runs.working(scripted([call(name, **given), say("on")])):
        run = await runs.start("it")
        result = await run.result()
        history = await run.handle.fetch_history()
    (span,) = of_type(span_tree(read_trace([history])), "function")
    kind = EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED

    assert (result.status, result.answer) == ("completed", "on")
    assert (span.attributes["attempts"], span.attributes["success"]) == (attempts, success)
    assert sum(event.event_type == kind for event in history.events) == failed


async def test_call_that_no_engine_saw_has_a_record_too(runs: Runs) -> None:
    """A tool that doesn't exist has no risk class and no rule; the record says it was refused."""
    # BY-04
    async with runs.working(scripted([call("invent", a=1), say("sorry")])):
        run = await runs.start("it")
        await run.result()
        tree = span_tree(read_trace([await run.handle.fetch_history()]))

    (one,) = decisions(of_type(tree, "function")[0])
    assert (one["decision"], one["risk"], one["rule"]) == ("unknown_tool", None, None)
    assert one["arguments_digest"] == digest({"a": 1})


def test_approvals_keep_what_proves_them() -> None:
    """Who really approved, how they signed in, when that was verified, how long it counts."""
    # RK-19 BY-15
    pay = a_call("pay", amount=900)
    written = Written()
    written.opened(an_agent())
    written.asked(pay)
    written.ruled(to_approve(pay, "strong", count=2, valid_for=60, groups=("finance",)))
    written.passes(seconds=5)
    for name in ("fred", "gina"):
        proof = a_proof(subject=name, token_id=f"t-{name}", methods=("swk",))
        written.said("approval", an_approval(approver="somebody", token="t.o.k").model_dump())
        written.judged(yes(approver=name, proof=proof, groups=("finance",)))
    tree = span_tree(read_trace([written.history]))

    (span,) = of_type(tree, "approval")
    assert isinstance(given := span.attributes["approvals"], list)
    assert span.attributes["approvers"] == ["fred", "gina"]
    assert isinstance(required := span.attributes["required"], dict)
    assert (required["count"], required["strength"]) == (2, "strong")
    assert given[0] == {
        "status": "approved",
        "approved_by": "fred",
        "timestamp": "2026-03-01T12:00:05.000000Z",
        "scope": "single_use",
        "expires_at": "2026-03-01T12:01:05.000000Z",
        "arguments_digest": digest({"amount": 900}),
        "reason": "",
        "groups": ["finance"],
        "sender": "somebody",
        "identity": "client@somewhere",
        "strength": "strong",
        "method": ["swk"],
        "issuer": "https://id.example.com",
        "subject": "fred",
        "authenticated_at": "2026-03-01T12:00:00.000000Z",
        "verified_at": "2026-03-01T12:00:00.000000Z",
        "token_id": "t-fred",
    }


async def test_drafts_stand_below_their_call(runs: Runs, tmp_path: Path) -> None:
    """A draft is a span of its own, within that of the call that commits it."""
    # TR-01 TR-10
    posting = [call("post", log=str(tmp_path / "log"), text="x"), say("done")]
    async with runs.working(scripted(posting)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        await run.result()
        tree = span_tree(read_trace([await run.handle.fetch_history()]))

    commit, draft = of_type(tree, "function")
    assert (draft.parent_id, draft.name) == (commit.span_id, "execute_tool draft_post")
    assert [span.attributes["purpose"] for span in (commit, draft)] == ["call", "draft"]
    assert commit.attributes["draft_id"] == draft.attributes["draft_id"] == request.preview_ref
    assert [one["decision"] for one in decisions(commit)] == [
        *("run_as_draft_only", "approval_required", "allow")
    ]


def decisions(span: Span) -> list[JsonObject]:
    """The decision records of a call."""
    found = span.attributes["decisions"]
    assert isinstance(found, list)
    return [one for one in found if isinstance(one, dict)]
