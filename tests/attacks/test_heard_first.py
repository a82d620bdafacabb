"""What comes while a local activity takes long is heard before its step begins anything else."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast import App, Risk, tool
from holdfast.contracts.guardrails import GuardrailResult
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    Subject,
    guardrail,
    judged_by,
    passed,
)
from holdfast.testing import call, say
from tests.control.guarded import on_word
from tests.control.test_held_undoing import put_up, take_down
from tests.control.test_judges import FINE, judged
from tests.histories import names
from tests.memory.instances import without_patches
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.sample import lines, note, scripted
from tests.workflows.tiered import written

SAID: dict[str, JsonValue] = {"suspend": {}, "stop": {"reason": "enough", "by": "dana"}}
REST = {"suspend": "suspended", "stop": "stopped"}


async def _hold(log: str) -> None:
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)


def asking(log: Path) -> App:
    """Its guardrail looks before a model is asked."""

    @guardrail(layer="input", mode="parallel", local=True, timeout=10)
    async def patient(_: Subject, __: GuardrailContext) -> GuardrailResult:
        await _hold(str(log))
        return passed()

    return scripted([say("done")], guardrails=[patient])


def gated(log: Path, *behind: Guardrail) -> App:
    """A guardrail looks at its answer for a while, and others behind that."""

    @guardrail(layer="output", local=True, timeout=10)
    async def patient(_: Subject, __: GuardrailContext) -> GuardrailResult:
        await _hold(str(log))
        return passed()

    return judged([say("done")], [say(FINE)], patient, *behind)


def judging(log: Path) -> App:
    return gated(log, judged_by("critic", layer="output"))


def looking(log: Path) -> App:
    return gated(log, on_word("behind", "bad", "output"))


@tool(risk=Risk.READ_ONLY, timeout=10, local=True, must_succeed=True, max_retries=0)
async def look_out(log: str) -> str:
    """Look out for as long as it takes, in vain."""
    await _hold(log)
    raise ConnectionError("it is dark")


def undoing(log: Path) -> App:
    """A tool fails that must not fail: what was done before is taken back."""
    done = call("put_up", log=f"{log}.undo", title="one")
    script = [done, call("look_out", log=str(log)), say("done")]
    return scripted(script, tools=(put_up, take_down, look_out))


async def _begun(run: MemoryRun) -> list[str]:
    """All that it has begun for somebody else to do, and the runs that work for it."""
    kinds = {"call_model", "take_down", "guardrail:behind"}
    return [*(one for one in names(await run.story()) if one in kinds), *await run.parts()]


async def _told(memory_runs: MemoryRuns, run: MemoryRun, log: Path, word: str) -> None:
    """Say something while a local activity is under way that takes long."""
    await written(log)
    await run.signal(word, SAID[word])
    await memory_runs.pass_time(2)
    Path(f"{log}.go").touch()


@pytest.mark.parametrize("word", list(SAID))
@pytest.mark.parametrize(
    ("build", "before"),
    [(asking, 0), (judging, 1), (looking, 1), (undoing, 2)],
    ids=["model", "judge", "guardrail", "undo"],
)
async def test_nothing_begins_in_a_step_before_all_is_heard(
    memory_runs: MemoryRuns,
    tmp_path: Path,
    build: Callable[[Path], App],
    before: int,
    word: str,
) -> None:
    """Who suspends or stops a run while it takes long in a workflow task is heard by then."""
    # BY-62
    log = tmp_path / "log"
    async with memory_runs.working(build(log)):
        run = await memory_runs.start("it")
        await _told(memory_runs, run, log, word)
        over = await run.rest()
        status, begun = (await run.status()).status, await _begun(run)
        if not over:
            Path(f"{log}.undo.go").touch()
            await run.signal("resume", {})
            await run.result()
        await run.story()

    assert (status, len(begun)) == (REST[word], before)
    assert lines(log)[0] == "held"


async def test_a_run_of_an_earlier_release_heard_later_and_replays(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Its history has an undo that no run begins any more before it has heard."""
    # AD-20
    log = tmp_path / "log"
    Path(f"{log}.undo.go").touch()
    with without_patches():
        async with memory_runs.working(undoing(log)):
            run = await memory_runs.start("it")
            await _told(memory_runs, run, log, "suspend")
            result = await run.result()
    await run.story()

    assert result.status == "failed"
    assert lines(Path(f"{log}.undo")) == ["began one", "ended one"]
