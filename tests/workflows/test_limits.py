"""Limits on a real server: budgets, time limits, retries, loops and failures are the runtime's."""

import os
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import WorkflowFailureError, WorkflowHistory

from holdfast import Budget
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.usage import UsageMetrics
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say, using
from holdfast.trace.reader import read_trace
from tests.histories import activities, names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, scripted


def endless(turn: ScriptTurn) -> Reply:
    """Ask for something new in every turn, for ever."""
    return call("add", a=turn.number, b=1)


async def test_the_step_budget_is_exact(runs: Runs) -> None:
    """max_steps N means N model calls; then the run completes as stopped, with its trace."""
    # HG-01 HG-02 HG-19 TS-06 LP-10 PI-01 LP-11
    async with runs.working(scripted(endless, instructions="x")):
        run = await runs.start("it", budget={"max_steps": 3})
        result = await run.result()
        history = await run.handle.fetch_history()
    order, trace = names(history), read_trace([history])

    assert result.stop is not None
    assert (trace.status, trace.result, len(trace.turns)) == ("stopped", result, 3)
    assert [isinstance(one.result, ToolSuccess) for one in trace.calls] == [True] * 3
    assert (result.status, result.answer, result.steps) == ("stopped", None, 3)
    assert result.stop.reason == "max_steps (3) reached"
    assert result.stop.next_safe_action
    assert order.count("call_model") == 3
    assert order.count("add") == 3


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        pytest.param({"max_tokens": 20}, "max_tokens (20) reached", id="tokens"),
        pytest.param({"max_tokens": 29}, "max_tokens (29) would be exceeded", id="tokens ahead"),
        pytest.param({"max_cost": 0.2}, "max_cost (0.2) reached", id="cost"),
        pytest.param({"max_cost": 0.29}, "max_cost (0.29) would be exceeded", id="cost ahead"),
    ],
)
async def test_tokens_and_cost_stop_a_run(
    memory_runs: MemoryRuns, budget: dict[str, JsonValue], reason: str
) -> None:
    """Before each model call what was used, and what it will use, is held against the budget."""
    # BY-70 HG-19
    spent = UsageMetrics.model_validate({"input_tokens": 10, "estimated_cost": "0.1"})
    app = scripted(lambda turn: using(endless(turn), spent), instructions="x")
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget=budget)
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.stop.reason, result.steps) == ("stopped", reason, 2)


async def test_a_model_without_a_price_cant_keep_a_cost_budget(memory_runs: MemoryRuns) -> None:
    """An unknown price is never 0: with a cost budget the run stops and says so."""
    unknown = UsageMetrics(input_tokens=1, estimated_cost=None)
    async with memory_runs.working(scripted(lambda turn: using(endless(turn), unknown))):
        run = await memory_runs.start("it", budget={"max_cost": 1})
        result = await run.result()

    assert result.stop is not None
    assert result.stop.reason == "max_cost (1) can't be kept"
    assert result.usage.estimated_cost is None


async def test_wall_time_ends_what_is_under_way(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """When the wall time is over, the activity under way is ended and the run stops."""
    app = scripted([call("hold", log=str(tmp_path / "log")), say("done")])
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget={"max_wall_time": 2})
        result = await run.result()

    assert result.stop is not None
    assert result.stop.reason == "max_wall_time (2 s) reached"


@pytest.mark.parametrize(
    ("threshold", "ran"), [pytest.param(1, 1, id="once"), pytest.param(2, 2, id="default")]
)
async def test_one_identical_call_too_many_ends_the_run(
    memory_runs: MemoryRuns, threshold: int, ran: int
) -> None:
    """The call after so many identical ones in a row isn't executed; key order makes no other."""
    # HG-09 HG-10 HG-19 TS-04 LP-11

    def again(turn: ScriptTurn) -> Reply:
        return call("add", a=1, b=2) if turn.number % 2 else call("add", b=2, a=1)

    async with memory_runs.working(
        scripted(again, instructions="x", budget=Budget(loop_repeat_threshold=threshold))
    ):
        run = await memory_runs.start("it")
        result = await run.result()
        order = names(await run.story())

    assert result.stop is not None
    assert (result.status, result.stop.reason) == (
        "stopped",
        "loop detected: same tool, same args",
    )
    assert order.count("add") == ran


async def test_calls_in_turn_end_the_run(memory_runs: MemoryRuns) -> None:
    """Through new executions too, in turns of several calls, and only calls count, not results."""
    # HG-10

    def in_turn(turn: ScriptTurn) -> Reply:
        return calls(call("add", a=1, b=2), call("look", place=f"p{turn.number % 2}"))

    async with memory_runs.working(scripted(in_turn, max_history_events=1)):
        run = await memory_runs.start("it")
        result = await run.result()
        usage = await run.query("usage", UsageReport)

    assert result.stop is not None
    assert result.stop.reason == "loop detected: same cycle of calls"
    assert (result.steps, usage.tool_calls) == (6, 10)


async def test_the_default_threshold_is_two(memory_runs: MemoryRuns) -> None:
    """Without any setting the third identical call ends a run."""
    # HG-11
    async with memory_runs.working(scripted(lambda _: call("add", a=1, b=2), budget=Budget())):
        run = await memory_runs.start("it")
        result = await run.result()
        order = names(await run.story())

    assert (result.status, order.count("add")) == ("stopped", 2)


async def test_unknown_tools_count_as_a_loop(memory_runs: MemoryRuns) -> None:
    """Calls that can't run count too, so asking for nothing for ever ends."""
    # HG-15
    async with memory_runs.working(scripted(lambda _: call("nope"))):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.stop is not None
    assert result.stop.reason == "loop detected: same tool, same args"


async def test_a_pollable_tool_may_repeat(memory_runs: MemoryRuns) -> None:
    """A tool that declares itself pollable may be called again and again."""
    async with memory_runs.working(
        scripted(lambda turn: call("poll") if turn.number < 6 else say("done"))
    ):
        run = await memory_runs.start("it")
        result = await run.result()

    assert (result.status, result.steps) == ("completed", 6)


async def test_failures_in_a_row_end_a_run(memory_runs: MemoryRuns) -> None:
    """So many failures in a row end the run, whatever the arguments are."""
    # HG-17 TS-10
    app = scripted(
        lambda turn: call("find", name=f"n{turn.number}"),
        budget=Budget(max_consecutive_failures=4),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.stop is not None
    assert (result.steps, result.stop.reason) == (4, "max_consecutive_failures (4) reached")


def compute_waits(history: WorkflowHistory, tool: str, count: int) -> list[float]:
    """Return the first waits between attempts at a tool, in seconds, as the server is asked."""
    (scheduled,) = (
        event.activity_task_scheduled_event_attributes
        for event in history.events
        if event.activity_task_scheduled_event_attributes.activity_type.name == tool
    )
    policy = scheduled.retry_policy
    first = policy.initial_interval.ToMilliseconds() / 1000
    longest = policy.maximum_interval.ToMilliseconds() / 1000 or float("inf")
    return [min(first * policy.backoff_coefficient**failed, longest) for failed in range(count)]


async def test_retries_are_bounded_and_their_waits_double(runs: Runs, tmp_path: Path) -> None:
    """A read that fails is tried max_retries + 1 times, with doubling waits."""
    # HG-05 HG-06 HG-08 TS-08
    log = tmp_path / "log"
    async with runs.working(scripted([call("flaky", log=str(log), failures=99), say("no")])):
        run = await runs.start("it")
        await run.result()
        failure = await run.failure()
        history = await run.handle.fetch_history()

    at = [float(line) for line in lines(log)]
    waits = [later - earlier for earlier, later in pairwise(at)]
    # What the server is asked for is exact; a machine may be slow.
    asked = compute_waits(history, "flaky", len(waits))
    assert asked == [0.05, 0.1, 0.2]
    assert [wait > least for wait, least in zip(waits, asked, strict=True)] == [True] * 3
    assert (failure.type, failure.reason) == (
        "internal_error",
        "ConnectionError: attempt 4 failed",
    )


async def test_a_passing_failure_is_never_seen(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A read that fails twice and then works is a success to the model."""
    # HG-07
    log = str(tmp_path / "log")
    script: Script = [
        call("flaky", log=log, failures=2),
        lambda turn: say(str(turn.last("flaky"))),
    ]
    async with memory_runs.working(scripted(script)):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.answer == "3"


async def test_what_a_tool_refuses_is_told_and_not_retried(memory_runs: MemoryRuns) -> None:
    """A tool's own refusal is a result with its type and what to do instead."""
    # HG-12 T-09
    async with memory_runs.working(scripted([call("find", name="x"), say("ok")])):
        run = await memory_runs.start("it")
        await run.result()
        failure = await run.failure()

    assert (failure.status, failure.type, failure.reason) == (
        "error",
        "not_found",
        "no record 'x'",
    )
    assert failure.next_valid_actions == ("list the records",)


async def test_a_hung_tool_doesnt_hang_the_run(runs: Runs) -> None:
    """A tool that never ends is ended at its time limit; the slot serves others; no retry."""
    # HG-03 HG-04 TS-07
    script: Script = [call("hang"), call("add", a=1, b=1), say("done")]
    async with runs.working(scripted(script)):
        run = await runs.start("it")
        result = await run.result()
        failure = await run.failure()
        history = await run.handle.fetch_history()
    (scheduled,) = [entry.event for entry in activities(history) if entry.name == "hang"]
    options = scheduled.activity_task_scheduled_event_attributes

    assert result.status == "completed"
    assert (failure.type, failure.reason) == (
        "timeout",
        "hang was ended at its time limit of 0.3 s",
    )
    assert options.start_to_close_timeout.ToMilliseconds() == 184_300  # to clear its result


async def test_a_blocking_tool_is_killed(runs: Runs, tmp_path: Path) -> None:
    """A synchronous tool that blocks is killed at its limit; its process is gone."""
    # T-01 RK-17
    log = tmp_path / "pid"
    async with runs.working(scripted([call("block", log=str(log)), say("done")])):
        run = await runs.start("it")
        await run.result()
        failure = await run.failure()

    (pid,) = lines(log)
    assert failure.type == "timeout"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


async def test_a_write_that_timed_out_is_unknown_and_never_repeated(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Whether a write happened that took too long is unknown; it isn't tried again."""
    # T-03 BY-75
    log = tmp_path / "log"
    async with memory_runs.working(scripted([call("write_slowly", log=str(log)), say("ok")])):
        run = await memory_runs.start("it")
        await run.result()
        failure = await run.failure()

    assert lines(log) == ["written"]
    assert (failure.status, failure.type) == ("outcome_unknown", "timeout")
    assert "may have happened" in failure.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(Reply(), "no_final_answer_or_tool_call", id="empty"),  # BY-13
        pytest.param(say(" \n"), "no_final_answer_or_tool_call", id="blank"),  # BY-13
        pytest.param(Reply(text="I", stop="max_tokens"), "model stopped: max_tokens", id="cut"),
        pytest.param(Reply(text="No.", stop="refusal"), "model stopped: refusal", id="refusal"),
    ],
)
async def test_what_is_no_answer_is_never_reported_as_one(
    memory_runs: MemoryRuns, reply: Reply, reason: str
) -> None:
    """A reply that is empty, cut off or a refusal ends the run as stopped, with its own reason."""
    # LP-08 T-48
    async with memory_runs.working(scripted([reply])):
        run = await memory_runs.start("it")
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.answer, result.stop.reason) == ("stopped", None, reason)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([{"agent": "it", "input": "x", "inptu": 1}], "inptu", id="unknown field"),
        pytest.param([{"agent": "it"}], "input: Field required", id="no goal"),
        pytest.param([{"agent": "it", "input": ""}], "at least 1 character", id="empty goal"),
        pytest.param(["go"], "the argument", id="no object"),
        pytest.param([None], "the argument", id="null"),
        pytest.param([], "not 0 arguments", id="nothing"),
        pytest.param([{"agent": "it", "input": "x"}, {}], "not 2 arguments", id="two"),
        pytest.param(
            [{"agent": "it", "input": "x", "budget": {"max_steps": 0}}], "max_steps", id="zero"
        ),
        pytest.param(
            [{"agent": "it", "input": "x", "budget": {"max_steps": -5}}], "max_steps", id="minus"
        ),
        pytest.param(
            [{"agent": "it", "input": "x", "budget": {"max_steps": None}}], "max_steps", id="none"
        ),
        pytest.param(
            [{"agent": "it", "input": "x", "budget": {"max_cost": -1}}], "max_cost", id="debt"
        ),
    ],
)
async def test_a_bad_input_fails_the_run_at_once(
    memory_runs: MemoryRuns, arguments: list[JsonValue], words: str
) -> None:
    """A run with an unusable input fails with one line that says what to change; nothing hangs."""
    # PI-01
    async with memory_runs.working(scripted([say("never")])):
        run = await memory_runs.start_with(*arguments)
        with pytest.raises(WorkflowFailureError) as failure:
            await run.result()

    said = str(failure.value.cause)
    assert words in said
    assert "\n" not in said


async def test_calls_that_were_not_run_get_a_result_too(memory_runs: MemoryRuns) -> None:
    """When a run stops in the middle of a turn, each call of the turn has its one result."""
    # BY-08
    turn = calls(call("add", a=1, b=1), call("add", a=1, b=1), call("add", a=1, b=1))
    async with memory_runs.working(scripted([turn])):
        run = await memory_runs.start("it")
        await run.result()
        results = await run.results()

    assert [(result.call_id, result.status) for result in results] == [
        ("call_1_1", "aborted"),
        ("call_1_2", "aborted"),
        ("call_1_3", "aborted"),
    ]
    assert all(isinstance(result, ToolFailure) for result in results)
