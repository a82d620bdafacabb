"""How soon those who watch a run read what its provider says, and what that costs everybody."""

import asyncio
import json
import statistics
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple
from uuid import uuid4

from temporalio.client import Client, WorkflowQueryFailedError
from temporalio.runtime import MetricBuffer, Runtime, TelemetryConfig

from bench.processes import WorkerProcess, worker_process
from bench.watchers import watchers
from holdfast.client import Run
from holdfast.client.event_data import TextDelta
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import WORKFLOW_TYPE

PIECES, PIECE_SECONDS = 400, 0.02
"""Pieces of a reply, one behind the other; each is the moment at which it was sent."""

CASES = ((1.0, 0), (1.0, 1), (1.0, 100), (0.25, 1), (0.25, 100))
"""Seconds between two looks, and how many watch."""

REQUESTS = {"temporal_request", "temporal_long_request"}
"""What the SDK counts: each is one request to the server."""

DECISIONS, POLL, SETTLE = 10, 0.02, 2.0
"""
How many approvals are timed for each number of watchers, in turns; seconds between two looks for
a request, and until all who watch have read what there is: requests are counted from there on.
"""


class Watchers(NamedTuple):
    """Clients of one process that watch; its SDK counts what it asks the server."""

    client: Client
    counted: MetricBuffer

    @classmethod
    async def connect(cls, address: str, like: Client) -> "Watchers":
        counted = MetricBuffer(100_000)
        runtime = Runtime(telemetry=TelemetryConfig(metrics=counted))
        client = await Client.connect(address, runtime=runtime, data_converter=like.data_converter)
        return cls(client, counted)

    def count_requests(self) -> int:
        """Return how many requests there were since the last time."""
        told = self.counted.retrieve_updates()
        return sum(int(one.value) for one in told if one.metric.name in REQUESTS)


class Watched(NamedTuple):
    """One run: the delays of all words for all who watch, in seconds, and what it cost."""

    delays: list[float]
    history_bytes: int
    requests_per_second: float
    worker_cpu_seconds: float


async def live(client: Client) -> None:
    """Print how long words take to those who watch, and what the run and the server have of it."""
    print("\nWords while they come: from the provider's delta to whoever watches")
    print(
        f"{'':34}{'median':>10}{'p99':>10}{'bytes':>10}{'requests/s':>12}{'worker CPU':>12}",
        flush=True,
    )
    target = client.service_client.config.target_host
    counted = await Watchers.connect(target, client)
    async with _provider() as address:
        found = {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": address,
            "NO_PROXY": "127.0.0.1",
        }
        async with worker_process(target, "ours", environment=found) as worker:
            for seconds, many in CASES:
                _print_watched(
                    f"{many} watch, a look every {seconds:g} s",
                    await _measure(client, counted, worker, seconds, many),
                )
    await _decide(client)


def _print_watched(name: str, found: Watched) -> None:
    cuts = statistics.quantiles(found.delays, n=100) if found.delays else []
    delays = f"{cuts[49]:8.2f} s{cuts[98]:8.2f} s" if cuts else f"{'':20}"
    cost = f"{found.requests_per_second:12.1f}{1_000 * found.worker_cpu_seconds:9.0f} ms"
    print(f"{name:34}{delays}{found.history_bytes:10,}{cost}", flush=True)


async def _measure(
    client: Client, watching: Watchers, worker: WorkerProcess, seconds: float, many: int
) -> Watched:
    before = worker.cpu_seconds()
    handle = await client.start_workflow(
        WORKFLOW_TYPE,
        {"agent": "via anthropic", "input": "0", "stream": True},
        id=f"live-{uuid4().hex[:12]}",
        task_queue=worker.queue,
    )
    run = Run(watching.client, handle.id)
    watched = [asyncio.create_task(_watch(run, seconds)) for _ in range(many)]
    await asyncio.sleep(SETTLE)
    watching.count_requests()
    began = time.monotonic()
    found = await asyncio.gather(*watched)
    await handle.result()
    asked = watching.count_requests() / (time.monotonic() - began)
    used = worker.cpu_seconds() - before
    size = (await handle.describe()).raw_description.workflow_execution_info.history_size_bytes
    return Watched([delay for delays in found for delay in delays], size, asked, used)


async def _decide(client: Client) -> None:
    """Print how long an approval takes until its answer, while so many watch the run."""
    print("\nAn approval, from the update `decide` to its answer, in turns")
    print(f"{'':34}{'median':>10}{'slowest':>10}{'to none':>10}", flush=True)
    target = client.service_client.config.target_host
    numbers = (0, 1, 100)
    async with worker_process(target, "ours") as worker:
        rounds = [
            [await _approve(client, worker, many) for many in numbers] for _ in range(DECISIONS)
        ]
    for place, many in enumerate(numbers):
        times = [one[place] for one in rounds]
        median, slowest = 1_000 * statistics.median(times), 1_000 * max(times)
        ratio = statistics.median(one[place] / one[0] for one in rounds)
        print(f"{f'{many} watch':34}{median:7.1f} ms{slowest:7.1f} ms{ratio:8.2f} x", flush=True)


async def _approve(client: Client, worker: WorkerProcess, many: int) -> float:
    handle = await client.start_workflow(
        WORKFLOW_TYPE,
        {"agent": "approved", "input": "go"},
        id=f"decide-{uuid4().hex[:12]}",
        task_queue=worker.queue,
    )
    waiting = False
    while not waiting:
        await asyncio.sleep(POLL)
        with suppress(WorkflowQueryFailedError):  # it is still being opened
            waiting = bool(await handle.query("pending"))
    async with watchers(client.service_client.config.target_host, handle.id, many):
        await asyncio.sleep(SETTLE)
        began = time.monotonic()
        decision = {"request_id": "req-1", "decision": "approve", "approver": "dana"}
        await handle.execute_update("decide", decision)  # pyright: ignore[reportUnknownMemberType] -- its overloads
        took = time.monotonic() - began
        await handle.result()
    return took


async def _watch(run: Run, seconds: float) -> list[float]:
    delays: list[float] = []
    text = ""
    async for event in run.events(live_seconds=seconds):
        if isinstance(event.data, TextDelta):
            *sent, text = (text + event.data.text).split(" ")
            now = time.time()
            delays += [now - float(one) for one in sent if one]
    return delays


@asynccontextmanager
async def _provider() -> AsyncGenerator[str]:
    """Have a provider that takes its time while the block lasts; yields its address."""
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _answer(reader: StreamReader, writer: StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    writer.write(head)
    for event in _begin():
        _send(writer, event)
    for _ in range(PIECES):
        _send(writer, _delta(f"{time.time():.6f} "))
        await writer.drain()
        await asyncio.sleep(PIECE_SECONDS)
    for event in _end():
        _send(writer, event)
    await writer.drain()
    writer.close()


def _send(writer: StreamWriter, event: JsonObject) -> None:
    writer.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())


def _delta(text: str) -> JsonObject:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }


def _begin() -> Iterator[JsonObject]:
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    yield {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }


def _end() -> Iterator[JsonObject]:
    yield {"type": "content_block_stop", "index": 0}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 400},
    }
    yield {"type": "message_stop"}
