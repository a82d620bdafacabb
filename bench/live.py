"""How soon those who watch a run read what its provider says."""

import asyncio
import json
import statistics
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

from temporalio.client import Client

from bench.processes import worker_process
from holdfast.client import Run
from holdfast.client.event_data import TextDelta
from holdfast.contracts.base import JsonObject
from holdfast.contracts.run import WORKFLOW_TYPE

PIECES, PIECE_SECONDS = 400, 0.02
"""Pieces of a reply, one behind the other; each is the moment at which it was sent."""

CASES = ((1.0, 1), (1.0, 100), (0.25, 1), (0.25, 100))
"""Seconds between two looks, and how many watch."""


async def live(client: Client) -> None:
    """Print how long words take from the provider to those who watch: median and p99."""
    print("\nWords while they come: from the provider's delta to whoever watches")
    print(f"{'':40}{'median':>10}{'p99':>10}{'bytes':>10}", flush=True)
    async with _provider() as address:
        found = {
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": address,
            "NO_PROXY": "127.0.0.1",
        }
        target = client.service_client.config.target_host
        async with worker_process(target, "ours", environment=found) as worker:
            for seconds, watchers in ((1.0, 0), *CASES):
                delays, size = await _measure(client, worker.queue, seconds, watchers)
                name = f"{watchers} watch, a look every {seconds:g} s"
                cuts = statistics.quantiles(delays, n=100) if delays else []
                figures = f"{cuts[49]:8.2f} s{cuts[98]:8.2f} s" if cuts else f"{'':20}"
                print(f"{name:40}{figures}{size:10,}", flush=True)


async def _measure(
    client: Client, queue: str, seconds: float, watchers: int
) -> tuple[list[float], int]:
    """Return the delays of all words for all who watch, and the bytes of the run's history."""
    handle = await client.start_workflow(
        WORKFLOW_TYPE,
        {"agent": "via anthropic", "input": "0", "stream": True},
        id=f"live-{uuid4().hex[:12]}",
        task_queue=queue,
    )
    run = Run(client, handle.id)
    found = await asyncio.gather(*(_watch(run, seconds) for _ in range(watchers)))
    await handle.result()
    size = (await handle.describe()).raw_description.workflow_execution_info.history_size_bytes
    return [delay for delays in found for delay in delays], size


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
