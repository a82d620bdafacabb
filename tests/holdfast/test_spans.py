"""The tree of spans that a trace is exported as."""

from datetime import UTC, datetime

from contracts.approvals import Request
from contracts.usage import UsageMetrics
from holdfast import Budget, call, calls, say, using
from holdfast.trace.reader import read_trace
from holdfast.trace.spans import Span, SpanTree, span_tree
from tests.histories import activities
from tests.running import Run, Runs
from tests.sample import scripted


async def supervised(runs: Runs, *, escalates: bool = False) -> tuple[Run, SpanTree]:
    """A run with each kind of span: failed, denied and approved calls, and an escalation."""
    usage = UsageMetrics(input_tokens=100, cached_tokens=10, output_tokens=7)
    asked = calls(call("find", name="x"), call("delete", record="y"), call("send", log="/dev/null", text="z"))
    app = scripted(
        [using(asked, usage), call("find", name="w"), say("done")],
        escalates=escalates,
        budget=Budget(max_steps=9, max_consecutive_failures=2),
    )
    async with runs.working(app):
        run = await runs.start("it", session_id="monday")
        request = await run.asked_for_approval()
        await run.approve("req-9", "mallory")
        await run.approve(request.request_id, "alice", reason="fine")
        await run.result()
        return run, span_tree(read_trace([await run.handle.fetch_history()]))


def of_type(tree: SpanTree, type_: str) -> list[Span]:
    return [span for span in tree.spans if span.type == type_]


async def test_spans_form_one_tree(runs: Runs) -> None:
    """There is one root, every parent exists, and each parent names exactly its children."""
    # TR-01 TR-09 TR-11
    _, tree = await supervised(runs)
    known = {span.span_id: span for span in tree.spans}

    assert len(known) == len(tree.spans)
    assert [span.type for span in tree.spans if span.parent_id is None] == ["agent"]
    for span in tree.spans:
        below = [other.span_id for other in tree.spans if other.parent_id == span.span_id]
        assert list(span.children) == below
        assert span.parent_id is None or span.parent_id in known


async def test_times_of_spans_nest(runs: Runs) -> None:
    """Times are ISO 8601 in UTC; a span ends after it began, and within its parent."""
    # TR-10
    _, tree = await supervised(runs)
    known = {span.span_id: span for span in tree.spans}

    for span in tree.spans:
        began, ended = moments(span)
        assert began <= ended
        assert span.started_at.endswith("Z")
        if span.parent_id is not None:
            above = moments(known[span.parent_id])
            assert above[0] <= began
            assert ended <= above[1]
