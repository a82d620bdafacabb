"""The review of a domain counts for the calls that people read of, as they read them."""

import asyncio
from pathlib import Path

import pytest

from holdfast import App, Risk, Tool, Triggers, tool
from holdfast.contracts.approvals import Review
from holdfast.contracts.errors import ToolError
from holdfast.testing import Script, call
from tests.control.controlled import asked_to_review
from tests.control.guarded import asked_next, decided
from tests.memory.runs import MemoryRuns
from tests.running import Run, Runs
from tests.sample import TOOLS, lines, note, scripted, told
from tests.workflows.test_permissions import policy

PAYMENTS = Triggers(sensitive_domains=("payments",))


@tool(risk=Risk.WRITE_INTERNAL)
async def transfer(log: str, amount: int) -> str:
    """Move an amount of money, unless it is too small."""
    if amount < 100:
        raise ToolError("conflict", "less than the fee")
    note(log, f"moved {amount}")
    return "moved"


def paying(script: Script, folder: Path, *tools: Tool) -> App:
    """An app whose agent may call its tools, and whose domain people review."""
    names = ", ".join(one.contract.name for one in tools)
    allowed = policy(folder, f"{{id: ok, effect: allow, match: {{tools: [{names}]}}}}")
    return scripted(script, tools=(*TOOLS, *tools), policy=allowed, triggers=PAYMENTS)


async def reviewed_again(run: Run, first: Review) -> Review:
    """Wait until a run has its domain reviewed again; fail where it ends without."""
    again = asyncio.create_task(asked_next(run, first))
    ended = asyncio.create_task(run.result())
    await asyncio.wait((again, ended), return_when="FIRST_COMPLETED")
    assert again.done(), "nobody was asked about the other call"
    await run.handle.cancel()
    found = await again
    assert isinstance(found, Review)
    return found


async def test_a_refused_call_uses_no_review_up(runs: Runs, tmp_path: Path) -> None:
    """People read of a small transfer, which is refused: they read of the large one, too."""
    # ES-08
    log = tmp_path / "log"
    script = [
        call("transfer", log=str(log), amount=1),
        call("transfer", log=str(log), amount=1_000_000),
        told,
    ]
    async with runs.working(paying(script, tmp_path, transfer)):
        run = await runs.start("it", domain="payments")
        first = await asked_to_review(run)
        await run.approve(first.request_id)
        second = await reviewed_again(run, first)

    assert "1000000" in second.text
    assert lines(log) == []


async def test_a_draft_uses_no_review_up(memory_runs: MemoryRuns, tmp_path: Path) -> None:
    """People read of a post of which nothing but the draft is made: they read of what follows."""
    # ES-08
    log = str(tmp_path / "log")
    script = [call("post", log=log, text="small"), call("transfer", log=log, amount=500), told]
    async with memory_runs.working(paying(script, tmp_path, transfer)):
        run = await memory_runs.start("it", domain="payments")
        first = await asked_to_review(run)
        await run.approve(first.request_id)
        post = await asked_next(run, first)
        await decided(run, post, "reject")
        second = await asked_next(run, post)
        await run.cancel()

    assert isinstance(second, Review)
    assert not any(line.startswith("moved") for line in lines(tmp_path / "log"))


@tool(risk=Risk.DRAFT_ONLY)
async def sketch(log: str, text: str) -> str:
    """Write down how a transfer might look."""
    note(log, f"sketched {text}")
    return text


async def test_a_draft_that_is_called_uses_no_review_up(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """People read of something harmless, which runs: they read of the transfer behind it, too."""
    # ES-08
    log = str(tmp_path / "log")
    script = [call("sketch", log=log, text="hello"), call("transfer", log=log, amount=500), told]
    async with memory_runs.working(paying(script, tmp_path, sketch, transfer)):
        run = await memory_runs.start("it", domain="payments")
        first = await asked_to_review(run)
        await run.approve(first.request_id)
        second = await asked_next(run, first)
        before = lines(tmp_path / "log")
        await decided(run, second, "approve")
        await run.result()

    assert isinstance(second, Review)
    assert "amount=500" in second.text
    assert before == ["sketched hello"]
    assert lines(tmp_path / "log") == ["sketched hello", "moved 500"]


@pytest.mark.parametrize("changed", [True, False])
async def test_what_a_release_adds_is_read(runs: Runs, tmp_path: Path, *, changed: bool) -> None:
    """A call that another release lets say more, after people read of it, is read again."""
    # ES-08
    log = tmp_path / "log"

    async def pay(log: str, to: str) -> str:
        """Pay somebody what they are owed."""
        note(log, f"paid {to}")
        return "paid"

    async def pay_much(log: str, to: str, amount: int = 1_000_000) -> str:
        """Pay somebody what they are owed, or more."""
        note(log, f"paid {to} {amount}")
        return "paid"

    pay_much.__name__ = "pay"
    script = [call("pay", log=str(log), to="ada"), told]
    before = tool(risk=Risk.WRITE_INTERNAL)(pay)
    after = tool(risk=Risk.WRITE_INTERNAL)(pay_much) if changed else before
    async with runs.working(paying(script, tmp_path, before)):
        run = await runs.start("it", domain="payments")
        first = await asked_to_review(run)
        await run.signal("suspend", {})
        await run.approve(first.request_id)
    async with runs.working(paying(script, tmp_path, after), client=await runs.another_client()):
        await run.signal("resume", {})
        if changed:
            assert "amount=1000000" in (await reviewed_again(run, first)).text
        else:
            await run.result()

    assert lines(log) == ([] if changed else ["paid ada"])
