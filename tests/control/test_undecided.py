"""A guardrail that can't decide has tripped: the run ends with a reason, and never hangs."""

import asyncio
from pathlib import Path
from typing import cast

import pytest

from holdfast import App
from holdfast.activities.callers import NOT_HERE
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.guardrails import GuardrailResult
from holdfast.guardrails import Guardrail, GuardrailContext, Subject, guardrail, passed
from holdfast.testing import call, say
from tests.control.guarded import ended, guarded, on_word, order, replayed, waiting
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines


async def raising(_: Subject, __: GuardrailContext) -> GuardrailResult:
    raise ZeroDivisionError("no such luck")


async def saying_nothing(_: Subject, __: GuardrailContext) -> GuardrailResult:
    return cast("GuardrailResult", None)  # as user code may


FLAWED = [
    pytest.param(raising, {}, "no such luck", id="raises"),
    pytest.param(raising, {"local": True}, "no such luck", id="raises in the workflow task"),
    pytest.param(saying_nothing, {}, "it returned NoneType", id="says nothing"),
]


@pytest.mark.parametrize(("function", "terms", "why"), FLAWED)
async def test_one_that_raises_blocks(
    memory_runs: MemoryRuns, function: object, terms: dict[str, bool], why: str
) -> None:
    """Whatever it raises: the model is never asked, and the run completes with the reason."""
    # T-10 GR-07
    broken = guardrail(layer="input", **terms)(function)  # pyright: ignore[reportArgumentType] -- a parameter of the test

    result, history, *_ = await ended(memory_runs, guarded([say("done")], broken))

    assert (result.status, result.steps) == ("blocked", 0)
    assert result.stop is not None
    assert result.stop.reason.startswith(f"{broken.spec.name} can't decide: ")
    assert why in result.stop.reason
    assert set(order(history)) == {f"guardrail:{broken.spec.name}"}


@pytest.mark.parametrize("local", [False, True])
async def test_one_that_takes_too_long_blocks(memory_runs: MemoryRuns, *, local: bool) -> None:
    """Its time is up, every time that it is tried."""  # T-10
    slow = waiting("slow", asyncio.Event(), passed(), timeout=0.05, local=local)

    result, history, *_ = await ended(memory_runs, guarded([say("done")], slow))

    assert (result.status, result.steps) == ("blocked", 0)
    assert result.stop is not None
    assert result.stop.reason.startswith("slow can't decide: ")
    assert "call_model" not in order(history)


async def test_a_call_that_nobody_can_judge_is_denied(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """It doesn't run; the model is told why, and the loop goes on."""  # T-10 T-07
    broken = guardrail(layer="pre_execution")(raising)
    log = tmp_path / "log"
    script = [call("write", log=str(log), text="x"), say("done")]

    result, _, (failure,), _ = await ended(memory_runs, guarded(script, broken))

    assert isinstance(failure, ToolFailure)
    assert (result.status, lines(log)) == ("completed", [])
    assert (failure.status, failure.type) == ("denied", "permission_denied")
    assert "guardrail raising: raising can't decide" in failure.reason


async def test_an_answer_that_nobody_can_judge_is_withheld(memory_runs: MemoryRuns) -> None:
    """It is tried again so often, and never released."""  # T-10 GR-14
    broken = guardrail(layer="output")(raising)
    app = guarded(lambda turn: say(f"answer {turn.number}"), broken, max_output_retries=1)

    result, *_ = await ended(memory_runs, app)

    assert (result.status, result.answer, result.steps) == ("blocked", None, 2)


async def test_one_that_the_worker_lacks_is_waited_for(runs: Runs) -> None:
    """Where the app was deployed without its guardrail nothing is let through, nor blocked."""

    # T-10
    def app(*guardrails: Guardrail) -> App:
        return guarded([call("ask_user", question="Which?"), say("bad")], *guardrails)

    whole = app(on_word("no_bad", "bad", "output", on_trip="block"))
    async with runs.working(whole):
        run = await runs.start("it")
        request = (await run.asked())[0]
    async with runs.working(app(), client=await runs.another_client()):
        await run.signal("answer", {"request_id": request.request_id, "text": "this"})
        while NOT_HERE not in str(await run.handle.describe()):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        waiting = await run.status()
    async with runs.working(whole, client=await runs.another_client()):
        result = await run.result()
        await replayed(run)

    assert (waiting.status, waiting.answer) == ("running", None)
    assert (result.status, result.answer) == ("blocked", None)


async def test_quick_ones_have_the_time_of_all_of_them(memory_runs: MemoryRuns) -> None:
    """Those that share an activity look one after the other: the first's limit isn't for all."""
    quick = on_word("quick", "bad", "input", local=True, timeout=0.05)

    async def later(_: Subject, __: GuardrailContext) -> GuardrailResult:
        await asyncio.wait({asyncio.create_task(never.wait())}, timeout=0.2)
        return passed()

    never = asyncio.Event()
    second = guardrail(layer="input", local=True, timeout=5)(later)

    result, *_ = await ended(memory_runs, guarded([say("done")], quick, second))

    assert result.status == "completed"
