"""Plan first: before a person has approved its plan a run changes nothing."""

from pathlib import Path

import pytest

from holdfast import tool
from holdfast.contracts.approvals import ApprovalRequest
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.control import RetryOf
from holdfast.contracts.decisions import Deny
from holdfast.contracts.tools import Risk
from holdfast.contracts.transcript import ToolTurn, UserTurn
from holdfast.policy.engine import decide
from holdfast.run import authorization, parts, turns
from holdfast.run.earlier import retries
from holdfast.run.limits import plans
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from holdfast.tools import submit_plan
from tests.builders import (
    NOW,
    a_call,
    a_contract,
    a_failure,
    a_state,
    a_success,
    asked_for,
)
from tests.control.controlled import asked
from tests.control.guarded import decided
from tests.memory.runs import MemoryRuns
from tests.policy.policies import a_policy, some_facts
from tests.sample import TOOLS, lines, scripted, told
from tests.workflows.delegating import FOUND, ask, create, desk
from tests.workflows.test_permissions import policy


@tool(risk=Risk.DRAFT_ONLY)
async def render_plan(tools: list[str]) -> str:
    """Render a plan for whoever approves it."""
    return f"by {tools}"


STEPS: JsonObject = {"goal": "tell them", "steps": ["send it"]}
PLAN = call("submit_plan", **STEPS, tools=["send"])
FREE = {Risk.READ_ONLY, Risk.SEARCH_ONLY, Risk.COMPUTE_ONLY, Risk.DRAFT_ONLY}


@pytest.mark.parametrize("risk", Risk)
def test_nothing_is_changed_while_a_run_plans(risk: Risk) -> None:
    """Reads, searches and drafts are decided as ever; no policy opens anything else."""
    # BY-18
    policy = a_policy("{id: all, effect: allow, match: {tools: [look]}}")
    contract = a_contract(risk=risk)
    planning = decide(a_call(), contract, some_facts(planning=True), policy)
    ever = decide(a_call(), contract, some_facts(), policy)

    if risk in FREE:
        assert planning == ever
    else:
        assert isinstance(planning, Deny)
        assert planning.rule == "planning"
        assert "submit_plan" in planning.next_valid_actions[0]


def test_a_question_is_asked_meanwhile() -> None:
    """To ask a person is no change."""
    # BY-18
    contract = a_contract("ask_user", risk=Risk.COMPUTE_ONLY, permission="ask_user")
    call_ = a_call("ask_user", question="Which?")

    assert decide(call_, contract, some_facts(planning=True)).verdict == "ask_user"


def test_a_plan_that_nobody_has_to_approve_ends_nothing() -> None:
    """An app's own tool of that name is no approval."""
    # BY-18
    plan = a_call("submit_plan")
    own = a_state(tools=(a_contract("submit_plan"),))
    ours = a_state(tools=(submit_plan.contract,))

    assert not plans.has_approved_plan(own.agent, (a_success(plan),))
    assert plans.has_approved_plan(ours.agent, (a_success(plan),))
    assert not plans.has_approved_plan(ours.agent, (a_success(a_call("look")),))
    assert not plans.has_approved_plan(ours.agent, (a_failure(plan),))
    assert not plans.has_approved_plan(a_state().agent, (a_success(plan),))


def test_a_run_that_plans_is_decided_as_one() -> None:
    """The engine is told, until the plan is approved; whoever tries the run again plans anew."""
    # BY-18
    plan = a_call("submit_plan", "c1", **STEPS, tools=["send"])
    begun = a_state(run={"mode": "plan"}, tools=(submit_plan.contract,))
    said = asked_for(plan, state=begun)
    after = turns.after_tools(said, (a_success(plan),), NOW, said.calls)
    left = parts.build_carryover(after, (), {}, NOW)
    fresh = a_state(tools=(submit_plan.contract,))
    brief = fresh.brief.model_copy(update={"retry_of": RetryOf(run_id="run-1")})
    again = retries.go_on_behind(fresh.with_(brief=brief), left)

    told = authorization.build_input(said, said.calls, ("submit_plan",), NOW)
    assert told.planning
    assert isinstance(begun.conversation.items[-1], UserTurn)
    assert begun.conversation.items[-1].text.startswith("Plan first.")
    assert begun.conversation.items[-1].origin == "constraint"  # which no summary leaves out
    assert [one.planning for one in (begun, said, after, again)] == [True, True, False, True]
    assert [one.planned for one in (begun, said, after, again)] == [None, None, ("send",), None]
    assert not a_state().planning


@pytest.mark.parametrize("risk", Risk)
def test_an_approved_plan_binds_what_follows(risk: Risk) -> None:
    """A tool that the plan doesn't name changes nothing and gets no work."""
    # BY-17
    policy = a_policy("{id: all, effect: allow, match: {tools: [look]}}")
    contract = a_contract(risk=risk)
    handing = a_contract(risk=risk, receiver="billing")
    named, other = some_facts(planned=("look",)), some_facts(planned=("send",))
    ever = decide(a_call(), contract, some_facts(), policy)

    beyond = decide(a_call(), contract, other, policy)
    given = decide(a_call(), handing, other, policy)

    assert decide(a_call(), contract, named, policy) == ever
    assert isinstance(given, Deny)
    assert given.rule == "plan"
    if risk in FREE:
        assert beyond == ever
    else:
        assert isinstance(beyond, Deny)
        assert (beyond.rule, beyond.reason) == ("plan", "the approved plan doesn't name look")
        assert "submit_plan" in beyond.next_valid_actions[0]


async def test_a_changed_plan_is_approved_anew(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What the approved plan doesn't name is denied, until a plan that names it is approved."""
    # BY-17
    log = str(tmp_path / "log")
    send = call("send", log=log, text="x")
    quiet = call("submit_plan", **STEPS, tools=[])
    app = scripted([quiet, send, PLAN, send, say("done")], tools=[*TOOLS, submit_plan])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "tell them")
        first = await run.asked_for_approval()
        await run.approve(first.request_id)
        second = await asked(run, first)
        before = lines(Path(log))
        await run.approve(second.request_id)
        third = await asked(run, second)
        await run.approve(third.request_id)
        result = await run.result()
        results = await run.results()

    assert isinstance(first, ApprovalRequest)
    assert isinstance(second, ApprovalRequest)
    assert isinstance(third, ApprovalRequest)
    assert [one.tool for one in (first, second, third)] == ["submit_plan", "submit_plan", "send"]
    assert first.digest != second.digest
    assert (before, len(lines(Path(log))), result.answer) == ([], 1, "done")
    assert [one.status for one in results] == ["ok", "denied", "ok", "ok"]


async def test_a_write_is_denied_until_the_plan_is_approved(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Whatever the model says; afterwards each step is decided as ever."""
    # BY-18
    log = str(tmp_path / "log")
    early = calls(call("add", a=1, b=2), call("send", log=log, text="early"))
    late = call("send", log=log, text="late")
    app = scripted([early, PLAN, late, say("done")], tools=[*TOOLS, submit_plan])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "tell them", mode="plan")
        plan = await run.asked_for_approval()
        held = await run.status()
        await run.approve(plan.request_id)
        step = await asked(run, plan)
        free = await run.status()
        await run.approve(step.request_id)
        result = await run.result()
        page = await run.transcript()

    assert isinstance(step, ApprovalRequest)
    assert (plan.tool, step.tool) == ("submit_plan", "send")
    assert (held.planning, free.planning, result.answer) == (True, False, "done")
    assert [line.split()[-1] for line in lines(Path(log))] == ["late"]
    (first, *_) = (item for item in page.items if isinstance(item, ToolTurn))
    denied = first.results[1]
    assert isinstance(denied, ToolFailure)
    assert (denied.status, denied.type) == ("denied", "permission_denied")


async def test_without_an_approval_nothing_changes(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """A plan that is rejected leaves the run where it was."""
    # BY-18
    log = tmp_path / "log"

    def script(turn: ScriptTurn) -> Reply:
        match turn.number:
            case 1:
                return PLAN
            case 2:
                return call("send", log=str(log), text="x")
            case _:
                return say("nothing was done")

    async with memory_runs.working(scripted(script, tools=[*TOOLS, submit_plan])):
        run = await memory_runs.start("it", "tell them", mode="plan")
        request = await run.asked_for_approval()
        no: JsonObject = {"decision": "reject", "approver": "alice"}
        await run.signal("approval", {**no, "request_id": request.request_id})
        result = await run.result()
        status = await run.status()

    assert (result.status, status.planning) == ("completed", True)
    assert not log.exists()


@pytest.mark.parametrize("between", [0, pytest.param(150, marks=pytest.mark.slow)])
async def test_nobody_gets_work_beside_a_plan_that_does_not_name_it(
    memory_runs: MemoryRuns, tmp_path: Path, between: int
) -> None:
    """
    A task of the turn that has a plan approved is decided by that plan.

    So it is with one that stands before more reads than run beside each other, and the plan.
    """
    # BY-18
    log = tmp_path / "log"
    plan = call("submit_plan", goal="look", steps=["look"], tools=[])
    reads = [call("look", place=f"place {number}") for number in range(between)]
    app = desk(
        [calls(ask("tides"), *reads, plan), say("done")],
        [call("create", log=str(log), record="r"), FOUND],
        tools=(*TOOLS, submit_plan),
        theirs=(*TOOLS, create),
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [create]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.approve((await run.asked_for_approval()).request_id)
        await run.result()
        task, *_ = await run.results()
        await memory_runs.stories(run)

    assert isinstance(task, ToolFailure)
    assert task.reason == "the approved plan doesn't name delegate_to_researcher"
    assert lines(log) == []


async def test_a_plan_that_was_only_drafted_ends_nothing(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """An app's own plan may have a draft, which people approve no sooner than they read it."""
    # BY-18

    @tool(risk=Risk.COMPUTE_ONLY, permission="approval", draft="render_plan")
    async def submit_plan(tools: list[str]) -> str:
        """Submit a plan, which a person reads as it is rendered."""
        return f"approved: {tools}"

    log = tmp_path / "log"
    script = [call("submit_plan", tools=["write"]), call("write", log=str(log), text="x"), told]
    app = scripted(script, tools=[*TOOLS, submit_plan, render_plan])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", "tell them", mode="plan")
        request = await run.asked_for_approval()
        held = await run.status()
        await decided(run, request, "reject")
        result = await run.result()
        status = await run.status()

    assert (held.planning, status.planning, result.answer) == (True, True, "write denied")
    assert not log.exists()
