"""What a message of a session costs, beside a bare workflow that asks a model once for each."""

import asyncio
import time
from typing import NamedTuple
from uuid import uuid4

from temporalio.client import Client

from bench.processes import WorkerProcess, worker_process
from bench.raw import RAW_SESSION
from bench.samples import Handle, Subject, ready, whole_history
from holdfast.contracts.sessions.messages import SESSION_WORKFLOW_TYPE

AT_ONCE = 10
"""Messages that are said before anybody looks for their answers."""

SECONDS_BETWEEN = 0.25
"""Seconds between two looks; a look at an execution that is over has the worker build it anew."""

_MEGABYTE = 1_000_000
_HEAD = f"{'messages':>14}{'ms each':>10}{'CPU ms each':>13}{'memory, MB':>12}"


class _Talk(NamedTuple):
    """A session that is open, or the floor's, which answers the same signal and query."""

    handle: Handle
    worker: WorkerProcess

    async def say(self, first: int, count: int) -> None:
        """Say so many things, and wait until all are answered."""
        for start in range(first, first + count, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, first + count))
            for number in numbers:
                await self.handle.signal("message", {"message_id": f"m-{number}", "text": "go"})
            while not await self._has_answered(numbers[-1]):  # noqa: ASYNC110 -- it is elsewhere
                await asyncio.sleep(SECONDS_BETWEEN)

    async def _has_answered(self, number: int) -> bool:
        about = {"message_id": f"m-{number}"}
        found = await self.handle.query("outcome", about, result_type=dict)
        return found["state"] == "done"


async def sessions(client: Client, messages: int) -> None:
    """Print the figures of one long session by its tenths, those of the floor above."""
    address = client.service_client.config.target_host
    print(f"\nA session of {messages:,} messages\n{_HEAD}", flush=True)
    async with worker_process(address, "raw") as raw, worker_process(address, "ours") as ours:
        await ready(client, Subject("raw loop", raw), Subject("ours", ours, "ordinary"))
        for name, worker, argument in (
            (RAW_SESSION, raw, messages + 1),  # the last one ends it
            (SESSION_WORKFLOW_TYPE, ours, {"agent": "talks"}),
        ):
            handle: Handle = await client.start_workflow(
                name, argument, id=f"bench-{uuid4().hex[:12]}", task_queue=worker.queue
            )
            await _tell(client, _Talk(handle, worker), name, messages)


async def _tell(client: Client, talk: _Talk, name: str, messages: int) -> None:
    print(name)
    tenth = max(messages // 10, 1)
    for first in range(0, messages, tenth):
        cpu, began = talk.worker.cpu_seconds(), time.perf_counter()
        await talk.say(first, tenth)
        ms = (time.perf_counter() - began) * 1000 / tenth
        cpu_ms = (talk.worker.cpu_seconds() - cpu) * 1000 / tenth
        memory = talk.worker.memory_bytes() / _MEGABYTE
        print(f"{first + tenth:14,}{ms:10.1f}{cpu_ms:13.2f}{memory:12.1f}", flush=True)
    last = "close" if name == SESSION_WORKFLOW_TYPE else "message"
    await talk.handle.signal(last, {} if last == "close" else {"message_id": "last"})
    await client.get_workflow_handle(talk.handle.id).result()
    events = await whole_history(client, talk.handle)
    size = sum(event.ByteSize() for event in events) / messages
    found = (await client.get_workflow_handle(talk.handle.id).describe()).status
    ended = found.name.lower() if found else "unknown"
    print(f"{size:,.0f} bytes and {len(events) / messages:.1f} events each; then it is {ended}")
