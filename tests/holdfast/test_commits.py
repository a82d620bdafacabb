"""What a trace says of calls that are more than one activity: drafted, looked for, sandboxed."""

from pathlib import Path
from typing import Literal

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import Grant, ToolSuccess
from holdfast.contracts.decisions import Allow, Deny, Ruling, RunAsDraftOnly, RunInSandbox
from holdfast.contracts.tools import Risk
from holdfast.testing import call, say
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.transcript import lines
from tests.builders import a_call, a_contract, a_failure, a_success, an_agent, decided
from tests.holdfast.traces import finished, printed
from tests.holdfast.written import Written, read, told
from tests.running import Runs
from tests.sample import scripted

PAY = a_call("pay", "c1", amount=900)
PAYING = an_agent(
    tools=(a_contract("pay", risk=Risk.FINANCIAL, draft="prepare", reconcile="find_payment"),),
    companions=(a_contract("prepare"), a_contract("find_payment")),
)
POLICY = """
version: 1
rules:
  - {id: posts, effect: draft, reason: nobody posts, match: {tools: [post]}}
"""


async def test_commit_shows_its_draft(runs: Runs, tmp_path: Path) -> None:
    """What was drafted stands before the approval, what was committed after it."""
    # BY-05 TS-11
    log = str(tmp_path / "log")
    async with runs.working(scripted([call("post", log=log, text="hello"), say("done")])):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        trace = read_trace(await finished(run))

    assert printed(trace)[3:] == [
        "  rule    post: run_as_draft_only (write_external)",
        '  draft   draft_post ok  {"preview":"HELLO"} (? ms)',
        "  rule    post: approval_required (write_external)",
        "  wait    approved by alice after ? ms",
        '  result  ok  "posted" (? ms)',
        "turn 2  scripted:it  -> answer",
        "answer  done",
    ]
    (made,) = trace.calls
    assert made.draft_id == request.preview_ref
    assert [step.draft_id for step in made.auxiliary_calls] == [request.preview_ref]
    assert trace.ledger.tool_calls == 2


async def test_draft_may_be_all_there_is(runs: Runs, tmp_path: Path) -> None:
    """Where policy lets a call be drafted only, the draft is its result."""
    # PF-13
    policy, log = tmp_path / "policy.yaml", str(tmp_path / "log")
    policy.write_text(POLICY)
    app = scripted([call("post", log=log, text="hello"), say("done")], policy=policy)
    async with runs.working(app):
        run = await runs.start("it")
        trace = read_trace(await finished(run))
        success = await run.success()

    assert printed(trace)[3:6] == [
        "  rule    post: run_as_draft_only (policy:posts)",
        '  draft   draft_post ok  {"preview":"HELLO"} (? ms)',
        '  result  ok  only a draft, nothing was committed: {"preview":"HELLO"}',
    ]
    assert trace.calls[0].result == success
    assert trace.calls[0].rulings[0].policy == app.policy.digest


@pytest.mark.parametrize(
    ("amount", "line", "outcome"),
    [
        (5, "  found   find_payment: it happened", "ok"),
        (0, "  found   find_payment: it didn't happen", "error"),
    ],
)
async def test_lost_answer_is_looked_for(
    runs: Runs, tmp_path: Path, amount: int, line: str, outcome: str
) -> None:
    """That a write was cut off is in its trace, and what was found out about it."""
    # BY-11
    script = [call("pay_slowly", log=str(tmp_path / "log"), amount=amount), say("done")]
    async with runs.working(scripted(script)):
        run = await runs.start("it")
        request = await run.asked_for_approval()
        await run.approve(request.request_id)
        trace = read_trace(await finished(run))
        results = await run.results()

    shown = printed(trace)
    found = [place for place, said in enumerate(shown) if said == line]
    assert shown[found[0] - 1].startswith("  lost    pay_slowly: ")
    assert shown[found[-1] + 1].startswith(f"  result  {outcome}  ")
    assert [trace.calls[0].result] == results


def test_failed_draft_is_the_result() -> None:
    """A call that could not be drafted has failed: there is nothing to commit."""
    written = paying(to_draft("approval"))
    written.runs("prepare", a_failure(PAY, "no such invoice"), purpose="draft")

    assert told(read(written))[1:] == [
        "  draft   prepare error  not_found: no such invoice (12 ms)",
        "  result  error  not_found: no such invoice",
    ]


def test_cut_off_draft_is_no_lost_write() -> None:
    """Nobody looks for a draft whose answer was lost: it reached nobody."""
    written = paying(to_draft("approval"))
    written.runs("prepare", purpose="draft")

    assert told(read(written))[1:] == [
        "  draft   prepare error  timeout: no answer in time (heartbeat time-out) (4.0 s)",
        "  result  error  timeout: no answer in time (heartbeat time-out)",
    ]


def test_cut_off_draft_that_leaves_something_behind_is_told_as_its_run_told_it() -> None:
    """The ruling knew it by another class than the run that began before."""
    written = paying(to_draft("approval").model_copy(update={"draft_risk": Risk.DRAFT_ONLY}))
    written.runs("prepare", purpose="draft")

    assert told(read(written))[-1].startswith("  result  outcome_unknown  timeout: ")


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({"happened": None}, "nobody knows whether it happened"),
        (None, "nobody knows whether it happened: no answer in time (heartbeat time-out)"),
    ],
)
def test_lost_answer_may_stay_lost(answer: JsonObject | None, line: str) -> None:
    """Where nobody can tell whether a write happened, its outcome stays unknown."""
    written = paying(decided(PAY, Allow(rule="approved:req-1", reason=""), Risk.FINANCIAL))
    written.runs("pay")
    found = None if answer is None else a_success(PAY, answer)
    written.runs("find_payment", found, purpose="reconcile")

    shown = told(read(written))
    assert shown[1] == f"  found   find_payment: {line}"
    assert shown[2].startswith("  result  outcome_unknown  timeout: no answer in time")


def test_live_lines_wait_for_what_is_found_out() -> None:
    """Whoever watches reads no result of a write before it is known what became of it."""
    written = paying(decided(PAY, Allow(rule="approved:req-1", reason=""), Risk.FINANCIAL))
    written.runs("pay")
    before = told(read(written))
    found: JsonObject = {"happened": True, "result": {"refund": 7}}
    written.runs("find_payment", a_success(PAY, found), purpose="reconcile")

    assert before == []
    assert told(read(written)) == [
        "  lost    pay: no answer in time (heartbeat time-out); it may have happened all the same",
        "  found   find_payment: it happened",
        "  result  ok  it happened, says find_payment; its own answer was lost (4.0 s)",
    ]
    (made,) = read(written).calls
    assert isinstance(made.result, ToolSuccess)
    assert made.result.data == {"refund": 7}


def test_what_nobody_may_look_for_is_not_waited_for() -> None:
    """Where the policy forbids the tool that would find out, a call is over when cut off."""
    allowed = decided(PAY, Allow(rule="approved:req-1", reason=""), Risk.FINANCIAL)
    written = paying(allowed.model_copy(update={"companion_forbidden": True}))
    written.runs("pay")
    (made,) = read(written).calls

    assert made.lost is None
    assert made.result is not None
    assert made.result.status == "outcome_unknown"


def test_sandboxed_call_says_so() -> None:
    """A call that ran in the sandbox shows by which rule, and what it was granted."""
    granted = Grant(commands=("make",), hosts=())
    ruling = RunInSandbox(rule="policy:builds", reason="builds are fine", grant=granted)
    written = paying(decided(PAY, ruling, Risk.PROCESS_EXECUTION))
    written.runs("pay", a_success(PAY, "built"), grant=granted)

    trace = read(written)
    (span,) = (span for span in span_tree(trace).spans if span.type == "function")
    (rule,) = (line for line in lines(trace) if line.label == "rule")
    assert (str(rule), rule.tone) == ("  rule    pay: run_in_sandbox (policy:builds)", "plain")
    assert (span.attributes["task_queue"], span.attributes["sandboxed"]) == (
        "holdfast-sandbox",
        True,
    )
    assert isinstance(decisions := span.attributes["decisions"], list)
    assert [one["terms"] for one in decisions if isinstance(one, dict)] == [
        {"grant": {"commands": ["make"]}}
    ]


def test_the_same_decision_after_a_wait_is_shown_once() -> None:
    """Each call is decided again after a wait; only another decision is news."""
    builds = RunInSandbox(rule="policy:builds", reason="builds are fine")
    written = paying(decided(PAY, builds), decided(PAY, builds))
    written.ruled(decided(PAY, Deny(rule="policy:stop", reason="", next_valid_actions=("wait",))))

    assert told(read(written))[:2] == [
        "  rule    pay: run_in_sandbox (policy:builds)",
        "  rule    pay: deny (policy:stop)",
    ]


def paying(*rulings: Ruling) -> Written:
    """A run that wants to pay, ruled upon as often as there are rulings."""
    written = Written()
    written.opened(PAYING)
    written.asked(PAY)
    for ruling in rulings:
        written.ruled(ruling)
    return written


def to_draft(then: Literal["result", "approval"]) -> Ruling:
    draft = RunAsDraftOnly(rule="risk:financial", reason="", draft="prepare", then=then)
    return decided(PAY, draft, Risk.FINANCIAL)
