"""Verdicts are in history: a new worker, a replay and a new execution don't ask for them again."""

import asyncio
from pathlib import Path

import pytest

from holdfast import App, Risk, tool
from holdfast.contracts.run import RunResult
from holdfast.guardrails import passed, review_approval
from holdfast.histories import fetch
from holdfast.runner import build_replayer
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.workflows.agent_run import AgentRun
from tests.control.guarded import (
    Seen,
    asked_next,
    decided,
    ended,
    guarded,
    on_word,
    order,
    over,
    replayed,
    scheduled,
    waiting,
)
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import lines, note, scripted
from tests.workflows.tiered import written


async def test_a_new_worker_looks_at_nothing_again(runs: Runs, tmp_path: Path) -> None:
    """What was found before a worker went away is found once, and still holds."""
    seen = Seen()
    log = str(tmp_path / "log")

    def app() -> App:
        return guarded(
            [
                call("create_draft", log=log, title="it"),
                call("ask_user", question="Which?"),
                say("bad"),
            ],
            on_word("no_evil", "evil", "input", seen, watches=("goal", "results")),
            on_word("no_bad", "bad", "output", on_trip="block"),
        )

    async with runs.working(app()):
        run = await runs.start("it")
        (request,) = await run.asked()
    async with runs.working(app(), client=await runs.another_client()):
        await run.signal("answer", {"request_id": request.request_id, "text": "this"})
        found = await over(run)

    assert [one.kind for one in seen.subjects] == ["goal", "results", "results"]
    assert found.result.status == "blocked"
    assert lines(log) == ["created it", "removed it"]


async def test_a_worker_that_goes_while_a_guardrail_looks(runs: Runs) -> None:
    """The next one looks instead: no answer is out before somebody has."""
    never, go = asyncio.Event(), asyncio.Event()
    go.set()
    async with runs.working(guarded([say("done")], waiting("slow", never, passed()))):
        run = await runs.start("it")
        await scheduled(run, "guardrail:slow")
    async with runs.working(
        guarded([say("done")], waiting("slow", go, passed())),
        client=await runs.another_client(),
    ):
        found = await over(run)

    assert found.result.status == "completed"
    assert found.order == ["guardrail:slow", "call_model"]


async def executions(runs: Runs, run: Run) -> list[list[str]]:
    """What each execution of a run asked for; every one of them replays."""
    histories = await fetch(runs.client, run.handle.id)
    for history in histories:
        await build_replayer(AgentRun).replay_workflow(history)
    return [order(history) for history in histories]


async def long_run(runs: Runs, app: App) -> tuple[RunResult, list[list[str]]]:
    """Run an agent that goes on in a new execution whenever it may."""
    async with runs.working(app):
        run = await runs.start("it", "the goal")
        return await run.result(), await executions(runs, run)


async def test_new_executions_look_at_what_is_new(runs: Runs, tmp_path: Path) -> None:
    """Goal and results are looked at once each, before the model, beside it and after calls."""
    before, beside, done = Seen(), Seen(), Seen()
    log = str(tmp_path / "log")
    app = guarded(
        [*(call("create_draft", log=log, title=str(n)) for n in range(4)), say("done")],
        on_word("before", "bad", "input", before, watches=("goal", "results")),
        on_word("beside", "bad", "input", beside, watches=("goal", "results"), mode="parallel"),
        on_word("after", "bad", "post_action", done, tools=("create_draft",)),
        max_history_events=1,
    )

    result, found = await long_run(runs, app)

    assert result.status == "completed"
    assert len(found) > 3
    assert [one.kind for one in before.subjects] == ["goal", *["results"] * 4]
    assert [one.kind for one in beside.subjects] == ["goal", *["results"] * 4]
    assert [one.data for one in done.subjects] == [{"log": log, "title": str(n)} for n in range(4)]


@tool(risk=Risk.READ_ONLY)
async def page(log: str, marks: str) -> str:
    """Read a long page with marks, when it may."""
    assert marks
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return f"{'a long page ' * 1500}the end"


async def test_what_came_in_while_a_run_was_held_is_looked_at_whole(
    runs: Runs, tmp_path: Path
) -> None:
    """A held run that goes on in a new execution begins with less; guardrails looked before."""
    # GR-01
    log, seen = tmp_path / "log", Seen()
    script = [call("page", log=str(log), marks="x" * 590_000), say("done")]
    watch = on_word("no_bad", "bad", "input", seen, watches=("results",))
    app = scripted(
        script, tools=[page], guardrails=[watch], max_history_events=1, max_context_bytes=1000
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log)
        await run.signal("suspend", {})
        while (await run.status()).status != "suspending":
            pass
        Path(f"{log}.go").touch()
        first = run.handle.first_execution_run_id
        await run.signal("answer", {"request_id": "req-9", "text": "nobody asked"})
        while (await run.handle.describe()).run_id == first:
            pass
        await run.signal("resume", {})
        result = await run.result()
        await executions(runs, run)

    (shown,) = seen.subjects
    assert "the end" in f"{shown.text} {shown.data}"
    assert result.status == "completed"


async def test_goals_are_looked_at_once(runs: Runs) -> None:
    """A guardrail that watches the goal alone has nothing to do after the first turn."""
    seen = Seen()
    app = guarded(
        [*(call("look", place=str(n)) for n in range(4)), say("done")],
        on_word("no_bad", "bad", "input", seen),
        max_history_events=1,
    )

    result, found = await long_run(runs, app)

    assert (result.status, len(found) > 3) == ("completed", True)
    assert seen.texts == ["the goal"]


async def test_a_tripwire_holds_in_later_executions(runs: Runs, tmp_path: Path) -> None:
    """Constraint, retries, what was taken back and who approved are carried over."""
    log = str(tmp_path / "log")

    def script(turn: ScriptTurn) -> Reply:
        if turn.number in (1, 3, 5):
            return call("create_draft", log=log, title=str(turn.number))
        return say("bad")

    app = guarded(
        script, on_word("no_bad", "bad", "output"), max_history_events=1, max_output_retries=2
    )

    result, found = await long_run(runs, app)

    assert (result.status, result.steps) == ("blocked", 6)
    assert len(found) > 3
    assert lines(log) == [f"{did} {n}" for n in (1, 3, 5) for did in ("created", "removed")]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 3


@pytest.mark.parametrize("layer", ["input", "post_action"])
async def test_an_approval_holds_in_later_executions(
    runs: Runs, tmp_path: Path, layer: str
) -> None:
    """Whoever approved what tripped isn't asked again by the next execution."""
    # T-07
    log = str(tmp_path / "log")
    look = (
        on_word("no_bad", "bad", "input", on_trip="ask", watches=("goal", "results"))
        if layer == "input"
        else on_word("no_bad", "bad", "post_action", on_trip="ask", tools=("write",))
    )
    goal = "bad" if layer == "input" else "good"
    app = guarded(
        [
            call("write", log=log, text="bad" if layer == "post_action" else "fine"),
            *(call("look", place=str(n)) for n in range(3)),
            say("done"),
        ],
        look,
        review_approval(),
        max_history_events=1,
    )
    async with runs.working(app):
        run = await runs.start("it", goal)
        (first,) = await run.asked()
        await decided(run, first, "approve")
        second = await asked_next(run, first)
        await decided(run, second, "approve")
        result = await run.result()
        found = await executions(runs, run)

    assert result.status == "completed"
    assert (first.reason, second.reason.partition(":")[0]) == ("it says bad", "review_approval")
    assert len(found) > 2


async def test_a_cancelled_run_ends_its_guardrails(runs: Runs) -> None:
    """A run that is cancelled while guardrails look is cancelled, and nothing comes after."""
    app = guarded([say("done")], waiting("slow", asyncio.Event(), passed(), mode="parallel"))
    async with runs.working(app):
        run = await runs.start("it")
        await scheduled(run, "guardrail:slow")
        await run.handle.cancel()
        while (await run.handle.describe()).close_time is None:  # noqa: ASYNC110 -- elsewhere
            await asyncio.sleep(0.02)
        status = (await run.handle.describe()).status
        history = await replayed(run)

    assert status is not None
    assert status.name == "CANCELED"
    assert set(order(history)) <= {"guardrail:slow", "call_model"}


async def test_ended_runs_replay_whatever_tripped(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """Each layer in one run, tripping where it can go on."""
    log = str(tmp_path / "log")

    def script(turn: ScriptTurn) -> Reply:
        match turn.number:
            case 1:
                return call("write", log=log, text="beta")
            case 2:
                return call("create_draft", log=log, title="delta")
            case 3:
                return say("gamma")
            case _:
                return say("done")

    found = await ended(
        memory_runs,
        guarded(
            script,
            on_word("calls", "beta", "pre_execution"),
            on_word("effects", "delta", "post_action", tools=("create_draft",)),
            on_word("answers", "gamma", "output"),
        ),
    )

    assert (found.result.status, found.result.answer) == ("completed", "done")
    assert [origin for origin, _ in found.told] == ["goal", "constraint", "constraint"]
    assert lines(log) == ["created delta", "removed delta"]
