"""An example of every contract of control, in full."""

from decimal import Decimal

from holdfast.contracts.approvals import Requirement, Review
from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import CustomSpan, RecordedResult
from holdfast.contracts.control import (
    Approach,
    Backtracking,
    Candidate,
    Checkpoint,
    CheckReport,
    Decomposition,
    Delegation,
    Fallback,
    GoalReport,
    HandoffData,
    LimitSummary,
    ModelAttempt,
    ModelFacts,
    ProviderWait,
    ReasoningRoute,
    Route,
    Subtask,
    Tiers,
    Triggers,
)
from holdfast.contracts.delegation.ceilings import Ceiling
from holdfast.contracts.delegation.relayed import (
    ForwardedSignal,
    RequestsSignal,
    VerdictSignal,
)
from holdfast.contracts.effects import Compensation, Effect, KnownEffect, UndoRuling
from holdfast.contracts.guardrails import (
    GuardrailResult,
    GuardrailSpec,
    GuardrailVerdict,
    GuardrailVerdicts,
    RunGuardrails,
    Signals,
    Subject,
)
from holdfast.contracts.journal import HandoffRecord, Notice
from holdfast.contracts.project import (
    OpenProject,
    ProjectContext,
    ProjectFile,
    ProjectSpec,
    RestoreWorkspace,
    SnapshotWorkspace,
    WorkspaceSnapshot,
)
from holdfast.contracts.signals import MessageOutcome
from holdfast.contracts.state.answering import Rejection
from holdfast.contracts.state.late_calls import LateCall, Whole
from holdfast.contracts.state.phase import Closing, Ended, Stopping, Working
from holdfast.contracts.state.unheard import UnheardMessage
from holdfast.contracts.stops import Stop
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import ItemRange, TranscriptView
from holdfast.contracts.usage import CallUsage
from tests.builders import (
    FIRST,
    LATER,
    MODEL,
    NOW,
    a_call,
    a_record,
    a_request,
    a_state,
    a_success,
    an_attempt,
)

DIGEST = "ab" * 32

GOAL = Subject(kind="goal", text="pay everybody")
VERDICT = GuardrailVerdict(
    guardrail="pii_detection",
    subject=DIGEST,
    tripwire_triggered=True,
    reason="an address is in it",
    constraints=("leave addresses out",),
    signals=Signals(coverage=0.9, votes_for=2, votes=3),
)
APPROACH = Approach(
    number=1, approach="rewrite it", failure_reason="two tests fail", partial_progress="3 calls"
)
CHECKED = CheckReport(name="unit_tests", state="failed", found="2 failed")
FILE = ProjectFile(path="AGENTS.md", source="agents", digest=DIGEST, characters=120, cut=True)
PROJECT = ProjectContext(
    files=(FILE,),
    texts=("# Notes",),
    test_commands=("pytest -q",),
    code_style={"1": "short lines"},
    security_notes="no secrets",
    workspace=DIGEST,
)
REVIEW = Review(
    request_id="req-1",
    reason="Sensitive domain requires human review",
    requested_at=NOW,
    expires_at=LATER,
    subject="domain:payments",
    objections=("domain:payments",),
    text="refund order 7",
    arguments_digest=DIGEST,
    requester="agent it for dana",
    challenge=DIGEST,
    groups=("payments",),
)
UNDO = UndoRuling(
    tool="unsend",
    risk=Risk.DESTRUCTIVE,
    verdict="approval_required",
    rule="policy:back",
    reason="it destroys",
    recovery="the backup",
)
EFFECT = Effect(
    summary="send(1)",
    tool="send",
    arguments={"text": "hi"},
    outcome="unknown",
    digest=DIGEST,
    part="1-full",
    reported=True,
    undo=UNDO,
    call=a_call(),
    result=[1],
)
END = Stop(reason="max_steps (3) reached", detail="3 model calls", next_safe_action="split it")
SUMMARY = LimitSummary(text="two of five", model=MODEL, usage=CallUsage(output_tokens=3))
CONTROLLED = (
    a_state()
    .with_(ceiling=Budget(max_steps=3), project=PROJECT)
    .with_answering(
        candidate=Candidate(text="done", output={"a": 1}, cleared=("acceptance", "output")),
        tripped=VERDICT,
    )
    .with_oversight(requests=(REVIEW,))
    .with_effects(
        done=(EFFECT,), compensation=Compensation(undone=("send(1)",), not_undone=("pay(2)",))
    )
    .with_chain(attempts=(an_attempt(),))
    .with_approaches(
        failed=(APPROACH,), checkpoint=Checkpoint(items=1, model_index=0, workspace=DIGEST)
    )
    .with_conversation(hidden=(ItemRange(begin=1, end=4),))
)

EXAMPLES: tuple[Contract, ...] = (
    Rejection(by="dana", words="rejected by dana: too short"),
    UNDO,
    a_record(a_call(), undo=UNDO),
    a_request(undo=UNDO),
    GOAL,
    VERDICT,
    APPROACH,
    FILE,
    PROJECT,
    REVIEW,
    ProviderWait(
        model="scripted:it", kind="overloaded", error="529", since=NOW, until=NOW, tries=2
    ),
    CONTROLLED,
    UnheardMessage.from_bytes("steer", [b'{"text": "stop asking"}']),
    Working(),
    Closing(stop=END, summary=SUMMARY),
    Stopping(stop=END),
    Ended(outcome="stopped", stop=END, summary=SUMMARY, by_person=True, grading="done"),
    CONTROLLED.conversation,
    CONTROLLED.chain,
    CONTROLLED.oversight,
    CONTROLLED.answering,
    CONTROLLED.effects,
    CONTROLLED.approaches,
    CONTROLLED.parts,
    CONTROLLED.guarding,
    Requirement(count=2),
    an_attempt(),
    ModelAttempt(turn=2, model=MODEL, kind="auth", error="no", at=NOW, cost=Decimal("0.1")),
    HandoffRecord(
        handoff_id="first/c1",
        from_agent="triage",
        to_agent="billing",
        timestamp=NOW,
        task_id="run-1",
        goal="charge it",
        context_passed=("goal", "files"),
    ),
    Delegation(tool="delegate_to_researcher", at_once=4, budget_share=0.3),
    Ceiling(without_tools=("send",), budget=Budget(max_steps=3)),
    HandoffData(files={"a.md": "words"}, recent_changes=("later", "earlier")),
    Backtracking(max_backtracks=2, revisions=1),
    CHECKED,
    GoalReport(objective="mend it", done_when=(CHECKED,), progress="done: one; next: two"),
    Candidate(text="done"),
    Checkpoint(items=1, model_index=0),
    Compensation(undone=("a",)),
    Decomposition(planner="a", worker="b"),
    Effect(summary="write(1)", local=True),
    EFFECT,
    Subtask(task="cut", answer=Candidate(text="done")),
    KnownEffect(tool="send", digest=DIGEST, outcome="unknown"),
    RecordedResult(digests=(DIGEST,), result=a_success(a_call())),
    SUMMARY,
    Route(model=MODEL, from_turn=2, after_failures=3, after_tools=("look",)),
    Fallback(reactions={"auth": "ask"}, attempts=3, max_wait=1.5),
    ModelFacts(model=MODEL, context_tokens=200_000, input_price=Decimal(3)),
    ReasoningRoute(task_kind="api_design", decision="on", reason="always"),
    Tiers(full="a", simplified="b", decomposed=Decomposition(planner="c", worker="d")),
    Triggers(expected_time=60.0, sensitive_domains=("payments",)),
    GuardrailResult(applicable=False, reason="there is no code"),
    GuardrailSpec(
        name="tests_pass",
        layer="post_action",
        on_trip="retry",
        command=("pytest", "-q"),
        review=Requirement(),
        holds="path",
    ),
    CustomSpan(name="it", started_at=NOW, ended_at=NOW),
    GuardrailVerdicts(
        verdicts=(VERDICT,),
        spans=(
            CustomSpan(
                name="read it",
                started_at=NOW,
                ended_at=NOW,
                data={"pages": 2},
                error="KeyError",
                guardrail="polite",
            ),
        ),
    ),
    RunGuardrails(
        run_id="run-1",
        agent="it",
        tenant="default",
        actor="dana",
        layer="input",
        names=("pii_detection",),
        subjects=(GOAL,),
        tokens_left=10,
    ),
    Signals(coverage=0.5),
    Notice(
        run_id="run-1",
        first_execution_run_id=FIRST,
        agent="it",
        tenant="default",
        request_id="req-1",
        kind="review",
        reason="why",
        requested_at=NOW,
        expires_at=LATER,
    ),
    OpenProject(run_id="run-1", first_execution_run_id=FIRST, folder="repository", path="a/b.py"),
    ProjectSpec(folder="repository"),
    SnapshotWorkspace(run_id="run-1", first_execution_run_id=FIRST),
    RestoreWorkspace(run_id="run-1", first_execution_run_id=FIRST, digest=DIGEST),
    WorkspaceSnapshot(digest=DIGEST, files=2, bytes=10),
    ItemRange(begin=1, end=2),
    TranscriptView(
        pruned_before=3, hidden=(ItemRange(begin=1, end=2),), summary="so far", summarised_before=2
    ),
    RequestsSignal(run_id="run-1.1-full", requests=(a_request(),)),
    ForwardedSignal(forward_id="f", signal="answer", message={"text": "7"}),
    Whole(run_id="run-1", execution=FIRST),
    LateCall(reason="its run is over", terms=DIGEST, heard=7),
    LateCall(whole=Whole(run_id="run-1", execution=FIRST)),
    VerdictSignal(
        forward_id="f",
        outcome=MessageOutcome(accepted=False, request_id="req-1", reason="no such request"),
    ),
)
