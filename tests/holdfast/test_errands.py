"""What a run does beside its turns, as the trace tells it: undoing, telling, projects."""

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.guardrails import WITHHELD
from holdfast.contracts.journal import Notice
from holdfast.contracts.project import ProjectContext, ProjectFile, WorkspaceSnapshot
from holdfast.contracts.stops import Stop
from holdfast.trace.spans.tree import span_tree
from tests.builders import (
    FIRST,
    LATER,
    NOW,
    a_call,
    a_failure,
    a_success,
    allowed,
    an_invocation,
)
from tests.holdfast.own_work import Worked, a_result, shown, spans, watched
from tests.holdfast.written import payload, payloads, read


def test_what_was_undone_is_shown_as_that() -> None:
    """An undo belongs to a call of an earlier turn, and is no call itself."""
    # GR-13
    call = a_call("write", text="hi")
    written = Worked()
    written.asked(call)
    written.ruled(allowed(call))
    written.runs("write", a_success(call), arguments=call.arguments)
    written.asked()
    given = {"call_id": "c1", "arguments": call.arguments, "purpose": "undo", "done": "a lamp"}
    written.runs("unwrite", a_success(a_call("unwrite"), "gone"), **given)
    written.recorded("undone", 'write(text="hi")')
    written.runs("unwrite", a_failure(a_call("unwrite"), "it is locked"), **given)
    written.recorded("not undone", 'write(text="hi") (unwrite: it is locked)')
    written.recorded("not undone", 'send(text="hi") (nothing undoes it)')
    trace = read(written)

    assert shown(trace)[-4:] == [
        'undo    undone: unwrite(text="hi"): gone (12 ms)',
        'undo    not undone: unwrite(text="hi"): it is locked (12 ms)',
        'fault   not undone: write(text="hi") (unwrite: it is locked)',
        'fault   not undone: send(text="hi") (nothing undoes it)',
    ]
    assert (trace.ledger.tool_calls, len(trace.calls)) == (1, 1)
    undone = [span for span in spans(trace, "function") if span.name == "execute_tool unwrite"]
    assert [
        (span.attributes["purpose"], span.attributes["call_id"], span.attributes["success"])
        for span in undone
    ] == [("undo", "c1", True), ("undo", "c1", False)]


def test_who_was_told_of_what() -> None:
    """A notice has a line, and so has one that nobody got."""
    notice = Notice(
        run_id="run-1",
        first_execution_run_id=FIRST,
        agent="it",
        tenant="acme",
        request_id="req-1",
        kind="escalation",
        reason="All model fallbacks exhausted",
        requested_at=NOW,
        expires_at=LATER,
    )
    written = Worked()
    written.ran("notify", notice, None)
    written.broke("notify", notice, "the webhook answers with 410")
    written.recorded("nobody was told", "req-1 · escalated: All model fallbacks exhausted")
    trace = read(written)

    assert shown(trace) == [
        "note    somebody was told of req-1 (escalation)",
        "note    nobody was told of req-1 (escalation): the webhook answers with 410",
    ]
    assert [span.name for span in spans(trace, "activity")] == ["notify", "notify"]


def test_what_happened_to_the_project() -> None:
    """Opening, keeping and putting back say how much they were about, and which state it is."""
    # BT-05
    kept = WorkspaceSnapshot(digest="ab" * 32, files=3, bytes=1)
    read_file = ProjectFile(path="AGENTS.md", source="agents", digest="cd" * 32, characters=9)
    written = Worked()
    written.ran(
        "open_project",
        an_invocation(),
        ProjectContext(files=(read_file,), workspace="ab" * 32),
    )
    written.ran("snapshot_workspace", an_invocation(), kept)
    written.broke("restore_workspace", an_invocation(), "no such snapshot")

    assert shown(read(written)) == [
        "project opened: 1 file read, workspace abababababababab (12 ms)",
        "project snapshot: 3 files, 1 byte, workspace abababababababab (12 ms)",
        "project not rolled back: no such snapshot (12 ms)",
    ]


def test_child_runs_are_shown_with_what_they_came_to() -> None:
    """A part of a run that another agent does is named when it begins, and when it ends."""
    # FB-09 FB-10
    stop = Stop(reason="max_steps (3) reached", detail="3 model calls", next_safe_action="-")
    written = Worked()
    first = written.begot("full", "mend it", "tier-1")
    stopped = payloads(a_result(status="stopped", answer=None, stop=stop))
    written.child("CHILD_WORKFLOW_EXECUTION_COMPLETED", first, result=stopped)
    second = written.begot("simplified", "mend it", "tier-2")
    done = payloads(a_result(answer="mended"))
    written.child("CHILD_WORKFLOW_EXECUTION_COMPLETED", second, result=done)
    trace = read(written)

    assert shown(trace) == [
        "child   full (run-1.tier-1): mend it",
        "child   run-1.tier-1: stopped: max_steps (3) reached",
        "child   simplified (run-1.tier-2): mend it",
        "child   run-1.tier-2: completed: mended",
    ]
    # The agent's guardrails haven't looked at it yet.
    assert watched(written) == [
        f"child   full (run-1.tier-1): {WITHHELD}",
        "child   run-1.tier-1: stopped: max_steps (3) reached",
        f"child   simplified (run-1.tier-2): {WITHHELD}",
        f"child   run-1.tier-2: {WITHHELD}",
    ]
    children = [span for span in spans(trace, "agent") if span.attributes.get("run_id")]
    assert [(span.name, span.attributes["success"]) for span in children] == [
        ("invoke_agent full", False),
        ("invoke_agent simplified", True),
    ]


@pytest.mark.parametrize(
    ("end", "attributes", "said"),
    [
        ("CHILD_WORKFLOW_EXECUTION_FAILED", {"failure": {"message": "broke"}}, "failed: broke"),
        ("CHILD_WORKFLOW_EXECUTION_CANCELED", {}, "cancelled"),
        ("CHILD_WORKFLOW_EXECUTION_TIMED_OUT", {}, "timed out"),
        ("CHILD_WORKFLOW_EXECUTION_TERMINATED", {}, "terminated"),
        (
            "START_CHILD_WORKFLOW_EXECUTION_FAILED",
            {"cause": "START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS"},
            "it was not started: workflow already exists",
        ),
        ("CHILD_WORKFLOW_EXECUTION_COMPLETED", {"result": {"payloads": []}}, "completed"),
    ],
)
def test_a_child_run_ends_in_any_way(
    end: str, attributes: dict[str, JsonObject | str], said: str
) -> None:
    """Whatever becomes of a child is read, and said in words."""
    written = Worked()
    written.child(end, written.begot("judge", "look", "judge-1"), **attributes)

    assert shown(read(written))[1] == f"child   run-1.judge-1: {said}"


def test_what_cant_be_read_breaks_nothing() -> None:
    """Payloads of a later release, or encrypted ones, leave a trace without them."""
    nonsense: JsonObject = {"payloads": [payload("?")]}
    written = Worked()
    for name in ("guardrail:secrets", "notify", "open_project", "restore_workspace"):
        written.garbled(name)
    written.child("CHILD_WORKFLOW_EXECUTION_COMPLETED", 999, result=nonsense)
    trace = read(written)

    assert len(shown(trace)) == 4
    assert span_tree(trace).spans
