"""Attacks by size: whatever models, tools and people bring, a run gets on or says why it can't."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.service import RPCError

from holdfast import App, Budget, ResourceScope, Risk, ToolError, tool
from holdfast.contracts import bounds, decisions
from holdfast.contracts.approvals import ApprovalRequest, PendingPage, Request
from holdfast.contracts.calls import ToolFailure, ToolSuccess
from holdfast.contracts.run import RunResult
from holdfast.contracts.transcript import ToolTurn
from holdfast.testing import Reply, call, calls
from holdfast.workflows import payloads
from tests.memory.runs import MemoryRuns
from tests.running import AnyRun, Run, Runs
from tests.sample import TOOLS, look, scripted, send, told
from tests.workflows.test_permissions import policy

WIDE = "\U0001f600"


@tool(risk=Risk.READ_ONLY, local=True, timeout=10)
async def page(number: int) -> str:
    """Read a page of 20 kB."""
    return f"{number}: ".ljust(19_900, "x")


@tool(risk=Risk.READ_ONLY)
async def refuse(number: int) -> str:
    """Refuse with more words than anybody reads."""
    raise ToolError("not_found", f"{number}: ".ljust(3_900, "\u20ac"), ("\u20ac" * 3_900,) * 10)


@tool(risk=Risk.READ_ONLY, local=True, timeout=10)
async def crash(number: int) -> str:
    """Fail with a text of 100 kB."""
    raise RuntimeError(f"{number}: ".ljust(100_000, "x"))


@tool(risk=Risk.DRAFT_ONLY)
async def draft_letter(number: int, size: int) -> str:
    """Write a letter of so many characters."""
    return f"{number}: ".ljust(size, "x")


@tool(risk=Risk.COMMUNICATION, draft="draft_letter")
async def letter(number: int, size: int) -> str:
    """Send a letter of so many characters."""
    return f"sent {number} of {size}"


@tool(risk=Risk.WRITE_INTERNAL, scope=ResourceScope(kind="tenant", argument="tenant"))
async def transfer(tenant: str, amount: Decimal) -> str:
    """Transfer an amount to somebody of this tenant."""
    return f"{amount} for {tenant}"


def app(first: Reply) -> App:
    """An app whose agent asks for something large, and then tells how the results were."""
    return scripted([first, told], tools=[page, refuse, crash, letter])


def many(name: str, count: int, **arguments: JsonValue) -> Reply:
    return calls(*(call(name, number=number, **arguments) for number in range(count)))


async def outcome(run: AnyRun) -> list[str]:
    """How each of the results was."""
    result = await run.result()
    assert result.answer is not None
    return [one.split()[-1] for one in result.answer.split("; ")]


@pytest.mark.slow
async def test_two_hundred_local_reads_of_a_turn(memory_runs: MemoryRuns) -> None:
    """They don't fit into the end of one workflow task together, so they run in batches."""
    async with memory_runs.working(app(many("page", 200))):
        run = await memory_runs.start("it")
        found = await outcome(run)
        results = await run.results()

    assert found == ["ok"] * 200
    whole = [one for one in results if isinstance(one, ToolSuccess) and one.data is not None]
    stubs = [one for one in results if isinstance(one, ToolSuccess) and one.data is None]
    assert 20 <= len(whole) < 30
    assert all(one.summary.startswith("left out by now; it began:") for one in stubs)


@pytest.mark.parametrize("name", ["refuse", "crash"])
@pytest.mark.slow
async def test_two_hundred_long_failures_of_a_turn(memory_runs: MemoryRuns, name: str) -> None:
    """What failures say is bounded as results are, each and together, with a note."""
    async with memory_runs.working(app(many(name, 200))):
        run = await memory_runs.start(
            "it", budget={"max_consecutive_failures": 500, "max_tool_retries": 0}
        )
        found = await outcome(run)
        turns = [item for item in (await run.transcript()).items if isinstance(item, ToolTurn)]

    assert found == ["error"] * 200
    assert len(turns[0].model_dump_json().encode()) < 510_000
    last = turns[0].results[-1]
    assert isinstance(last, ToolFailure)
    assert last.reason.endswith("characters left out)")


async def a_stranger(runs: Runs, run: Run) -> Run:
    """Return a run as a client sees it that keeps to no bounds."""
    address = runs.client.service_client.config.target_host
    client = await Client.connect(address, data_converter=pydantic_data_converter)
    return Run(client.get_workflow_handle(run.handle.id, result_type=RunResult))


async def test_a_signal_larger_than_any_of_ours(runs: Runs) -> None:
    """The server refuses it: it would be the largest part of a history."""
    # T-33
    async with runs.working(app(many("letter", 1, size=10))):
        run = await runs.start("it")
        (request,) = await run.asked()
        stranger = await a_stranger(runs, run)
        with pytest.raises(RPCError, match="size exceeds limit"):
            await stranger.signal("steer", {"text": "x" * bounds.MAX_BLOB_BYTES})
        await run.approve(request.request_id, "alice")

        assert await outcome(run) == ["ok"]


async def test_large_updates_at_once(runs: Runs) -> None:
    """The server lets in no more of them than a worker's answer has room for, which has each."""
    # T-33
    async with runs.working(app(many("letter", 1, size=10))):
        run = await runs.start("it")
        (request,) = await run.asked()
        stranger = await a_stranger(runs, run)
        large: JsonValue = {"request_id": "req-9", "decision": "approve", "reason": "x" * 900_000}
        found = await asyncio.gather(
            *(stranger.decide(large) for _ in range(8)),
            return_exceptions=True,
        )
        await run.approve(request.request_id, "alice")

        assert len(found) == 8
        assert await outcome(run) == ["ok"]


async def heard(run: Run, count: int) -> None:
    """
    Wait until so many messages were refused, through the run's going on in a new execution.

    A query for an execution that ends at that moment may be answered by a replay of a part of its
    last task (core of 1.35), which takes it for another workflow; whole, that history replays.
    Or by nobody, and the server gives up.
    """
    while True:
        try:
            await run.refusals(count)
        except (WorkflowQueryFailedError, RPCError):
            await run.pause()
        else:
            return


async def test_more_megabytes_of_signals_than_a_history_may_have(runs: Runs) -> None:
    """A run goes on in a new execution long before the server would end it."""
    # T-33
    async with runs.working(app(many("letter", 1, size=10))):
        run = await runs.start("it")
        (request,) = await run.asked()
        stranger = await a_stranger(runs, run)
        for sent in range(1, 56):
            await stranger.signal("steer", {"text": "x" * 1_000_000})
            await heard(run, sent)  # a worker that is there keeps up
        await run.approve(request.request_id, "alice")
        statuses, status = await outcome(run), await run.status()

    assert statuses == ["ok"]
    assert status.refused_total == 55


async def page_of(run: Run, offset: int) -> PendingPage:
    return await run.handle.query("pending", {"offset": offset}, result_type=PendingPage)


async def test_more_drafts_than_can_be_shown(runs: Runs) -> None:
    """Those that people can't be shown together are denied; what waits may be decided."""
    async with runs.working(app(many("letter", 30, size=19_000))):
        run = await runs.start("it", budget={"max_consecutive_failures": 50})
        listed = await run.asked()
        paged: list[Request] = []
        offset: int | None = 0
        while offset is not None:
            found = await page_of(run, offset)
            paged += found.items
            offset = found.next_offset
        for request in listed:
            await run.approve(request.request_id, "alice")
        statuses = await outcome(run)

    assert [one.request_id for one in paged] == [one.request_id for one in listed]
    assert all(
        isinstance(one, ApprovalRequest) and len(str(one.preview)) == 19_000 for one in paged
    )
    assert len(listed) == statuses.count("ok") == 13
    assert statuses.count("denied") == 17


def transfers(count: int, fill: str) -> App:
    """An app whose agent wants so many transfers, each for a tenant of a long name."""
    asked = (call("transfer", tenant=f"{n:03}{fill}", amount="1.50") for n in range(count))
    budget = Budget(max_steps=9, max_consecutive_failures=500)
    return scripted([calls(*asked), told], tools=[transfer], budget=budget)


@pytest.mark.slow
@pytest.mark.parametrize(("count", "fill"), [(200, WIDE * 640), (150, WIDE * 900)])
async def test_many_rulings_that_quote_their_calls_fit(
    memory_runs: MemoryRuns, count: int, fill: str
) -> None:
    """Each says of which tenant a call is; together that is more than a payload has."""
    async with memory_runs.working(transfers(count, fill)):
        run = await memory_runs.start("it")
        result = await run.result()
        found = await run.results()

    assert result.status == "completed"
    assert [one.status for one in found] == ["denied"] * count


async def test_a_question_to_a_model_that_cant_be_sent_ends_the_run(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn larger than a payload may be here: nobody is asked, and what was done is told."""
    log = str(tmp_path / "log")
    script = [call("send", log=log, text="hi"), call("look", place="x" * 15_000), told]
    allow = policy(tmp_path, "{id: all, effect: allow, match: {tools: [send]}}")
    monkeypatch.setattr(payloads, "MAX_PAYLOAD_BYTES", 30_000)
    app = scripted(script, tools=[send, look], policy=allow)
    async with runs.working(app, cached_transcripts=0):  # so each call says what history has
        result = await (await runs.start("it")).result()

    assert result.status == "failed"
    assert result.stop is not None
    assert result.stop.reason == "model failed: context_overflow"
    assert "ModelCall has 3" in result.stop.detail
    assert [effect.tool for effect in result.effects] == ["send"]


async def test_rulings_that_cant_be_sent_end_the_run(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is too large in a way that nobody thought of: a run ends, and says what it did."""
    monkeypatch.setattr(decisions, "MAX_RULINGS_BYTES", bounds.MAX_COUNT)
    log = tmp_path / "log"
    asked = (call("transfer", tenant=f"{n:03}{WIDE * 640}", amount="1.50") for n in range(200))
    script = [call("send", log=str(log), text="hi"), calls(*asked), told]
    allow = policy(tmp_path, "{id: all, effect: allow, match: {tools: [send]}}")
    async with runs.working(scripted(script, tools=[*TOOLS, transfer], policy=allow)):
        result = await (await runs.start("it")).result()

    assert result.status == "stopped"
    assert result.stop is not None
    assert result.stop.reason == "a call is too large to be decided"
    assert "Rulings has 1," in result.stop.detail
    assert [effect.tool for effect in result.effects] == ["send"]
