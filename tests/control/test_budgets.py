"""One ledger for all that a run uses: each limit stops the run with its own reason."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import Fallback
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.run import RunResult
from holdfast.contracts.stops import StopReason
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.control.controlled import (
    asked_models,
    broken,
    chained,
    recorded,
    used,
    why,
)
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.sample import lines


def endless(turn: ScriptTurn) -> Reply:
    """Ask for something new in every turn, each for 10 tokens in, 10 out and 10 cents."""
    return used(call("look", place=str(turn.number)), 10, 10, "0.1")


def ended(result: RunResult) -> tuple[str, str | None, bool]:
    """What every limit leaves: a status, no answer, and what to do next."""
    # BY-10
    return result.status, result.answer, bool(why(result).next_safe_action)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "steps", "reason"),
    [
        pytest.param({"max_steps": 2}, 2, "max_steps (2) reached", id="steps"),
        pytest.param({"max_tokens": 40}, 2, "max_tokens (40) reached", id="tokens"),
        pytest.param({"max_tokens": 41}, 2, "max_tokens (41) would be exceeded", id="reserved"),
        pytest.param({"max_tokens": 59}, 2, "max_tokens (59) would be exceeded", id="nearly"),
        pytest.param({"max_tokens": 60}, 3, "max_tokens (60) reached", id="just enough"),
        pytest.param({"max_input_tokens": 20}, 2, "max_input_tokens (20) reached", id="in"),
        pytest.param(
            {"max_input_tokens": 29}, 2, "max_input_tokens (29) would be exceeded", id="in, nearly"
        ),
        pytest.param({"max_output_tokens": 20}, 2, "max_output_tokens (20) reached", id="out"),
        pytest.param(
            {"max_output_tokens": 29},
            2,
            "max_output_tokens (29) would be exceeded",
            id="out, nearly",
        ),
        pytest.param({"max_cost": 0.2}, 2, "max_cost (0.2) reached", id="cost"),
        pytest.param(
            {"max_cost": 0.29}, 2, "max_cost (0.29) would be exceeded", id="cost, nearly"
        ),
        pytest.param({"max_cost": 0.3}, 3, "max_cost (0.3) reached", id="cost, just enough"),
    ],
)
async def test_what_a_model_uses_is_bounded(
    memory_runs: MemoryRuns, budget: dict[str, JsonValue], steps: int, reason: str
) -> None:
    """Room for a call like the latest is reserved before it: without room nothing is asked."""
    # BY-09 BY-10 BY-70
    async with memory_runs.working(chained(endless)):
        run = await memory_runs.start("it", budget=budget)
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert (ended(result), result.steps) == (("stopped", None, True), steps)
    assert why(result).reason == reason
    assert names(history).count("call_model") == steps
    assert recorded(history) == [f"stopped: {reason}"]


@pytest.mark.parametrize(
    ("limit", "asks", "ran", "reason"),
    [
        pytest.param(2, (1, 1, 1), 2, "max_tool_calls (2) reached", id="reached"),
        pytest.param(3, (2, 2), 2, "max_tool_calls (3) would be exceeded", id="no room"),
        pytest.param(3, (2, 1), 3, None, id="just enough"),
    ],
)
async def test_calls_of_tools_are_bounded(
    memory_runs: MemoryRuns, limit: int, asks: tuple[int, ...], ran: int, reason: str | None
) -> None:
    """A turn that asks for more calls than are left runs none of them; each gets its result."""
    # BY-09 BY-08
    script = [
        calls(*(call("look", place=f"{turn}{place}") for place in range(count)))
        for turn, count in enumerate(asks)
    ]
    async with memory_runs.working(chained([*script, say("done")])):
        run = await memory_runs.start("it", budget={"max_tool_calls": limit})
        result = await run.result()
        found = await run.results()
        (history,) = await memory_runs.stories(run)

    assert (result.stop.reason if result.stop else None) == reason
    assert [one.status for one in found] == ["ok"] * ran + ["aborted"] * (sum(asks) - ran)
    assert names(history).count("look") == ran


@pytest.mark.parametrize(
    ("count", "reason"),
    [(2, None), (3, "max_parallel_calls (2) would be exceeded")],
    ids=["as many", "one more"],
)
async def test_calls_of_one_turn_are_bounded(
    memory_runs: MemoryRuns, count: int, reason: str | None
) -> None:
    """More calls at once than may run beside each other stop the run before any runs."""
    # BY-09
    turn = calls(*(call("look", place=str(place)) for place in range(count)))
    async with memory_runs.working(chained([turn, say("done")])):
        run = await memory_runs.start("it", budget={"max_parallel_calls": 2})
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert (result.stop.reason if result.stop else None) == reason
    assert names(history).count("look") == (0 if reason else count)


@pytest.mark.parametrize("room", [0, 1], ids=["at the limit", "below"])
async def test_what_results_bring_is_bounded(memory_runs: MemoryRuns, room: int) -> None:
    """Characters of all results together, as the model reads them, stop the run when reached."""
    # BY-09
    script = [call("look", place="x"), say("done")]
    async with memory_runs.working(chained(script)):
        measured = await memory_runs.start("it", budget={"max_result_chars": 10**6})
        await measured.result()
        page = await measured.transcript()
        size = sum(
            len(item.model_dump_json()) for item in page.items if isinstance(item, ToolTurn)
        )
        run = await memory_runs.start("it", budget={"max_result_chars": size + room})
        result = await run.result()

    if room:
        assert result.answer == "done"
        return
    assert ended(result) == ("stopped", None, True)
    assert why(result).reason == f"max_result_chars ({size}) reached"


async def test_the_time_of_a_run_is_bounded(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A tool that is waited for too long ends the run at its limit, with the tool's one result."""
    # BY-09 BY-08
    script = [call("hold", log=str(tmp_path / "log")), say("done")]
    async with memory_runs.working(chained(script)):
        run = await memory_runs.start("it", budget={"max_wall_time": 2})
        result = await run.result()
        found = await run.results()
        (history,) = await memory_runs.stories(run)

    assert ended(result) == ("stopped", None, True)
    assert why(result).reason == "max_wall_time (2 s) reached"
    assert ([one.status for one in found], recorded(history)) == (
        ["error"],
        ["stopped: max_wall_time (2 s) reached"],
    )


@pytest.mark.parametrize(
    ("retries", "chain", "asked"),
    [(0, 1, 1), (1, 1, 2), (2, 1, 3), (0, 2, 2), (5, 2, 8)],
    ids=["none", "one", "two", "none of two", "more than the chain's"],
)
async def test_retries_of_a_model_are_bounded(
    memory_runs: MemoryRuns, tmp_path: Path, retries: int, chain: int, asked: int
) -> None:
    """A model is asked once and so many times again; a chain may say less, never more."""
    # BY-09
    log = tmp_path / "log"

    def down(turn: ScriptTurn) -> Reply:
        with log.open("a") as file:
            file.write(f"{turn.attempt}\n")
        return broken("unavailable")

    app = chained(*[down] * chain, fallback=Fallback(attempts=2))
    async with memory_runs.working(app):
        run = await memory_runs.start("it", budget={"max_model_retries": retries})
        result = await run.result()
        (history,) = await memory_runs.stories(run)

    assert (len(lines(log)), len(asked_models(history))) == (asked, chain)
    end = (
        ("failed", StopReason.FALLBACKS_EXHAUSTED.words)
        if chain > 1
        else ("stopped", f"max_model_retries ({retries}) reached")
    )
    assert (result.status, why(result).reason) == end
    assert why(result).next_safe_action


@pytest.mark.parametrize(
    ("retries", "attempts"), [(0, 1), (1, 2), (3, 4), (9, 4)], ids=["none", "one", "own", "more"]
)
async def test_retries_of_a_tool_are_bounded(
    memory_runs: MemoryRuns, tmp_path: Path, retries: int, attempts: int
) -> None:
    """A tool that only reads is tried again so often, its own limit included."""
    # BY-09
    log = tmp_path / "log"
    script = [call("flaky", log=str(log), failures=99), say("done")]
    async with memory_runs.working(chained(script)):
        run = await memory_runs.start("it", budget={"max_tool_retries": retries})
        result = await run.result()
        failure = await run.failure()

    assert len(lines(log)) == attempts
    assert isinstance(failure, ToolFailure)
    assert failure.reason == f"ConnectionError: attempt {attempts} failed"
    assert result.answer == "done"


async def test_limits_hold_across_executions(memory_runs: MemoryRuns) -> None:
    """What was used before the run went on in a new execution is used all the same."""
    # BY-09
    async with memory_runs.working(chained(endless, max_history_events=1)):
        run = await memory_runs.start("it", budget={"max_tokens": 99})
        result = await run.result()
        histories = await memory_runs.stories(run)

    assert why(result).reason == "max_tokens (99) would be exceeded"
    assert (result.steps, len(histories) > 2) == (4, True)
