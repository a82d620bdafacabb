"""A person stops a run: it ends with a result, whatever it was at, and undoes nothing."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from holdfast import Budget, Risk, Tiers, tool
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import RunResult
from holdfast.contracts.signals import MessageOutcome
from holdfast.contracts.transcript import AssistantTurn, ToolTurn
from holdfast.guardrails import passed
from holdfast.testing import Script, call, calls, say
from tests.control.controlled import broken, chained, recorded, why
from tests.control.guarded import NAMED, guarded, order, waiting
from tests.histories import names
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import TOOLS, lines, note, scripted
from tests.workflows.tiered import child, staffed, written

STOP: JsonObject = {"reason": "wrong customer", "by": "dana"}


def holds(result: RunResult) -> None:
    """It ended as one that a person has stopped."""
    stop = why(result)
    assert (result.status, result.answer) == ("stopped", None)
    assert (stop.reason, stop.detail) == ("stopped by a person", "wrong customer")
    assert (stop.ended_by, stop.quotes) == ("dana", False)


async def begun(run: AnyRun, what: str) -> None:
    """Wait until this is under way."""
    while what not in (await run.status()).in_flight:
        await run.pause()


async def answered(run: AnyRun) -> Mapping[str, str]:
    """The status of each call; a provider takes the transcript only where each has its result."""
    items = (await run.transcript()).items
    asked = [one for item in items if isinstance(item, AssistantTurn) for one in item.calls]
    found = [one for item in items if isinstance(item, ToolTurn) for one in item.results]
    assert [one.call_id for one in found] == [one.call_id for one in asked]
    return {one.name: one.status for one in found}


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, timeout=30)
async def keep(log: str, title: str) -> str:
    """Keep something, when the test lets it."""
    note(log, f"began {title}")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    note(log, f"kept {title}")
    return "kept"


async def test_before_a_model_is_asked(memory_runs: MemoryRuns) -> None:
    """A run that is stopped before it begins asks no model."""
    run = await memory_runs.start("it")
    await run.signal("stop", STOP)
    async with memory_runs.working(chained([say("done")])):
        result = await run.result()
        (story,) = await memory_runs.stories(run)

    holds(result)
    assert (result.steps, "call_model" in names(story)) == (0, False)
    assert recorded(story) == ["stopped: stopped by a person"]


async def test_a_model_under_way_is_broken_off(memory_runs: MemoryRuns) -> None:
    """Nobody waits for a model that is asked; of what it says nothing counts."""
    # LP-08 BY-44
    async with memory_runs.working(chained(lambda _: broken("overloaded", wait=600))):
        run = await memory_runs.start("it")
        await begun(run, "model scripted:1")
        await run.signal("stop", STOP)
        result = await run.result()
        await memory_runs.stories(run)

    holds(result)
    assert result.steps == 0


async def test_reads_are_broken_off(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A read under way is ended, and what hasn't begun doesn't begin; each call has a result."""
    # BY-08 BY-44 T-44
    log = tmp_path / "log"
    script = [calls(call("hold", log=str(log)), call("write", log=str(log), text="x"))]
    async with memory_runs.working(chained(script)):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        result = await run.result()
        statuses = await answered(run)
        await memory_runs.stories(run)

    holds(result)
    assert statuses == {"hold": "aborted", "write": "aborted"}
    assert lines(log) == ["held"]


async def test_a_write_comes_to_its_end(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A write under way is waited for; its result is in the transcript, its effect in the end."""
    # BY-08 BY-44
    log = tmp_path / "log"
    script = [
        calls(*(call("keep", log=str(log), title=one) for one in "ab")),
        say("done"),
    ]
    async with memory_runs.working(scripted(script, tools=(*TOOLS, keep))):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        before = (await run.status()).status
        Path(f"{log}.go").touch()
        result = await run.result()
        page = await run.results()
        await memory_runs.stories(run)

    holds(result)
    assert before == "running"
    assert [one.status for one in page] == ["ok", "aborted"]
    assert [one.tool for one in result.effects] == ["keep"]
    assert lines(log) == ["began a", "kept a"]


async def test_a_write_whose_answer_is_lost_is_told(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """What may have happened is in the result as such: it isn't taken for what was broken off."""
    log = tmp_path / "log"
    async with memory_runs.working(chained([call("write_slowly", log=str(log))])):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        result = await run.result()
        statuses = await answered(run)

    holds(result)
    assert statuses == {"write_slowly": "outcome_unknown"}
    assert [one.tool for one in result.unresolved] == ["write_slowly"]


@pytest.mark.parametrize("suspended", [False, True], ids=["waiting", "suspended"])
async def test_nobody_is_asked_any_more(
    memory_runs: MemoryRuns, tmp_path: Path, *, suspended: bool
) -> None:
    """What waited for people is withdrawn; an approval that comes then changes nothing."""
    # BY-44 T-17 T-44
    log = tmp_path / "log"
    async with memory_runs.working(chained([call("send", log=str(log), text="hi")])):
        run = await memory_runs.start("it")
        request = await run.asked_for_approval()
        if suspended:
            await run.signal("suspend", {})
        await run.signal("stop", STOP)
        with suppress(RPCError):  # it may be over by then
            await run.approve(request.request_id)
        result = await run.result()
        pending, statuses = await run.pending(), await answered(run)
        (story,) = await memory_runs.stories(run)

    holds(result)
    assert (pending, statuses, lines(log)) == ((), {"send": "aborted"}, [])
    assert recorded(story)[-1] == "stopped: stopped by a person"


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        pytest.param([call("ask_user", question="Which?")], "question", id="question"),
        pytest.param([call("find", name="a"), call("find", name="b")], "escalation", id="trouble"),
    ],
)
async def test_no_question_is_open_any_more(
    memory_runs: MemoryRuns, script: Script, kind: str
) -> None:
    """What an agent asked is withdrawn, and so is what was to become of a run that got stuck."""
    # BY-44 T-17
    budget = Budget(max_consecutive_failures=2)
    app = scripted(script, tools=TOOLS, budget=budget, escalates=True)
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        (request,) = await run.asked()
        await run.signal("stop", STOP)
        result = await run.result()
        pending = await run.pending()
        await answered(run)
        await memory_runs.stories(run)

    holds(result)
    assert (request.kind, pending) == (kind, ())


async def test_what_guards_a_call_is_broken_off(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """The call that it looks at doesn't run."""
    # BY-44
    log = tmp_path / "log"
    look = waiting("slow", asyncio.Event(), passed(), layer="pre_execution")
    async with memory_runs.working(guarded([call("write", log=str(log), text="x")], look)):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:slow")
        await run.signal("stop", STOP)
        result = await run.result()
        statuses = await answered(run)
        await memory_runs.stories(run)

    holds(result)
    assert (statuses, lines(log)) == ({"write": "aborted"}, [])


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_guardrails_are_broken_off(memory_runs: MemoryRuns, mode: str) -> None:
    """Nobody waits for what looks at words, nor for the model that is asked meanwhile."""
    look = waiting("slow", asyncio.Event(), passed(), mode=mode)  # pyright: ignore[reportArgumentType] -- one of two
    async with memory_runs.working(guarded([say("done")], look)):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:slow")
        await run.signal("stop", STOP)
        result = await run.result()
        await memory_runs.stories(run)

    holds(result)


async def test_an_answer_that_is_looked_at_is_not_let_out(memory_runs: MemoryRuns) -> None:
    """An answer whose guardrails were broken off is none."""
    # SM-05
    look = waiting("slow", asyncio.Event(), passed(), layer="output")
    async with memory_runs.working(guarded([say("the answer")], look)):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:slow")
        await run.signal("stop", STOP)
        result = await run.result()
        page = await run.transcript()
        await memory_runs.stories(run)

    holds(result)
    assert "the answer" not in page.model_dump_json()


async def test_what_was_done_stays(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A stop takes nothing back, and ends what is being taken back after the one under way."""
    log = str(tmp_path / "log")
    app = guarded(
        [calls(*(call("create_draft", log=log, title=one) for one in "ab")), say("a secret")],
        waiting("no_secret", asyncio.Event(), passed(), layer="output"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:no_secret")
        await run.signal("stop", STOP)
        result = await run.result()

    holds(result)
    assert lines(log) == ["created a", "created b"]
    assert [one.tool for one in result.effects] == ["create_draft", "create_draft"]


async def test_a_second_stop_is_refused(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """The first counts, and words for the model have no reader any more."""
    # T-17
    log = tmp_path / "log"
    async with memory_runs.working(
        scripted([call("keep", log=str(log), title="a")], tools=(keep,))
    ):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        await run.signal("stop", {"reason": "again", "by": "erin"})
        await run.signal("steer", {"text": "go on"})
        await run.signal("stop", {"by": "nobody"})
        refused = await run.refusals(3)
        Path(f"{log}.go").touch()
        result = await run.result()

    holds(result)
    assert refused[:2] == ["the run is over", "the run is over"]
    assert "reason" in refused[2]


async def test_parts_are_stopped_with_their_run(runs: Runs, tmp_path: Path) -> None:
    """What works for a run is stopped too, and what it did is in the result of the whole."""
    # BY-52
    log = tmp_path / "log"
    app = staffed(
        {"coder": [call("write", log=str(log), text="x"), call("hold", log=str(log))]},
        tiers=Tiers(full="coder", simplified="clerk"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await written(log, 3)
        await run.signal("stop", STOP)
        result = await run.result()
        part = child(runs, run, "1-full")
        end, of_part = (await part.handle.describe()).status, await part.result()
        await runs.stories(run)

    holds(result)
    holds(of_part)
    assert end is WorkflowExecutionStatus.COMPLETED
    assert [one.tool for one in result.effects] == ["write"]
    assert lines(log) == ["begin x", "end x", "held"]


async def test_on_a_server_a_model_under_way_is_broken_off(runs: Runs) -> None:
    """The call of the model is cancelled, and its history can be replayed."""
    # T-44
    async with runs.working(chained(lambda _: broken("overloaded", wait=600))):
        run = await runs.start("it")
        await begun(run, "model scripted:1")
        outcome = await run.handle.execute_update(  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument out
            "stop", STOP, result_type=MessageOutcome
        )
        result = await run.result()
        await runs.histories(run)

    holds(result)
    assert (outcome.accepted, outcome.code) == (True, "accepted")


async def test_on_a_server_reads_are_broken_off_and_writes_are_not(
    runs: Runs, tmp_path: Path
) -> None:
    """Each comes to the end that it may, and the histories can be replayed."""
    log, other = tmp_path / "log", tmp_path / "other"
    script = {
        "read": [call("hold", log=str(log))],
        "write": [call("keep", log=str(other), title="a")],
    }
    for kind, place in (("read", log), ("write", other)):
        async with runs.working(scripted(script[kind], tools=(*TOOLS, keep))):
            run = await runs.start("it")
            await written(place)
            await run.signal("stop", STOP)
            if kind == "write":
                Path(f"{place}.go").touch()
            result = await run.result()
            (found,) = await run.results()
            (history,) = await runs.histories(run)
        holds(result)
        assert found.status == ("aborted" if kind == "read" else "ok")
        assert order(history)[-1] in {"hold", "keep"}


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, timeout=30)
async def spoil(log: str, title: str) -> str:
    """Fail, when the test lets it."""
    note(log, f"began {title}")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    raise ValueError("spoilt")


@pytest.mark.parametrize("escalates", [False, True], ids=["nobody", "a person"])
async def test_what_fails_after_a_stop_ends_nothing_else(
    memory_runs: MemoryRuns, tmp_path: Path, *, escalates: bool
) -> None:
    """One failure too many is no reason any more, and nobody is asked about it."""
    log = tmp_path / "log"
    app = chained(
        [call("spoil", log=str(log), title="a")],
        tools=(spoil,),
        budget=Budget(max_consecutive_failures=1),
        escalates=escalates,
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("stop", STOP)
        Path(f"{log}.go").touch()
        result = await run.result()
        (story,) = await memory_runs.stories(run)

    holds(result)
    assert not any("req-1" in line for line in recorded(story))
