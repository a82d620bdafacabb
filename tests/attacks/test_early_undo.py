"""What may have happened isn't taken back while it may still be on its way."""

import asyncio
from pathlib import Path

from holdfast import Risk, tool
from holdfast.testing import call, say
from tests.control.guarded import on_word
from tests.running import Runs
from tests.sample import lines, note, scripted
from tests.workflows.test_permissions import policy

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


async def test_an_undo_waits_for_what_may_be_under_way(runs: Runs, tmp_path: Path) -> None:
    """An answer is blocked after a lost write: it is taken back when it can't be under way."""
    # BY-11
    log = tmp_path / "log"
    allowed = policy(tmp_path, "{id: ok, effect: allow, match: {tools: [pay, revoke]}}")
    polite = on_word("polite", "rude", "output", on_trip="block")
    script = [call("pay", log=str(log)), say("a rude answer")]
    app = scripted(script, tools=[pay], policy=allowed, guardrails=[polite])
    async with runs.working(app):
        result = await (await runs.start("it")).result()

    assert result.status == "blocked"
    assert lines(log) == ["paid", "revoked"]
    assert result.compensation is not None
    assert len(result.compensation.undone) == 1
