"""How long a run stands still when its worker is killed and a fresh one starts at once."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import NamedTuple
from uuid import uuid4

from temporalio.api.enums.v1 import EventType, PendingActivityState
from temporalio.client import Client, WorkflowQueryFailedError

from bench.goals import Tally
from bench.processes import WorkerProcess, worker_process
from bench.samples import Handle
from holdfast.client.holdfast import TASK_TIMEOUT
from holdfast.contracts.run import WORKFLOW_TYPE

POLL = 0.02
"""Seconds."""

STARTED = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED

_QUEUES = count(1)

Act = Callable[[Handle, WorkerProcess], Awaitable[None]]


class Case(NamedTuple):
    """What the run is doing when its worker is killed, and the most that it may stand still."""

    name: str
    agent: str
    before: Act
    after: Act
    goal: float


async def recover(client: Client, tally: Tally, repeats: int | None) -> None:
    """Print the table: each case several times, the slowest counts."""
    print("\nRecovery: from kill -9 until the run moves again, with a fresh worker at once")
    print(f"{'':40}{'slowest':>10}{'all':>24}  goal", flush=True)
    for case in CASES:
        times = [await _stood_still(client, case) for _ in range(repeats or 2)]
        all_times = " ".join(f"{seconds:.1f}" for seconds in times)
        missed = tally.judge(f"recovery, {case.name}: time", max(times), case.goal, " s")
        print(f"{case.name:40}{max(times):8.1f} s{all_times:>24}  {missed or 'kept'}", flush=True)


async def _stood_still(client: Client, case: Case) -> float:
    address = client.service_client.config.target_host
    queue = f"recovery-{next(_QUEUES)}"
    async with worker_process(address, "ours", queue=queue) as first:
        handle: Handle = await client.start_workflow(
            WORKFLOW_TYPE,
            {"agent": case.agent, "input": "go"},
            id=f"recovery-{uuid4().hex[:12]}",
            task_queue=queue,
            task_timeout=TASK_TIMEOUT,
        )
        await case.before(handle, first)
        killed = time.time()
        await first.kill()
    async with worker_process(address, "ours", queue=queue) as second:
        await case.after(handle, second)
        moved = await _moved(handle, killed)
        await handle.result()
    return moved - killed


async def _moved(handle: Handle, since: float) -> float:
    async for event in handle.fetch_history_events(wait_new_event=True):
        moment = event.event_time.ToNanoseconds() / 1e9
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED and moment > since:
            return moment
    raise SystemExit("bench: the run ended without a sign of recovery")


async def _waits(handle: Handle, _: WorkerProcess) -> None:
    waiting = False
    while not waiting:
        await asyncio.sleep(POLL)
        with contextlib.suppress(WorkflowQueryFailedError):  # it is still being opened
            waiting = bool(await handle.query("pending"))


async def _answer(handle: Handle, _: WorkerProcess) -> None:
    await handle.signal("answer", {"request_id": "req-1", "text": "All of them."})


async def _has_task(handle: Handle, worker: WorkerProcess) -> None:
    """Leave the worker with a workflow task that it took and will never finish."""
    await _waits(handle, worker)
    worker.freeze()
    await _answer(handle, worker)
    latest = None
    while latest != EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
        await asyncio.sleep(POLL)
        latest = (await handle.fetch_history()).events[-1].event_type


def _has(activity: str) -> Act:
    """Leave the worker with an activity of this type that it has started."""

    async def act(handle: Handle, _: WorkerProcess) -> None:
        while True:
            pending = (await handle.describe()).raw_description.pending_activities
            if any(
                (each.activity_type.name, each.state) == (activity, STARTED) for each in pending
            ):
                return
            await asyncio.sleep(POLL)

    return act


async def _nothing(_: Handle, __: WorkerProcess) -> None:
    return


CASES = (
    Case("waits, signalled after the kill", "asks", _waits, _answer, goal=4.0),
    Case("workflow task in flight", "asks", _has_task, _nothing, goal=4.0),
    Case("tool in flight", "slow tool", _has("read_slowly"), _nothing, goal=8.0),
    Case("model call in flight", "slow model", _has("call_model"), _nothing, goal=8.0),
)
