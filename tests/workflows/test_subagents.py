"""Agents that do tasks for an agent: typed, beside each other, each in a run of its own."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus, WorkflowFailureError

from holdfast import Budget, SubAgent
from holdfast.contracts.budget import Limits, UsageReport
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.transcript import UserTurn
from holdfast.run.limits import budgets
from holdfast.testing import call, calls, say
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines
from tests.workflows.delegating import (
    FOUND,
    Findings,
    Question,
    ask,
    create,
    desk,
    holding,
)
from tests.workflows.test_permissions import policy
from tests.workflows.tiered import child, written


async def test_a_task_is_a_call_whose_result_is_typed(memory_runs: MemoryRuns) -> None:
    """The model gives a task by a call; the run of the other agent brings data as its result."""
    # GF-02 BY-20
    app = desk([ask("tides"), say("It is so.")])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()
        success = await run.success()
        parts = await run.parts()
        first = (await run.part("1-researcher").transcript()).items[0]
        await run.story()

    assert (result.status, result.answer) == ("completed", "It is so.")
    assert (success.name, success.data) == ("delegate_to_researcher", {"facts": ["it is so"]})
    assert parts == ["1-researcher"]
    assert isinstance(first, UserTurn)
    assert json.loads(first.text) == {"topic": "tides", "depth": 1}


async def test_what_does_not_fit_goes_back_to_who_said_it(memory_runs: MemoryRuns) -> None:
    """An answer that its type refuses goes back to the researcher, validators too."""
    # BY-20 SV-06
    words = [say("It depends."), say('{"facts": ["nothing"]}'), say('{"facts": ["it is so"]}')]
    app = desk([ask("tides"), say("It is so.")], words)
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        success = await run.success()

    assert success.data == {"facts": ["it is so"]}


async def test_arguments_that_do_not_fit_begin_nothing(memory_runs: MemoryRuns) -> None:
    """A task without what its type asks for is refused as any call is."""
    app = desk([call("delegate_to_researcher", subject="tides"), say("It is so.")])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        failure = await run.failure()
        parts = await run.parts()

    assert (failure.type, parts) == ("invalid_arguments", [])
    assert "topic" in failure.reason


async def test_a_failed_task_is_a_result(memory_runs: MemoryRuns) -> None:
    """A researcher that fails costs its share, and the run that asked goes on and knows why."""
    # BY-20
    endless = [call("add", a=number, b=1) for number in range(9)]
    app = desk([ask("tides"), say("Nobody knows.")], endless)
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()
        failure = await run.failure()

    assert (result.status, result.answer) == ("completed", "Nobody knows.")
    assert (failure.status, failure.type) == ("error", "subagent_failed")
    assert failure.reason.startswith("researcher stopped without a result: max_steps (6) reached")
    assert result.steps == 2 + 6


async def test_tasks_are_worked_on_beside_each_other(runs: Runs, tmp_path: Path) -> None:
    """As many tasks of one turn are worked on at once as the agent says; then come the others."""
    # GF-02 BY-20 BY-52
    log = tmp_path / "log"

    subagents = [SubAgent("researcher", input=Question, output=Findings, at_once=2)]
    app = desk(
        [ask("tides", "winds", "rain"), say("It is so.")], holding(log), subagents=subagents
    )
    async with runs.working(app):
        run = await runs.start("desk")
        await written(log, 2)
        at_work = (await run.handle.describe()).raw_description.pending_children
        share = (await child(runs, run, "1-researcher").status()).budget.max_steps
        Path(f"{log}.go").touch()
        result = await run.result()
        usage = await run.query("usage", UsageReport)
        parts = await run.parts()
        await run.story()

    assert len(at_work) == 2
    assert share == 5  # a quarter of 20
    assert result.status == "completed"
    assert len(lines(log)) == 3
    assert [part.rpartition(".")[2] for part in parts] == [
        f"{number}-researcher" for number in (1, 2, 3)
    ]
    assert (result.steps, usage.steps, usage.tool_calls) == (8, 8, 3 + 3)


async def test_tasks_run_beside_other_calls(memory_runs: MemoryRuns) -> None:
    """Each call of a turn has its result in its place, whichever of them are tasks."""
    both = calls(call("add", a=1, b=2), ask("tides"), call("add", a=3, b=4))
    app = desk([both, say("It is so.")])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        found = await run.results()

    assert [one.name for one in found] == ["add", "delegate_to_researcher", "add"]
    assert [one.data for one in found if isinstance(one, ToolSuccess)] == [
        3,
        {"facts": ["it is so"]},
        7,
    ]


async def test_all_tasks_keep_to_the_budget_of_the_run(memory_runs: MemoryRuns) -> None:
    """What is left bounds each share, and what isn't there isn't begun."""
    # BY-20 BY-52 T-49
    endless = [call("add", a=number, b=1) for number in range(9)]
    greedy = [SubAgent("researcher", input=Question, output=Findings, budget_share=0.6)]
    app = desk(
        [ask("tides", "winds", "rain"), say("Nobody knows.")],
        endless,
        subagents=greedy,
        budget=Budget(max_steps=6),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()
        found = await run.results()

    reasons = [one.reason for one in found if isinstance(one, ToolFailure)]
    assert [reason.partition(": ")[2].partition(";")[0] for reason in reasons] == [
        "max_steps (3) reached (3 model calls)",
        "max_steps (2) reached (2 model calls)",
        "not begun: max_steps (6) reached",
    ]
    assert result.steps == 6


async def test_the_sender_sees_no_words_of_the_other_but_its_result(
    memory_runs: MemoryRuns,
) -> None:
    """Neither sees how the other came to what it says."""
    # BY-21
    app = desk([ask("tides"), ask("winds"), say("It is so.")], [call("add", a=1, b=2), FOUND])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk", "a goal of ours")
        await run.result()
        ours = (await run.transcript()).model_dump_json()
        theirs = (await run.part("2-researcher").transcript()).model_dump_json()

    assert '"add"' not in ours
    assert "a goal of ours" not in theirs
    assert "tides" not in theirs


def test_a_share_is_of_all_that_is_shared() -> None:
    """A share is of steps, tokens and money alike, one of each at least; of time there is none."""
    # BY-20 T-49
    whole = Limits(max_steps=2, max_tokens=1_000, max_cost=Decimal(1), max_wall_time=60)

    share = budgets.take_share(whole, 0.3)

    assert (share.max_steps, share.max_tokens, share.max_cost) == (1, 300, Decimal("0.3"))
    assert share.max_wall_time is None


async def test_of_the_least_budget_there_is_a_share(memory_runs: MemoryRuns) -> None:
    """Who starts a run with a billionth of a dollar may give a task; with less nobody begins."""
    # BY-20
    app = desk([ask("tides"), say("It is so.")])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk", budget={"max_cost": 1e-9})
        result = await run.result()
        success = await run.success()
        await run.story()

    assert (result.status, result.answer) == ("completed", "It is so.")
    assert success.data == {"facts": ["it is so"]}


async def test_what_a_task_did_belongs_to_the_run_and_is_not_done_again(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Effects of a researcher stand in the result of the run, which doesn't repeat them."""
    # BY-52
    log = str(tmp_path / "log")
    send = call("send", log=log, text="hello")
    app = desk(
        [ask("tides"), send, say("It is so.")],
        [send, FOUND],
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [send]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()
        _, again = await run.results()

    assert [(one.part, one.tool) for one in result.effects] == [("1-researcher", "send")]
    assert isinstance(again, ToolFailure)
    assert "it is done already" in again.reason
    assert len(lines(log)) == 1


async def test_a_later_task_is_told_what_was_done(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Who gets the next task reads what was done before, and is refused the same call."""
    log = str(tmp_path / "log")
    send = call("send", log=log, text="hello")
    app = desk(
        [ask("tides"), ask("winds"), say("It is so.")],
        [send, FOUND],
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [send]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        first = (await run.part("2-researcher").transcript()).items[0]
        refused = await run.part("2-researcher").failure()

    assert isinstance(first, UserTurn)
    assert "Done already for this goal" in first.text
    assert refused.type == "non_idempotent_retry_blocked"
    assert len(lines(log)) == 1


async def test_what_a_task_did_is_taken_back_with_the_run(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Where the answer of the run is blocked, effects of all tasks are taken back with its own."""
    # BY-52
    log = tmp_path / "log"
    app = desk(
        [ask("tides"), say("bad")],
        [call("create", log=str(log), record="7"), FOUND],
        theirs=(*TOOLS, create),
        guardrails=[on_word("no_bad", "bad", "output", on_trip="block")],
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [create, scrap]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        result = await run.result()

    assert result.status == "blocked"
    assert result.compensation is not None
    assert len(result.compensation.undone) == 1
    assert lines(log) == ["created 7", "scrapped 7"]


async def test_a_run_that_is_held_holds_its_tasks(runs: Runs, tmp_path: Path) -> None:
    """A suspension reaches who works on a task, and so does the word to go on."""
    # BY-52
    log = tmp_path / "log"
    app = desk([ask("tides"), say("It is so.")], holding(log))
    async with runs.working(app):
        run = await runs.start("desk")
        await written(log)
        await run.signal("suspend", {})
        part = child(runs, run, "1-researcher")
        while not (await part.status()).status.startswith("suspend"):
            await run.pause()
        Path(f"{log}.go").touch()
        while (await run.status()).status != "suspended":
            await run.pause()
        held = (await part.status()).status
        await run.signal("resume", {})
        result = await run.result()
        await run.story()

    assert held == "suspended"
    assert result.status == "completed"


async def test_a_stop_ends_all_tasks(runs: Runs, tmp_path: Path) -> None:
    """Whoever stops a run stops what works for it; the run ends with what that was."""
    # BY-52
    log = tmp_path / "log"
    app = desk([ask("tides", "winds"), say("It is so.")], holding(log))
    async with runs.working(app):
        run = await runs.start("desk")
        await written(log, 2)
        await run.signal("stop", {"reason": "enough", "by": "dana"})
        result = await run.result()
        ends = [await child(runs, run, f"{number}-researcher").result() for number in (1, 2)]
        await run.story()

    assert (result.status, result.stop and result.stop.ended_by) == ("stopped", "dana")
    assert [(end.status, end.stop and end.stop.ended_by) for end in ends] == [
        ("stopped", "dana")
    ] * 2


async def test_a_cancelled_run_leaves_no_task_behind(runs: Runs, tmp_path: Path) -> None:
    """A run that is cancelled ends with all that works for it."""
    # BY-52
    log = tmp_path / "log"
    app = desk([ask("tides", "winds"), say("It is so.")], holding(log))
    async with runs.working(app):
        run = await runs.start("desk")
        await written(log, 2)
        await run.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        ends = [
            (await child(runs, run, f"{number}-researcher").handle.describe()).status
            for number in (1, 2)
        ]
        await run.story()

    assert ends == [WorkflowExecutionStatus.CANCELED] * 2


async def test_an_answer_too_long_for_the_model_is_cut(memory_runs: MemoryRuns) -> None:
    """The model reads how it begins, and which run has the whole."""
    app = desk([ask("tides"), say("It is so.")], [say(json.dumps({"facts": ["x" * 30_000]}))])
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        success = await run.success()

    assert success.cut
    assert "1-researcher has them all" in success.summary
    assert isinstance(success.data, str)
    assert len(success.data) == 20_000


async def test_no_stranger_names_the_shape_of_an_answer(memory_runs: MemoryRuns) -> None:
    """The shape comes from the run that gives a task, and from nobody else."""
    async with memory_runs.working(desk([say("It is so.")])):
        run = await memory_runs.start("desk", output_schema={"type": "object"})
        with pytest.raises(WorkflowFailureError) as failed:
            await run.result()

    assert "output_schema comes from the run that starts this one" in str(failed.value.cause)


@pytest.mark.parametrize(
    ("rules", "verdict", "reason"),
    [
        (["{id: no, effect: forbid, match: {tools: [delegate_to_researcher]}}"], "denied", "no"),
        (["{id: no, effect: deny, match: {risks: [privileged_admin, communication]}}"], "ok", ""),
        (["{id: no, effect: deny, match: {risks: [destructive]}}"], "denied", "no"),
        (["{id: no, effect: draft, match: {risks: [destructive]}}"], "ok", ""),
    ],
)
async def test_a_policy_rules_on_tasks(
    memory_runs: MemoryRuns, tmp_path: Path, rules: list[str], verdict: str, reason: str
) -> None:
    """A task is a call: rules name its tool, or the highest class of what its receiver may do."""
    app = desk([ask("tides"), say("Well.")], policy=policy(tmp_path, *rules))
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await run.result()
        result = (await run.results())[0]

    assert result.status == verdict
    assert reason in (result.reason if isinstance(result, ToolFailure) else "")
