"""Agents that do a part of a run: in runs of their own, inside its budget, ended with it."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from holdfast import Decomposition, Tiers, Triggers
from holdfast.contracts.budget import Budget, Ledger, UsageReport
from holdfast.contracts.run import RunResult
from holdfast.contracts.usage import CallUsage, UsageMetrics
from holdfast.run.delegation.subagents import MAX_PARALLEL_CHILDREN
from holdfast.run.limits import budgets
from holdfast.run.limits.table import build_worst_case_ledger
from holdfast.runner import build_replayer
from holdfast.testing import Reply, Script, ScriptTurn, call, say, using
from holdfast.trace.reader import read_trace
from holdfast.workflows.agent_run import AgentRun
from tests.histories import children
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import lines
from tests.workflows.tiered import asked, child, recorded, staffed, written


@pytest.mark.parametrize(
    ("ceiling", "steps", "tokens", "cost"),
    [
        (Budget(max_steps=3), 3, (0, 0), None),
        (Budget(max_steps=1, max_tokens=100), 1, (100, 0), None),
        (Budget(max_steps=1, max_tokens=100, max_output_tokens=30), 1, (70, 30), None),
        (Budget(max_steps=1, max_input_tokens=50, max_cost=Decimal("0.5")), 1, (50, 0), 0.5),
    ],
    ids=["steps", "tokens", "output tokens", "cost"],
)
def test_what_is_unknown_counts_as_spent(
    ceiling: Budget, steps: int, tokens: tuple[int, int], cost: float | None
) -> None:
    """Of a run that tells nothing, all that it could use counts; what has no limit is unknown."""
    # T-49
    used = build_worst_case_ledger(ceiling)

    assert used.steps == steps
    assert (used.usage.input_tokens, used.usage.output_tokens) == tokens
    assert used.usage.estimated_cost == (None if cost is None else Decimal(str(cost)))


def test_what_counts_as_spent_leaves_nothing() -> None:
    """A run whose only child told nothing has used its whole budget, whichever limits it has."""
    # T-49
    whole = Budget(
        max_steps=5,
        max_tokens=100,
        max_input_tokens=80,
        max_output_tokens=60,
        max_cost=Decimal("0.25"),
        max_tool_calls=4,
        max_result_chars=900,
    )
    ledger = Ledger(steps=2, usage=CallUsage(input_tokens=10, estimated_cost=Decimal("0.05")))
    left = budgets.remaining(whole, ledger, 0)
    assert isinstance(left, Budget)

    after = budgets.add_child_usage(ledger, build_worst_case_ledger(left))

    assert after.steps == whole.max_steps
    assert after.tool_calls == whole.max_tool_calls
    assert after.result_chars == whole.max_result_chars
    assert after.usage.total_tokens >= 100
    assert after.usage.input_tokens >= 80
    assert after.usage.output_tokens >= 60
    assert after.usage.estimated_cost == Decimal("0.25")


PLAN = '{"subtasks": ["one", "two", "three", "four", "five"]}'
PARTS = Tiers(full="coder", decomposed=Decomposition(planner="planner", worker="hand", most=5))


def holding(log: Path) -> Script:
    """Wait in a tool until the file `log.go` is there, and then answer."""

    def script(turn: ScriptTurn) -> Reply:
        return call("hold", log=str(log)) if turn.number == 1 else say("done")

    return script


def go(log: Path) -> None:
    """Let everybody go on who waits."""
    Path(f"{log}.go").touch()


async def test_parts_work_beside_each_other(runs: Runs, tmp_path: Path) -> None:
    """So many children work at once, each with its share of the budget, and no more of them."""
    # GF-02 BY-20
    log = tmp_path / "log"
    app = staffed(
        {"planner": [say(PLAN)], "hand": holding(log)}, tiers=PARTS, budget=Budget(max_steps=14)
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log, MAX_PARALLEL_CHILDREN)
        at_work = (await run.handle.describe()).raw_description.pending_children
        share = (await child(runs, run, "2-part-1").status()).budget.max_steps
        go(log)
        result = await run.result()

    assert len(at_work) == MAX_PARALLEL_CHILDREN
    assert share == 2  # of 13: the planner took one step
    assert (result.status, result.steps) == ("completed", 11)
    assert len(lines(log)) == 5


@pytest.mark.parametrize(
    ("max_steps", "status", "steps", "why"),
    [
        (5, "completed", 5, ""),
        (4, "stopped", 3, "subtask 1 (one): max_steps (1) reached"),
        (2, "stopped", 1, "2 subtasks planned, but max_steps (1) can't be shared by 2"),
    ],
)
async def test_all_parts_together_keep_to_the_budget(
    memory_runs: MemoryRuns, max_steps: int, status: str, steps: int, why: str
) -> None:
    """A planner and two workers have the steps of one run; what isn't there isn't begun."""
    # T-49 BY-20 BY-52
    app = staffed(
        {
            "planner": [say('{"subtasks": ["one", "two"]}')],
            "hand": [call("add", a=1, b=1), say("done")],
        },
        tiers=PARTS,
        budget=Budget(max_steps=max_steps),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        usage = await run.query("usage", UsageReport)

    assert (result.status, result.steps, usage.steps) == (status, steps, steps)
    assert why in (result.stop.reason if result.stop else "")


async def test_no_part_begins_where_nothing_is_left(memory_runs: MemoryRuns) -> None:
    """However many parts a plan has, only those that work at once can pass a limit by a call."""
    # T-49 BY-52
    plan = json.dumps({"subtasks": [f"part {number}" for number in range(20)]})
    bill = UsageMetrics(input_tokens=500, estimated_cost=Decimal("0.5"))
    app = staffed(
        {"planner": [say(plan)], "hand": lambda _: using(say("done"), bill)},
        tiers=Tiers(
            full="coder", decomposed=Decomposition(planner="planner", worker="hand", most=20)
        ),
        budget=Budget(max_steps=100, max_tokens=2_000, max_cost=Decimal(2)),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        parts = await run.parts()
        await run.story()

    begun = [part for part in parts if part.startswith("2-part-")]
    assert 4 <= len(begun) <= 4 + MAX_PARALLEL_CHILDREN
    assert result.usage.input_tokens == 500 * len(begun)
    assert result.stop is not None
    assert ": not begun: max_tokens (2000) reached" in result.attempts[1].failure_reason


async def test_what_children_use_is_used_by_the_run(memory_runs: MemoryRuns) -> None:
    """Tokens, cost, calls and steps of all children stand in the ledger of the run."""
    # BY-52
    bill = UsageMetrics(input_tokens=7, output_tokens=3, estimated_cost=Decimal("0.5"))
    app = staffed(
        {
            "coder": [using(call("add", a=1, b=1), bill), using(call("add", a=1, b=1), bill)],
            "clerk": [using(call("add", a=2, b=1), bill), using(say("done"), bill)],
        },
        tiers=Tiers(full="coder", simplified="clerk"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        usage = await run.query("usage", UsageReport)

    assert (result.status, result.steps, usage.tool_calls) == ("completed", 4, 3)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (28, 12)
    assert result.usage.estimated_cost == 2


async def test_cancelling_the_run_ends_all_children(runs: Runs, tmp_path: Path) -> None:
    """A cancelled run cancels what it started, waits for its end, and starts nothing more."""
    # BY-52
    log = tmp_path / "log"
    app = staffed({"planner": [say(PLAN)], "hand": holding(log)}, tiers=PARTS)
    async with runs.working(app):
        run = await runs.start("it")
        await written(log, MAX_PARALLEL_CHILDREN)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        history = await run.handle.fetch_history()
        ends = [
            (await child(runs, run, part).handle.describe()).status for part in children(history)
        ]

    assert children(history)[1:] == ["2-plan", *(f"2-part-{place}" for place in range(1, 5))]
    assert ends[2:] == [WorkflowExecutionStatus.CANCELED] * 4
    await build_replayer(AgentRun).replay_workflow(history)


@pytest.mark.parametrize("end", ["cancel", "terminate"])
async def test_a_child_that_is_lost_costs_its_whole_share(
    runs: Runs, tmp_path: Path, end: str
) -> None:
    """Nobody knows what a child used that was ended from outside: all of its share is gone."""
    # T-49
    log = tmp_path / "log"
    app = staffed(
        {"planner": [say(PLAN)], "hand": holding(log)}, tiers=PARTS, budget=Budget(max_steps=14)
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log, MAX_PARALLEL_CHILDREN)
        lost = child(runs, run, "2-part-3").handle
        await (lost.cancel() if end == "cancel" else lost.terminate())
        await written(log, 5)  # its place is taken by the last
        go(log)
        result = await run.result()
        history = await run.handle.fetch_history()

    assert result.stop is not None
    assert "subtask 3 (three): " in result.stop.reason
    assert result.steps == 1 + 4 * 2 + 2
    assert any(line.startswith("part failed: 2-part-3 (hand): ") for line in recorded(history))


async def test_a_child_that_never_began_costs_nothing(runs: Runs) -> None:
    """
    Where another run has a child's id already, the tier fails, and the next has all there is.

    It may be the child of before a reset, which works on: what it does nobody knows.
    """
    # FB-10
    app = staffed(
        {"coder": [call("ask_user", question="Which?")], "clerk": [say("done")]},
        tiers=Tiers(full="coder", simplified="clerk"),
        budget=Budget(max_steps=1),
    )
    run_id = f"run-{uuid4().hex[:8]}"
    async with runs.working(app):
        stranger = await runs.client.start_workflow(
            "AgentRun",
            {"agent": "coder", "input": "mine"},
            id=f"{run_id}.1-full",
            task_queue=runs.queue,
        )
        handle = await runs.client.start_workflow(
            "AgentRun",
            {"agent": "it", "input": "go"},
            id=run_id,
            task_queue=runs.queue,
            result_type=RunResult,
        )
        result = await handle.result()
        await stranger.terminate()

    assert (result.status, result.answer, result.steps) == ("completed", "done", 1)
    assert result.attempts[0].failure_reason == (
        f"another run is '{run_id}.1-full', from before a reset or a stranger's"
    )
    assert [(one.summary, one.outcome) for one in result.unresolved] == [
        ("1-full: whatever coder did, as which another run works", "unknown")
    ]


async def test_a_suspended_run_holds_its_children(runs: Runs, tmp_path: Path) -> None:
    """What runs for a run that is suspended takes no further step until the run may go on."""
    # BY-52
    log = tmp_path / "log"
    app = staffed({"coder": holding(log)}, tiers=Tiers(full="coder"))
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await run.signal("suspend", {})
        held = child(runs, run, "1-full")
        await stands(held, "suspending")
        early = await run.status()
        go(log)
        await stands(run, "suspended")
        late, done = await run.status(), await held.status()
        read = read_trace([await run.handle.fetch_history()]).status
        await run.signal("resume", {})
        result = await run.result()
        history = await run.handle.fetch_history()

    assert (early.status, early.in_flight) == ("suspending", (f"run {held.handle.id}",))
    assert (late.in_flight, done.status, read) == ((), "suspended", "suspended")
    assert (result.status, result.answer) == ("completed", "done")
    await build_replayer(AgentRun).replay_workflow(history)


async def stands(run: AnyRun, status: str) -> None:
    """Wait until a run stands so."""
    while (await run.status()).status != status:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def test_who_ends_a_run_ends_its_children(runs: Runs, tmp_path: Path) -> None:
    """A person who aborts a run ends what works for it too, and nothing goes on."""
    # ES-12 BY-52
    log = tmp_path / "log"
    app = staffed(
        {"coder": holding(log)},
        tiers=Tiers(full="coder", simplified="clerk"),
        escalates=True,
        triggers=Triggers(expected_time=0.1),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        (request,) = await run.asked()
        await run.signal("resolution", {"request_id": request.request_id, "action": "abort"})
        result = await run.result()
        end = (await child(runs, run, "1-full").handle.describe()).status
        history = await run.handle.fetch_history()

    assert (result.status, end) == ("stopped", WorkflowExecutionStatus.CANCELED)
    assert children(history) == ["1-full"]
    assert lines(log) == ["held"]
    await build_replayer(AgentRun).replay_workflow(history)


async def test_a_child_that_waits_for_people_takes_no_time(memory_runs: MemoryRuns) -> None:
    """A day that a child waits for an answer counts toward no limit on the time of the run."""
    # T-49
    app = staffed(
        {"coder": [call("ask_user", question="Which?"), say("done")]},
        tiers=Tiers(full="coder"),
        budget=Budget(max_wall_time=60),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await asked(run.part("1-full"))
        await memory_runs.pass_time(86_400)
        await run.part("1-full").signal(
            "answer", {"request_id": request.request_id, "text": "the blue one"}
        )
        result = await run.result()
        usage = await run.query("usage", UsageReport)

    assert (result.status, result.answer) == ("completed", "done")
    assert 86_390 < usage.waited_seconds < 86_410


async def test_a_child_works_for_whom_the_run_works(runs: Runs) -> None:
    """Tenant, actor, session, domain and kind of task are the run's, and so is the ceiling."""
    app = staffed({"coder": [say("done")]}, tiers=Tiers(full="coder"))
    brief = {"tenant": "acme", "actor": "ann", "session_id": "s-1", "domain": "shoes"}
    brief["task_kind"] = "mending"
    async with runs.working(app):
        run = await runs.start("it", **brief, metadata={"ticket": 7}, budget={"max_steps": 3})
        await run.result()
        history = await child(runs, run, "1-full").handle.fetch_history()

    started = history.events[0].workflow_execution_started_event_attributes
    assert json.loads(started.input.payloads[0].data) == {
        "agent": "coder",
        "input": "go",
        **brief,
        "metadata": {"ticket": 7},
        "path": ["it"],
        "ceiling": {"max_steps": 3},
        "sensitive_domains": ["payments", "auth", "pii"],
    }
    assert not started.HasField("retry_policy")


@pytest.mark.parametrize(("above", "status"), [(19, "completed"), (20, "stopped")])
async def test_nobody_works_too_far_below_others(
    memory_runs: MemoryRuns, above: int, status: str
) -> None:
    """What a start says of the agents above it wedges no run: its parts aren't begun."""
    path: list[JsonValue] = ["z"] * above
    async with memory_runs.working(staffed({"coder": [say("done")]})), asyncio.timeout(30):
        run = await memory_runs.start("it", path=path)
        result = await run.result()

    assert result.status == status
    if result.stop:
        assert (
            "not begun: 20 agents, one above the other, are most"
            in result.stop.reason + result.stop.detail
        )
