"""Words of a person that can't wait: what changes nothing is broken off for them."""

import asyncio
from pathlib import Path

import pytest

from holdfast.contracts.base import JsonObject
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.controlled import asked_models, broken, chained
from tests.control.guarded import guarded, waiting
from tests.control.test_stops import answered, begun, keep
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Runs
from tests.sample import TOOLS, lines, scripted
from tests.workflows.delegating import ask, desk, holding
from tests.workflows.tiered import written

NOW: JsonObject = {"text": "the other one", "by": "dana", "now": True}


async def said(run: AnyRun) -> list[str]:
    """What people said, as the model reads it."""
    items = (await run.transcript()).items
    return [item.text for item in items if isinstance(item, UserTurn) and item.origin == "steer"]


def busy_once() -> Script:
    """A model that doesn't answer before somebody says something."""

    def script(turn: ScriptTurn) -> Reply:
        heard = "the other one" in str(turn.transcript)
        return say("done") if heard else broken("overloaded", wait=600)

    return script


async def test_a_model_under_way_reads_them_next(memory_runs: MemoryRuns) -> None:
    """The call is broken off, and the words are in the one that follows."""
    # LP-08 BY-44
    async with memory_runs.working(chained(busy_once())):
        run = await memory_runs.start("it")
        await begun(run, "model scripted:1")
        await run.signal("steer", NOW)
        result = await run.result()
        heard = await said(run)
        (story,) = await memory_runs.stories(run)

    assert (result.status, result.answer, result.steps) == ("completed", "done", 1)
    assert (heard, len(asked_models(story))) == (["the other one"], 2)


async def test_on_a_server_a_model_under_way_reads_them_next(runs: Runs) -> None:
    """So it is on a server, and its history can be replayed."""
    async with runs.working(chained(busy_once())):
        run = await runs.start("it")
        await begun(run, "model scripted:1")
        await run.signal("steer", NOW)
        result = await run.result()
        await runs.histories(run)

    assert (result.status, result.answer, result.steps) == ("completed", "done", 1)


@pytest.mark.parametrize("now", [False, True])
async def test_reads_are_broken_off_for_them(
    memory_runs: MemoryRuns, tmp_path: Path, *, now: bool
) -> None:
    """A read under way has a result that says so; without `now` it goes on as ever."""
    # BY-08 BY-44
    log = tmp_path / "log"
    script = [call("hold", log=str(log)), say("done")]
    async with memory_runs.working(chained(script)):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("steer", {**NOW, "now": now})
        if not now:
            Path(f"{log}.go").touch()
        result = await run.result()
        statuses, heard = await answered(run), await said(run)
        await memory_runs.stories(run)

    assert result.answer == "done"
    assert statuses == {"hold": "aborted" if now else "ok"}
    assert heard == ["the other one"]


async def test_a_write_is_never_broken_off(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A call that changes something comes to its end, and the words are read after it."""
    # BY-08 BY-44
    log = tmp_path / "log"
    script = [call("keep", log=str(log), title="a"), say("done")]
    async with memory_runs.working(scripted(script, tools=(*TOOLS, keep))):
        run = await memory_runs.start("it")
        await written(log)
        await run.signal("steer", NOW)
        waits = await run.status()
        Path(f"{log}.go").touch()
        result = await run.result()
        statuses = await answered(run)
        await memory_runs.stories(run)

    assert waits.in_flight == ("tool keep",)
    assert (result.answer, statuses) == ("done", {"keep": "ok"})
    assert lines(log) == ["began a", "kept a"]


async def test_what_looks_at_an_answer_is_broken_off(memory_runs: MemoryRuns) -> None:
    """An answer that was given before the words is none, and nobody need look at it."""
    looked: list[str] = []

    @guardrail(layer="output")
    async def slow(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        looked.append(subject.text)
        if len(looked) == 1:
            await asyncio.Event().wait()
        return passed()

    async with memory_runs.working(guarded([say("this one"), say("the other")], slow)):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:slow")
        await run.signal("steer", NOW)
        result = await run.result()
        await memory_runs.stories(run)

    assert (result.status, result.answer) == ("completed", "the other")
    assert looked == ["this one", "the other"]


@pytest.mark.parametrize("mode", ["blocking", "parallel"])
async def test_no_guardrail_is_passed_by(memory_runs: MemoryRuns, mode: str) -> None:
    """What was broken off looks anew: bad words that come meanwhile block the run."""
    looked: list[str] = []

    async def slow(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        looked.append(subject.text)
        if len(looked) == 1:
            await asyncio.Event().wait()
        bad = "bad" in subject.text
        return GuardrailResult(tripwire_triggered=bad, reason="it says bad" if bad else "")

    look = guardrail(layer="input", mode=mode, watches=("goal", "words"))(slow)  # pyright: ignore[reportArgumentType] -- one of two
    async with memory_runs.working(guarded([say("done")], look)):
        run = await memory_runs.start("it", "bad from the beginning")
        await begun(run, "guardrail:slow")
        await run.signal("steer", NOW)
        result = await run.result()
        await memory_runs.stories(run)

    assert (result.status, result.answer) == ("blocked", None)
    assert looked[:2] == ["bad from the beginning"] * 2


async def test_what_looks_anew_comes_to_its_end(memory_runs: MemoryRuns) -> None:
    """Each look is sent all that a model would read: it isn't, for each of many words."""
    # BY-44
    looked, go = list[str](), asyncio.Event()

    @guardrail(layer="input")
    async def slow(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        looked.append(subject.text)
        await go.wait()
        return passed()

    async with memory_runs.working(guarded([say("done")], slow)):
        run = await memory_runs.start("it", "the goal")
        for _ in range(5):
            await begun(run, "guardrail:slow")
            await run.signal("steer", NOW)
            await run.pause()
        go.set()
        result = await run.result()
        heard = await said(run)
        await memory_runs.stories(run)

    assert (result.status, result.answer) == ("completed", "done")
    assert (looked, len(heard)) == (["the goal"] * 2, 5)


async def test_what_guards_calls_is_not_broken_off(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Calls of a turn are looked at and run as ever: a model reads on when they have ended."""
    log, go = tmp_path / "log", asyncio.Event()
    look = waiting("careful", go, passed(), layer="pre_execution")
    script = [call("write", log=str(log), text="x"), say("done")]
    async with memory_runs.working(guarded(script, look)):
        run = await memory_runs.start("it")
        await begun(run, "guardrail:careful")
        await run.signal("steer", NOW)
        still = (await run.status()).in_flight
        go.set()
        result = await run.result()

    assert (still, result.answer) == (("guardrail:careful",), "done")
    assert lines(log) == ["begin x", "end x"]


async def test_who_is_asked_is_asked_on(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """A wait for people is none that words end: it stays, and they are read behind it."""
    # BY-44
    async with memory_runs.working(
        scripted([call("send", log=str(tmp_path / "log"), text="x"), say("done")])
    ):
        run = await memory_runs.start("it")
        asked = await run.asked_for_approval()
        await run.signal("steer", NOW)
        still = await run.pending()
        await run.approve(asked.request_id)
        result = await run.result()
        heard, statuses = await said(run), await answered(run)
        await memory_runs.stories(run)

    assert still == (asked,)
    assert (result.status, result.answer) == ("completed", "done")
    assert (heard, statuses) == (["the other one"], {"send": "ok"})


async def test_a_question_stays_open(memory_runs: MemoryRuns) -> None:
    """Its answer comes first, and the words behind it."""
    # BY-44
    script = [call("ask_user", question="Which?"), say("done")]
    async with memory_runs.working(scripted(script, tools=TOOLS)):
        run = await memory_runs.start("it")
        asked = await run.asked()
        await run.signal("steer", NOW)
        still = await run.pending()
        await run.signal("answer", {"request_id": asked[0].request_id, "text": "the red one"})
        result = await run.result()
        heard, statuses = await said(run), await answered(run)
        await memory_runs.stories(run)

    assert still == asked
    assert (result.status, result.answer) == ("completed", "done")
    assert (heard, statuses) == (["the other one"], {"ask_user": "ok"})


async def test_no_part_of_a_run_is_broken_off(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """What works for a run comes to its end, reads too: the words are for who gave the task."""
    # BY-44
    log = tmp_path / "log"
    app = desk([ask("tides"), say("It is so.")], holding(log))
    async with memory_runs.working(app):
        run = await memory_runs.start("desk")
        await written(log)
        await run.signal("steer", NOW)
        Path(f"{log}.go").touch()
        result = await run.result()
        heard, statuses = await said(run), await answered(run)
        part = run.part("1-researcher")
        theirs = await said(part), await answered(part)
        await memory_runs.stories(run)

    assert (result.status, result.answer) == ("completed", "It is so.")
    assert (heard, statuses) == (["the other one"], {"delegate_to_researcher": "ok"})
    assert theirs == ([], {"hold": "ok"})
