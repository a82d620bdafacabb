"""One long run by its tenths: whether a step costs at the end what it cost at the beginning."""

import asyncio
import time

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.service import RPCError

from bench.processes import worker_process
from bench.samples import Handle, Subject, ready
from holdfast.contracts.budget import UsageReport

_MEGABYTE = 1_000_000
_LAST = 10
_NEAR_CUT = 14_700
"""Events; a run of the app goes on in a new execution after 15,000."""
_HEAD = f"{'steps':>14}{'ms each':>10}{'CPU ms each':>13}{'memory, MB':>12}"


async def long(client: Client, steps: int) -> None:
    """Print the figures of one run, which goes on in new executions, by its tenths."""
    address = client.service_client.config.target_host
    print(f"\nA run of {steps:,} steps\n{_HEAD}", flush=True)
    async with worker_process(address, "ours") as worker:
        subject = Subject("ours", worker, "ordinary")
        await ready(client, subject)
        handle = await subject.start(client, steps)
        cpu, began, before = worker.cpu_seconds(), time.perf_counter(), 0
        for tenth in range(1, 11):
            if tenth < _LAST:
                taken = await _await_steps(handle, steps * tenth // 10)
            else:  # who asks a run that is over has it built anew
                await client.get_workflow_handle(handle.id).result()
                taken = steps
            now, used = time.perf_counter(), worker.cpu_seconds()
            ms, cpu_ms = ((now - began) * 1000, (used - cpu) * 1000)
            memory = worker.memory_bytes() / _MEGABYTE
            each = f"{ms / (taken - before):10.1f}{cpu_ms / (taken - before):13.2f}"
            print(f"{taken:14,}{each}{memory:12.1f}", flush=True)
            cpu, began, before = used, now, taken


async def _await_steps(handle: Handle, wanted: int) -> int:
    """
    Wait until a run has taken so many steps, and return how many it has taken.

    It isn't asked while it goes on in a new execution: the server hands what waits there to the
    execution that is over, and a worker builds all of that anew to answer.
    """
    while True:
        await asyncio.sleep(0.5)
        if (await handle.describe()).history_length > _NEAR_CUT:
            continue
        try:
            found = await handle.query("usage", result_type=UsageReport)
        except (RPCError, WorkflowQueryFailedError):
            continue  # it is busy
        if found.steps >= wanted:
            return found.steps
