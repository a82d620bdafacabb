"""The worker of the support desk is killed while money moves, and the books have it once."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import Client

from examples.support import refunds
from holdfast.contracts.run import RunResult
from holdfast.trace.reader import read_trace
from holdfast.trace.transcript import lines
from tests.durability import processes
from tests.durability.processes import Process
from tests.examples.approvers import Approver, trusted
from tests.running import Run

pytestmark = pytest.mark.slow

GOAL = "Order 1044 came broken, the customer wants 29.00 back"
DESK = "examples.support.app:app"
SILENT = "tests.examples.silent:app"


@dataclass(frozen=True)
class Shop:
    """A server of its own, the people of the shop, its books, and workers that can be killed."""

    port: int
    client: Client
    home: Path
    fiona: Approver

    @property
    def books(self) -> Path:
        return self.home / "books.db"

    def worker(self, app: str) -> Process:
        return processes.worker(self.port, app, self.home)

    async def started(self) -> Run:
        handle = await self.client.start_workflow(
            "AgentRun",
            {"agent": "support", "input": GOAL, "actor": "walk-in"},
            id="refund",
            task_queue="holdfast",
            result_type=RunResult,
        )
        return Run(handle)

    async def approve(self, run: Run) -> str:
        """Approve what waits and say which call that was."""
        request = await run.asked_for_approval()
        await run.signal("approval", self.fiona.signed(run.handle.id, request))
        return request.call_id

    def paid(self) -> list[tuple[int, Decimal]]:
        return [(refund.order_id, refund.amount) for refund in refunds.every(self.books)]


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Shop]:
    """Have a shop while the block lasts."""
    port = processes.free_port()
    server = processes.server(port, folder / "temporal.db")
    await server.start()
    try:
        client = await processes.connected(port)
        (fiona,) = trusted(folder / "home", "fiona")
        yield Shop(port, client, folder / "home", fiona)
    finally:
        await server.kill()


async def begun(run: Run, activity: str) -> None:
    """Wait until a worker has taken an activity of this name."""
    while True:
        description = await run.handle.describe()
        for pending in description.raw_description.pending_activities:
            state = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
            if (pending.activity_type.name, pending.state) == (activity, state):
                return
        await asyncio.sleep(0.02)


async def asked_again(run: Run, first_call: str) -> None:
    """Wait until another call than the first waits for approval."""
    while (await run.asked_for_approval()).call_id == first_call:  # noqa: ASYNC110 -- elsewhere
        await asyncio.sleep(0.02)


async def told(run: Run) -> str:
    """What `holdfast trace` prints of a run."""
    trace = read_trace((await run.handle.fetch_history(),))
    return "\n".join(map(str, lines(trace)))


async def test_a_worker_is_killed_after_the_refund_was_paid(tmp_path: Path) -> None:
    """Nobody pays again: the refund is found in the books, and the trace says how."""
    # BY-11 RK-09 T-03
    async with opened(tmp_path) as shop:
        silent, desk = shop.worker(SILENT), shop.worker(DESK)
        try:
            await silent.start()
            run = await shop.started()
            await shop.approve(run)
            while not shop.paid():  # noqa: ASYNC110 -- another process pays
                await asyncio.sleep(0.01)
            await silent.kill()
            await desk.start()
            result = await run.result()
            trace = await told(run)
        finally:
            await silent.kill()
            await desk.kill()

        assert shop.paid() == [(1044, Decimal("29.00"))]
    assert result.answer == "29.00 EUR of order 1044 were refunded (refund 1)."
    assert result.steps == 3
    assert "it happened, says find_refund; its own answer was lost" in trace


async def test_a_worker_is_killed_before_the_refund_was_paid(tmp_path: Path) -> None:
    """It is known that nothing happened, so the model asks again, and a person approves again."""
    # BY-11 RK-09
    async with opened(tmp_path) as shop:
        first, second = shop.worker(DESK), shop.worker(DESK)
        try:
            await first.start()
            run = await shop.started()
            await run.asked_for_approval()
            with closing(sqlite3.connect(shop.books, isolation_level=None)) as holder:
                holder.execute("BEGIN IMMEDIATE")  # so that nobody else can pay
                first_call = await shop.approve(run)
                await begun(run, "issue_refund")
                await first.kill()
                holder.execute("ROLLBACK")
            await second.start()
            await asked_again(run, first_call)
            before = shop.paid()
            second_call = await shop.approve(run)
            result = await run.result()
            trace = await told(run)
        finally:
            await first.kill()
            await second.kill()

        assert (before, shop.paid()) == ([], [(1044, Decimal("29.00"))])
    assert first_call != second_call
    assert "it didn't happen, says find_refund" in trace
    assert result.answer == "29.00 EUR of order 1044 were refunded (refund 1)."
