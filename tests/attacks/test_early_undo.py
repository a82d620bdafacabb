"""What isn't taken back: what may still be on its way, and what somebody did who is off."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Risk, Tiers, tool
from holdfast.contracts.calls import ToolFailure
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from holdfast.testing import Reply, ScriptTurn, call, say
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


@tool(risk=Risk.WRITE_INTERNAL)
async def revoke_unheard(log: str) -> str:
    """Take back a payment, and lose the answer."""
    note(log, "revoked")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL, undo="revoke_unheard")
async def transfer(log: str) -> str:
    """Pay at a bank that answers at once."""
    note(log, "paid")
    return "paid"


async def test_nobody_knows_what_stands_where_the_answer_of_its_undo_is_lost(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """The model tries again, and neither it nor the result is told that the payment was made."""
    # BY-11 GR-13
    log = tmp_path / "log"
    allowed = policy(
        tmp_path, "{id: ok, effect: allow, match: {tools: [transfer, revoke_unheard]}}"
    )
    pay_it = call("transfer", log=str(log))
    replies = (pay_it, say("a rude answer"), pay_it, say("an answer"))

    def script(turn: ScriptTurn) -> Reply:
        return replies[turn.number - 1]

    polite = on_word("polite", "rude", "output")
    app = scripted(script, tools=[transfer], policy=allowed, guardrails=[polite])
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        results = await run.results()

    assert (result.answer, lines(log)) == ("an answer", ["paid", "revoked"])
    assert [one.status for one in results] == ["ok", "denied"]
    assert isinstance(results[1], ToolFailure)
    assert "nobody knows whether it happened" in results[1].reason
    assert result.effects == ()
    doubtful, undo = result.unresolved
    assert doubtful.summary.endswith(", unless it was taken back")
    assert undo.tool == "revoke_unheard"
    assert result.compensation is not None
    assert (result.compensation.undone, len(result.compensation.not_undone)) == ((), 1)


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
