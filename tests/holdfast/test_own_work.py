"""What a run does for itself is in its trace: guardrails, undoing, notices, projects, children."""

import json

import pytest
from pydantic import BaseModel

from contracts.base import JsonObject, digest
from contracts.guardrails import (
    GuardrailResult,
    GuardrailSpec,
    GuardrailVerdict,
    GuardrailVerdicts,
    RunGuardrails,
    Subject,
)
from contracts.notices import Notice
from contracts.project import ProjectContext, ProjectFile, WorkspaceSnapshot
from contracts.run import RunInput, RunResult, Stop
from contracts.tools import Grant
from contracts.usage import UsageMetrics
from holdfast import GuardrailContext, call, guardrail, say
from holdfast.trace.progress import Progress
from holdfast.trace.reader import TraceReader, read_trace
from holdfast.trace.spans import span_tree
from holdfast.trace.transcript import lines
from holdfast.trace.tree import Span
from holdfast.trace.values import Trace
from tests.builders import (
    LATER,
    NOW,
    a_call,
    a_failure,
    a_success,
    allowed,
    an_agent,
    an_approval,
    an_invocation,
    unknown,
    yes,
)
from tests.holdfast.traces import finished, printed
from tests.holdfast.written import Written, payload, payloads, read
from tests.running import Runs
from tests.sample import scripted

GOAL = Subject(kind="goal", text="pay everybody")
PASSED = GuardrailResult()
TRIPPED = GuardrailResult(tripwire_triggered=True, reason="an address is in it")
SKIPPED = GuardrailResult(applicable=False, reason="there is no code")
SPECS = (
    GuardrailSpec(name="pii_detection", layer="input", on_trip="block", local=True),
    GuardrailSpec(name="scope", layer="input", on_trip="ask", local=True),
    GuardrailSpec(name="secrets", layer="output", on_trip="retry"),
    GuardrailSpec(name="tests_pass", layer="post_action", on_trip="retry", command=("pytest",)),
    GuardrailSpec.model_validate(
        {
            "name": "house_style",
            "layer": "post_action",
            "on_trip": "retry",
            "review": {"count": 2, "groups": ["leads"], "expires_after": 7200},
        }
    ),
)


def verdict(name: str, found: GuardrailResult, subject: Subject = GOAL) -> GuardrailVerdict:
    return GuardrailVerdict(
        **found.model_dump(), guardrail=name, subject=digest(subject.model_dump(mode="json"))
    )


def a_result(**changes: object) -> RunResult:
    fields: dict[str, object] = {
        "status": "completed",
        "answer": "done",
        "stop": None,
        "steps": 1,
        "usage": UsageMetrics(),
        "provider_state": None,
        "confidence": None,
        "model": "scripted:it",
    }
    return RunResult.model_validate({**fields, **changes})


class Worked(Written):
    """An execution of a run that does something for itself."""

    def __init__(self) -> None:
        super().__init__()
        self.opened(an_agent(guardrails=SPECS))

    def ran(self, name: str, given: BaseModel, result: BaseModel | None) -> None:
        """Have an activity run for 12 milliseconds, and end well."""
        number = self._scheduled(name, given)
        self.passes(milliseconds=12)
        self._completed(number, result)

    def broke(self, name: str, given: BaseModel, message: str, *, cancelled: bool = False) -> None:
        """Have an activity fail."""
        number = self._scheduled(name, given)
        self.passes(milliseconds=12)
        if cancelled:
            self._add("ACTIVITY_TASK_CANCELED", scheduledEventId=str(number))
            return
        info: JsonObject = {"applicationFailureInfo": {"type": "Broken"}}
        failure: JsonObject = {"message": message, **info}
        self._add("ACTIVITY_TASK_FAILED", scheduledEventId=str(number), failure=failure)

    def looked_here(self, name: str, *verdicts: GuardrailVerdict, layer: str = "input") -> None:
        """Have quick guardrails look, inside the workflow task."""
        found = GuardrailVerdicts(verdicts=verdicts)
        self._marker(f"guardrail:{name}", found, summary=f"{layer}: {name}")

    def looked(self, *verdicts: GuardrailVerdict) -> None:
        """Have a guardrail look at the answer, in an activity of its own."""
        name = verdicts[0].guardrail
        self.ran(f"guardrail:{name}", looking(name), GuardrailVerdicts(verdicts=verdicts))

    def begot(self, agent: str, goal: str, part: str) -> int:
        """Have a child run begin."""
        child: JsonObject = {"workflowId": f"run-1.{part}", "runId": "r"}
        number = self._add(
            "START_CHILD_WORKFLOW_EXECUTION_INITIATED",
            workflowId=f"run-1.{part}",
            workflowType={"name": "AgentRun"},
            input=payloads(RunInput(agent=agent, input=goal)),
        )
        self._add(
            "CHILD_WORKFLOW_EXECUTION_STARTED",
            initiatedEventId=str(number),
            workflowExecution=child,
        )
        return number

    def child(self, end: str, number: int, **attributes: JsonObject | str) -> None:
        """Have a child run end."""
        self.passes(seconds=3)
        self._add(end, summary="", initiatedEventId=str(number), **attributes)

    def garbled(self, name: str) -> None:
        """Have an activity run of which nothing can be read but that it did."""
        self._completed(self._scheduled(name, "?"), "?")


def looking(name: str) -> RunGuardrails:
    return RunGuardrails(
        run_id="run-1",
        agent="it",
        tenant="acme",
        actor="alice",
        layer="output",
        names=(name,),
        subjects=(Subject(kind="answer", text="done"),),
    )


def shown(trace: Trace) -> list[str]:
    """The transcript without its heading."""
    return [str(line) for line in lines(trace)][2:]


def watched(*executions: Written) -> list[str]:
    """What somebody reads who watches the run event by event."""
    reader, progress = TraceReader(), Progress()
    found: list[str] = []
    for execution in executions:
        for event in execution.history.events:
            reader.read(event)
            found += map(str, progress.fresh(reader.trace()))
    return found[2:]


def spans(trace: Trace, kind: str) -> list[Span]:
    return [span for span in span_tree(trace).spans if span.type == kind]


def test_each_guardrail_has_a_line() -> None:
    """Passed, tripped and not applicable are three things, and each says why."""
    # LP-12 GR-04 GR-16
    written = Worked()
    written.looked_here(
        "pii_detection+scope", verdict("pii_detection", TRIPPED), verdict("scope", PASSED)
    )
    written.recorded("tripwire", "pii_detection: an address is in it (subject 0123)")
    written.looked(verdict("secrets", SKIPPED))

    assert shown(read(written)) == [
        "guard   guardrail pii_detection: tripped: an address is in it (0 ms)",
        "guard   guardrail scope: passed (0 ms)",
        "guard   guardrail secrets: not applicable: there is no code (12 ms)",
    ]
    assert watched(written) == shown(read(written))


def test_a_guardrail_that_looked_at_several_things_has_one_line() -> None:
    """What tripped is told, each time; that the rest passed goes without saying."""
    words = Subject(kind="words", text="his address is")
    written = Worked()
    written.looked_here(
        "pii_detection", verdict("pii_detection", PASSED), verdict("pii_detection", TRIPPED, words)
    )
    written.looked_here("scope", verdict("scope", SKIPPED), verdict("scope", PASSED, words))

    assert shown(read(written)) == [
        "guard   guardrail pii_detection: tripped: an address is in it (0 ms)",
        "guard   guardrail scope: passed: there is no code (0 ms)",
    ]


def test_a_guardrail_that_cant_decide_says_why() -> None:
    """It has tripped, and its span says so; a cancelled one has looked at nothing."""
    written = Worked()
    written.broke("guardrail:secrets", looking("secrets"), "no such file")
    written.broke("guardrail:secrets", looking("secrets"), "", cancelled=True)
    trace = read(written)

    assert shown(trace) == [
        "guard   guardrail secrets: tripped undecided: no such file (12 ms)",
        "guard   guardrail secrets: cancelled (12 ms)",
    ]
    broken, cancelled = spans(trace, "guardrail")
    assert broken.attributes["gen_ai.guardrail.verdict.type"] == "deny"
    assert broken.attributes["error"] == "no such file"
    assert cancelled.attributes["gen_ai.guardrail.verdict.type"] is None


@pytest.mark.parametrize(
    ("name", "found", "said", "action"),
    [
        ("pii_detection", PASSED, "allow", "allow"),
        ("pii_detection", TRIPPED, "deny", "block"),
        ("scope", TRIPPED, "escalate", "escalate"),
        ("scope", SKIPPED, None, None),
    ],
)
def test_a_guardrail_has_a_span(
    name: str, found: GuardrailResult, said: str | None, action: str | None
) -> None:
    """It is named as OpenTelemetry names guardrails; nothing that doesn't apply has passed."""
    # GR-11
    written = Worked()
    written.looked_here(name, verdict(name, found))
    trace = read(written)
    [span] = spans(trace, "guardrail")
    attributes = span.attributes

    assert span.name == f"run_guardrail {name}"
    assert span.parent_id == span_tree(trace).spans[0].span_id
    assert attributes["gen_ai.operation.name"] == "run_guardrail"
    assert attributes["gen_ai.guardrail.component.name"] == name
    assert attributes["gen_ai.guardrail.target.type"] == "input"
    assert attributes["gen_ai.guardrail.target.id"] == digest(GOAL.model_dump(mode="json"))
    assert attributes["gen_ai.guardrail.verdict.type"] == said
    assert attributes["gen_ai.guardrail.action.type"] == action
    assert attributes["gen_ai.guardrail.verdict.reason"] == (found.reason or None)
    assert attributes["applicable"] is found.applicable
    json.dumps(span.model_dump(mode="json"))


def test_several_guardrails_of_one_activity_have_a_span_each() -> None:
    """They shared an activity to save history; what each found is its own."""
    written = Worked()
    written.looked_here(
        "pii_detection+scope", verdict("pii_detection", TRIPPED), verdict("scope", PASSED)
    )
    found = spans(read(written), "guardrail")

    assert [span.name for span in found] == ["run_guardrail pii_detection", "run_guardrail scope"]
    assert len({span.span_id for span in found}) == 2
    assert [span.attributes["gen_ai.guardrail.verdict.type"] for span in found] == [
        "deny",
        "allow",
    ]


def test_the_output_is_another_target() -> None:
    """The layers that look at what comes out say so."""
    written = Worked()
    written.looked(verdict("secrets", TRIPPED))
    [span] = spans(read(written), "guardrail")

    assert span.attributes["gen_ai.guardrail.target.type"] == "output"
    assert span.attributes["layer"] == "output"


def test_loop_guardrails_and_registry_are_in_one_trace() -> None:
    """A turn of the model, what a guardrail found, and a call that the registry didn't know."""
    # LP-12
    call = a_call("nope")
    written = Worked()
    written.looked_here("scope", verdict("scope", PASSED))
    written.asked(call)
    written.ruled(unknown(call))
    told = shown(read(written))

    assert told[0].startswith("guard   guardrail scope: passed")
    assert told[1].startswith("turn 1")
    assert any("unknown_tool" in line for line in told[2:])


def test_a_command_of_a_guardrail_is_no_call_of_the_model() -> None:
    """It was decided and run like a call, but nobody asked for it, and no turn has it."""
    # GR-26
    call = a_call("run_command", "c1", command=["ls"])
    command = a_call("run_command", "tests_pass-1", command=["pytest"])
    written = Worked()
    written.asked(call)
    written.ruled(allowed(command))
    ended: JsonObject = {"exit_code": 1, "stdout": "", "stderr": "1 failed"}
    written.runs(
        "run_command",
        a_success(command, ended),
        call_id="tests_pass-1",
        arguments=command.arguments,
        grant=Grant(),
    )
    written.recorded("tripwire", "tests_pass: 'pytest' ended with 1: 1 failed (subject 0123)")
    trace = read(written)

    assert shown(trace)[-2:] == [
        'guard   guardrail tests_pass: run_command(command=["pytest"]): exit code 1 (12 ms)',
        "fault   tripwire: tests_pass: 'pytest' ended with 1: 1 failed (subject 0123)",
    ]
    assert [call.call.call_id for call in trace.calls] == ["c1"]
    [span] = spans(trace, "guardrail")
    assert span.name == "run_guardrail tests_pass"
    assert span.attributes["gen_ai.guardrail.verdict.type"] == "deny"
    assert span.attributes["sandboxed"] is True


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
    assert (trace.tool_calls, len(trace.calls)) == (1, 1)
    undone = [span for span in spans(trace, "function") if span.name == "execute_tool unwrite"]
    assert [
        (span.attributes["purpose"], span.attributes["call_id"], span.attributes["success"])
        for span in undone
    ] == [("undo", "c1", True), ("undo", "c1", False)]


def test_who_was_told_of_what() -> None:
    """A notice has a line, and so has one that nobody got."""
    notice = Notice(
        run_id="run-1",
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
        "project open_project: 1 file read, workspace abababababababab (12 ms)",
        "project snapshot_workspace: 3 files, 1 byte, workspace abababababababab (12 ms)",
        "project restore_workspace: no such snapshot (12 ms)",
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
    assert watched(written) == shown(trace)
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


def reviewing(subject: str, reason: str = "Sensitive domain requires human review") -> Worked:
    """A run that waits for a review."""
    written = Worked()
    written.waits(f"req-1 · review of {subject}: {reason}", hours=1)
    return written


def test_a_review_is_shown_with_what_is_reviewed() -> None:
    """It is no escalation; who approved it is told, and its span has the reason to the letter."""
    # ES-08 ES-14 GR-27
    written = reviewing("domain:payments")
    open_ = read(written)
    written.passes(seconds=2)
    written.said("approval", an_approval(reason="fine").model_dump(mode="json", exclude_none=True))
    written.judged(yes())
    trace = read(written)

    assert (open_.status, [asked.kind for asked in open_.waiting]) == ("waiting", ["review"])
    assert shown(trace) == [
        "wait    review: domain:payments: Sensitive domain requires human review (req-1)",
        "wait    approved by alice after 2.0 s: fine",
    ]
    [span] = spans(trace, "approval")
    assert span.name == "await review"
    assert span.attributes["subject"] == "domain:payments"
    assert span.attributes["reason"] == "Sensitive domain requires human review"
    assert span.attributes["approvers"] == ["alice"]


def test_a_review_of_a_guardrail_takes_what_the_guardrail_says() -> None:
    """Two leads must approve: the first approval leaves it open."""
    # GR-27
    written = reviewing("guardrail:house_style:0123456789abcdef", "look at it")
    written.said("approval", an_approval().model_dump(mode="json", exclude_none=True))
    written.judged(yes(groups=("leads",)))
    first = read(written)
    written.said("approval", an_approval(approver="bob").model_dump(exclude_none=True))
    written.judged(yes(approver="bob", groups=("leads",)))
    trace = read(written)

    assert [len(asked.approvals) for asked in first.waiting] == [1]
    assert trace.requests["req-1"].outcome == "approved"
    assert trace.requests["req-1"].expires_at == NOW + (LATER - NOW) * 2
    assert shown(trace)[1:] == [
        "wait    approved by alice (1 of 2) after 0 ms",
        "wait    approved by bob (2 of 2) after 0 ms",
    ]


def test_a_review_that_was_answered_at_once_is_a_review() -> None:
    """Where the run never came to wait, the message alone proves what it was about."""
    written = Worked()
    written.said("approval", an_approval(decision="reject").model_dump(exclude_none=True))
    written.judged(yes())

    assert read(written).requests["req-1"].kind == "review"
    assert shown(read(written))[1] == "wait    rejected by alice after 0 ms"


def test_no_words_open_a_request() -> None:
    """What a tool or a model says in a line about waiting is read as words, not as a request."""
    written = Worked()
    written.waits(
        "req-1 · escalated: it said req-7 · escalated: x, req-8 · review of y: z", hours=1
    )

    assert list(read(written).requests) == ["req-1"]


@guardrail(layer="input", local=True)
async def polite(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look whether the goal is polite."""
    return GuardrailResult(applicable="please" in subject.text)


@guardrail(layer="output", on_trip="block")
async def no_numbers(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look whether the answer has numbers in it."""
    found = any(map(str.isdigit, subject.text))
    return GuardrailResult(tripwire_triggered=found, reason="it has a number" if found else "")


async def test_a_real_run_leaves_all_of_it_in_its_trace(runs: Runs) -> None:
    """The loop, the guardrails and the registry write into one history, which reads as one."""
    # LP-12 GR-05 GR-11
    script = [call("nosuch"), say("It is 7.")]
    async with runs.working(scripted(script, guardrails=[polite, no_numbers])):
        run = await runs.start("it")
        trace = read_trace(await finished(run))

    told = printed(trace)
    assert told[1] == "guard   guardrail polite: not applicable (? ms)"
    assert any("nosuch" in line and "unknown_tool" in line for line in told)
    assert "guard   guardrail no_numbers: tripped: it has a number (? ms)" in told
    assert not any("tripwire" in line for line in told)
    assert told[-2].startswith("blocked")
    assert [
        (span.name, span.attributes["layer"], span.attributes["gen_ai.guardrail.verdict.type"])
        for span in spans(trace, "guardrail")
    ] == [("run_guardrail polite", "input", None), ("run_guardrail no_numbers", "output", "deny")]
