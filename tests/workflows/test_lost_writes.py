"""A write whose answer was lost is waited for where it may still happen, and the run says so."""

from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Reconciled, Risk, ToolContext, tool
from holdfast.cli.screen import Screen
from holdfast.cli.standing import show_view, view
from holdfast.client import Run
from holdfast.contracts.calls import ToolSuccess
from holdfast.testing import call
from holdfast.workflows import options
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import lines, note, scripted, told
from tests.workflows.test_permissions import policy


@tool(risk=Risk.READ_ONLY)
async def find_booking(seat: int) -> Reconciled:
    """Find out whether a seat was booked; it never is."""
    return Reconciled(happened=False)


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_booking", timeout=0.3)
async def book(seat: int) -> str:
    """Book a seat, and lose the answer."""
    raise ConnectionError("the line went dead")


@tool(risk=Risk.WRITE_INTERNAL, retry_backoff=0.01)
async def close_order(log: str, ctx: ToolContext) -> Reconciled:
    """Find out whether something was ordered, and close its key where it wasn't."""
    note(log, f"closed {ctx.idempotency_key}")
    if len(lines(log)) % 2:
        raise ConnectionError("the line went dead once more")
    return Reconciled(happened=False)


@tool(risk=Risk.WRITE_INTERNAL, reconcile="close_order", timeout=0.3)
async def order(log: str, ctx: ToolContext) -> str:
    """Order something, and lose the answer."""
    note(log, f"asked {ctx.idempotency_key}")
    raise ConnectionError("the line went dead")


async def test_what_closes_a_key_is_asked_again(skipping_runs: Runs, tmp_path: Path) -> None:
    """What finds out is a write of its own class, and repeated: what it closed stays closed."""
    # BY-75
    log = tmp_path / "log"
    app = scripted(
        [call("order", log=str(log)), told],
        tools=[order],
        policy=policy(tmp_path, "{id: yes, effect: allow, match: {tools: [order]}}"),
    )
    async with skipping_runs.working(app):
        run = await skipping_runs.start("it")
        result = await run.result()
    asked, *closed = lines(log)

    assert result.answer == "order error"
    # Once at once, and once when it can't be under way any more, of which the answer was lost.
    assert closed == [asked.replace("asked", "closed")] * 3


async def test_it_says_why_it_waits_and_until_when(
    runs: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` and `holdfast show` tell it while the run waits, and nothing of it afterwards."""
    app = scripted(
        [call("book", seat=4), told],
        tools=[book, find_booking],
        policy=policy(tmp_path, "{id: yes, effect: allow, match: {tools: [book]}}"),
    )
    async with runs.working(app):
        run = await runs.start("it")
        while (status := await run.status()).waiting is None:
            pass
        show_view(Screen(), await view(Run(runs.client, run.handle.id)))
        result = await run.result()
        after = await run.status()
    longest = options.longest_call(0.3, sandboxed=False)

    why = "book was cut off and may still happen: find_booking is asked then"
    assert status.waiting.reason == why
    assert timedelta(0) < status.waiting.until - status.started_at < longest + timedelta(minutes=1)
    assert f"waits      {why}; until 20" in capsys.readouterr().out
    assert (after.waiting, result.answer) == (None, "book error")


@tool(risk=Risk.READ_ONLY)
async def find_report(log: str) -> Reconciled:
    """Find a report that was made, which is longer than what a model reads at once."""
    return Reconciled(happened=True, result={"report": "x" * 60_000})


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_report", timeout=0.3)
async def make_report(log: str) -> str:
    """Make a report, and lose the answer."""
    note(log, "made")
    raise ConnectionError("the line went dead")


async def test_who_finds_much_is_heard(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """That it happened is known, however long the answer is, of which a model reads a part."""
    # BY-75
    log = tmp_path / "log"
    app = scripted(
        [call("make_report", log=str(log)), told],
        tools=[make_report],
        policy=policy(tmp_path, "{id: yes, effect: allow, match: {tools: [make_report]}}"),
    )
    async with memory_runs.working(app):
        run = await memory_runs.start("it")
        result = await run.result()
        (found,) = await run.results()

    assert (result.answer, len(result.unresolved)) == ("make_report ok", 0)
    assert isinstance(found, ToolSuccess)
    assert isinstance(found.data, dict)
    assert found.data["truncated"] is True
