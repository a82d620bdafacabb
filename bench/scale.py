"""Many runs on one worker: those that wait for people, and those that work at once."""

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid4

from pydantic import JsonValue
from temporalio.client import Client, WorkflowUpdateRPCTimeoutOrCancelledError
from temporalio.service import RPCError, RPCStatusCode

from bench.processes import WorkerProcess, worker_process
from bench.raw import RAW_WAITING
from bench.samples import Handle, Subject, measured, ready
from holdfast.client.holdfast import TASK_TIMEOUT
from holdfast.contracts.run import WORKFLOW_TYPE

STARTED_AT_ONCE = 50
APPROVED = 20
"""Of the first runs, and of the latest: the SDK keeps a thousand and replays others."""

CALM_SECONDS, CALM_SHARE = 3.0, 0.02
"""So long a worker has done next to nothing, when all of its runs wait."""

IDLE_SECONDS, POLL = 5.0, 0.2
WORKING_STEPS = 20
DECISION = {"request_id": "req-1", "decision": "approve", "approver": "dana"}

_PASSING = {
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.RESOURCE_EXHAUSTED,
    RPCStatusCode.UNAVAILABLE,
}
"""What a server says that is busy; anything else says that the bench is wrong."""

_MEGABYTE = 1_000_000


class Waiter(NamedTuple):
    """
    What waits for people: a kind of worker, a workflow, and what that is started with.

    A bare one takes an approval before it asks for it.
    """

    name: str
    kind: str
    workflow: str
    arguments: tuple[JsonValue, ...]

    async def until_waiting(self, client: Client, worker: WorkerProcess, runs: int) -> None:
        """Wait until so many wait, and their worker has nothing more to do."""
        query = f"TaskQueue = '{worker.queue}' AND AgentPending IS NOT NULL"
        found = 0 if self.arguments else runs
        while found < runs:
            await asyncio.sleep(POLL)
            found = (await client.count_workflows(query)).count
        await _until_calm(worker)


WAITERS = (
    Waiter("bare workflow", "raw", RAW_WAITING, ()),
    Waiter("ours", "ours", WORKFLOW_TYPE, ({"agent": "approved", "input": "go"},)),
)


async def scale(client: Client, waiting: int, working: int) -> None:
    """Print what so many runs take of one worker while they wait, and while they work."""
    for waiter in WAITERS:
        await _wait(client, waiter, waiting)
    await _work(client, working)


async def _wait(client: Client, waiter: Waiter, runs: int) -> None:
    print(f"\n{runs:,} wait for people: {waiter.name}", flush=True)
    address = client.service_client.config.target_host
    async with worker_process(address, waiter.kind) as worker:
        first = await _start(client, waiter, worker.queue)
        await waiter.until_waiting(client, worker, 1)
        await _approve(first)
        before, cpu, began = worker.memory_bytes(), worker.cpu_seconds(), time.monotonic()
        handles = await _start_all(client, waiter, worker.queue, runs)
        await waiter.until_waiting(client, worker, runs)
        took, used = time.monotonic() - began - CALM_SECONDS, worker.cpu_seconds() - cpu
        grown = worker.memory_bytes() - before
        _print("until all wait", f"{took:.0f} s, {1_000 * used / runs:.1f} ms of CPU each")
        _print(
            "memory",
            f"{before / _MEGABYTE:.0f} MB, then {worker.memory_bytes() / _MEGABYTE:.0f} MB: "
            f"{grown / runs / 1_000:.1f} kB each",
        )
        cpu = worker.cpu_seconds()
        await asyncio.sleep(IDLE_SECONDS)
        idle = 1_000 * (worker.cpu_seconds() - cpu) / IDLE_SECONDS
        _print("CPU while they wait", f"{idle:.1f} ms a second")
        few = min(APPROVED, (runs - 1) // 3)
        _print("an approval, of the latest", await _approve_all(handles[-few:]))
        _print("an approval, of the first", await _approve_all(handles[:few]))
    began = time.monotonic()
    async with worker_process(address, waiter.kind, queue=worker.queue) as worker:
        await _approve(handles[few])
        _print("a new worker, until its first", f"{time.monotonic() - began:.2f} s")
        replayed = handles[few + 1 : 2 * few + 1]
        _print("an approval, each replayed", await _approve_all(replayed))
        _print("its memory", f"{worker.memory_bytes() / _MEGABYTE:.0f} MB")


async def _work(client: Client, runs: int) -> None:
    print(f"\n{runs} at work, {WORKING_STEPS} steps each", flush=True)
    address = client.service_client.config.target_host
    async with worker_process(address, "raw") as raw, worker_process(address, "ours") as ours:
        subjects = (Subject("raw loop", raw), Subject("ours", ours, "ordinary"))
        await ready(client, *subjects)
        for subject in subjects:
            found = await measured(client, subject, WORKING_STEPS, runs)
            memory = subject.worker.memory_bytes() / _MEGABYTE
            figures = f"{found.ms:.1f} ms and {found.cpu_ms:.2f} ms of CPU a step"
            _print(subject.name, f"{figures}, {memory:.0f} MB at the end")


async def _start(client: Client, waiter: Waiter, queue: str) -> Handle:
    return await client.start_workflow(
        waiter.workflow,
        args=waiter.arguments,
        id=f"scale-{uuid4().hex[:12]}",
        task_queue=queue,
        task_timeout=TASK_TIMEOUT,
    )


async def _start_all(client: Client, waiter: Waiter, queue: str, runs: int) -> list[Handle]:
    found: list[Handle] = []
    while len(found) < runs:
        many = min(STARTED_AT_ONCE, runs - len(found))
        found += await asyncio.gather(*(_start(client, waiter, queue) for _ in range(many)))
    return found


async def _until_calm(worker: WorkerProcess) -> None:
    while True:
        cpu = worker.cpu_seconds()
        await asyncio.sleep(CALM_SECONDS)
        if worker.cpu_seconds() - cpu < CALM_SHARE * CALM_SECONDS:
            return


async def _approve_all(handles: Sequence[Handle]) -> str:
    """Approve one after the other, as people do; say how long until each was told so."""
    times = [1_000 * await _approve(handle) for handle in handles]
    return f"{statistics.median(times):.0f} ms, the slowest {max(times):.0f} ms"


async def _approve(handle: Handle) -> float:
    """Approve a run, which may have to be replayed before it answers; say how long that took."""
    began = time.monotonic()
    while True:
        try:
            await handle.execute_update("decide", DECISION)  # pyright: ignore[reportUnknownMemberType] -- its overloads
        except WorkflowUpdateRPCTimeoutOrCancelledError:
            pass  # it was waited for as long as the server lets anybody
        except RPCError as error:
            if error.status not in _PASSING:
                raise
            await asyncio.sleep(POLL)
        else:
            took = time.monotonic() - began
            await handle.result()
            return took


def _print(what: str, figures: str) -> None:
    print(f"  {what:32}{figures}", flush=True)
