"""What isn't taken back: what may still be on its way, and what somebody did who is off."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Risk, Tiers, tool
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.testing import call, say
from tests.control.guarded import on_word
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, note, scripted
from tests.workflows.test_permissions import policy
from tests.workflows.test_switches import switch
from tests.workflows.tiered import staffed

UNDER_WAY: list[asyncio.Task[None]] = []


@tool(risk=Risk.WRITE_INTERNAL)
async def revoke(log: str) -> str:
    """Take back a payment, if there is one."""
    note(log, "revoked" if "paid" in lines(Path(log)) else "nothing to revoke")
    return "revoked"


@tool(risk=Risk.WRITE_INTERNAL, undo="revoke", timeout=2)
async def pay(log: str) -> str:
    """Pay at a bank that takes its time, and lose its answer."""

    async def bank() -> None:
        await asyncio.sleep(1)  # within the time limit of the call
        note(log, "paid")

    UNDER_WAY.append(asyncio.create_task(bank()))
    raise ConnectionError("the line went dead")


async def test_an_undo_waits_for_what_may_be_under_way(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """An answer is blocked after a lost write: it is taken back when it can't be under way."""
    # BY-11
    log = tmp_path / "log"
    allowed = policy(tmp_path, "{id: ok, effect: allow, match: {tools: [pay, revoke]}}")
    polite = on_word("polite", "rude", "output", on_trip="block")
    script = [call("pay", log=str(log)), say("a rude answer")]
    app = scripted(script, tools=[pay], policy=allowed, guardrails=[polite])
    async with memory_runs.working(app):
        result = await (await memory_runs.start("it")).result()

    assert result.status == "blocked"
    assert lines(log) == ["paid", "revoked"]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 1


@tool(risk=Risk.WRITE_INTERNAL, undo="revoke")
async def settle(log: str) -> str:
    """Pay at a bank that answers at once."""
    note(log, "paid")
    return "paid"


@pytest.mark.parametrize("off", ["it", "coder"])
async def test_nothing_is_taken_back_for_who_is_off(runs: Runs, tmp_path: Path, off: str) -> None:
    """What a part did its whole takes back: not where the agent of either is switched off."""
    # BY-31
    looking, may_end, log = asyncio.Event(), asyncio.Event(), tmp_path / "log"

    @guardrail(layer="output", on_trip="block")
    async def strict(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        """Block what it looks at, in its time."""
        looking.set()
        await may_end.wait()
        return tripped("bad")

    app = staffed(
        {"coder": [call("settle", log=str(log)), say("done")]},
        tiers=Tiers(full="coder"),
        tools=(settle, revoke),
        guardrails=[strict],
        policy=policy(tmp_path, "{id: ok, effect: allow, match: {tools: [settle, revoke]}}"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        await looking.wait()
        await switch(runs, "off", "agent", off)
        may_end.set()
        result = await run.result()

    assert lines(log) == ["paid"]
    assert result.compensation is not None
    assert "switched off" in result.compensation.not_undone[0]
