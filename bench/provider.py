"""A model provider that answers at once, in a process of its own: all three wire formats."""

import asyncio
import json
import re
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject

_KEY = f"sk-{'Bench' * 10}"
"""As long as a real one: a worker looks for it in all that leaves it."""

_GOAL = re.compile(rb'"(?:text|content)":\s*"(\d+)"')


class _Format(NamedTuple):
    """Where one wire format is asked, and what each result of a tool has in a request."""

    path: str
    result: bytes


ANTHROPIC = _Format("/v1/messages", b'"tool_use_id"')
RESPONSES = _Format("/v1/responses", b'"function_call_output"')
CHAT = _Format("/v1/chat/completions", b'"tool_call_id"')
FORMATS = {each.path: each for each in (ANTHROPIC, RESPONSES, CHAT)}


@asynccontextmanager
async def provider() -> AsyncGenerator[Mapping[str, str]]:
    """Have a provider while the block lasts; yields the variables by which SDKs find it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.provider"), stdin=PIPE, stdout=PIPE
    )
    assert process.stdout is not None  # noqa: S101 -- it was asked for two lines up
    address = (await process.stdout.readline()).decode().strip()
    try:
        yield {
            "ANTHROPIC_API_KEY": _KEY,
            "ANTHROPIC_BASE_URL": address,
            "OPENAI_API_KEY": _KEY,
            "OPENAI_BASE_URL": f"{address}/v1",
            "HOLDFAST_OPENAI_GATEWAY": "1",
            "NO_PROXY": "127.0.0.1",
        }
    finally:
        process.kill()
        await process.wait()


async def _serve() -> None:
    server = await asyncio.start_server(_connection, "127.0.0.1", 0, limit=2**24)
    port = server.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


async def _connection(reader: StreamReader, writer: StreamWriter) -> None:
    while head := await _until_blank_line(reader):
        path = head.split(b" ", 2)[1].decode()
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1]) if length else 0)
        events = "".join(_sse(path, event) for event in _answer(FORMATS[path], body)).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(events), events)
        )
        await writer.drain()
    writer.close()


async def _until_blank_line(reader: StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def _answer(format_: _Format, body: bytes) -> Iterator[JsonObject]:
    """Ask for one more record, until there are as many results as the goal says."""
    goal = _GOAL.search(body)
    done = body.count(format_.result)
    call = done + 1 if goal and done < int(goal[1]) else None
    match format_.path:
        case ANTHROPIC.path:
            return _message(call)
        case RESPONSES.path:
            return _response(call)
        case _:
            return _chunks(call)


def _sse(path: str, event: JsonObject) -> str:
    name = "" if path == CHAT.path else f"event: {event['type']}\n"
    return f"{name}data: {json.dumps(event)}\n\n"


def _message(call: int | None) -> Iterator[JsonObject]:
    usage: JsonObject = {"input_tokens": 10, "output_tokens": 5}
    message: JsonObject = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    block: JsonObject = {"type": "text", "text": ""}
    delta: JsonObject = {"type": "text_delta", "text": "ok"}
    if call is not None:
        block = {"type": "tool_use", "id": f"call_{call}", "name": "read_record", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": f'{{"number": {call}}}'}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop: JsonObject = {"stop_reason": "end_turn" if call is None else "tool_use"}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


def _response(call: int | None) -> Iterator[JsonObject]:
    item: JsonObject = {
        "id": "item_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}],
    }
    if call is not None:
        item = {
            "id": "item_1",
            "type": "function_call",
            "call_id": f"call_{call}",
            "name": "read_record",
            "arguments": f'{{"number": {call}}}',
            "status": "completed",
        }
    response: JsonObject = {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5.2",
        "status": "completed",
        "output": [item],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }
    events: list[JsonObject] = [
        {"type": "response.created", "response": {**response, "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    for number, event in enumerate(events):
        yield {**event, "sequence_number": number}


def _chunks(call: int | None) -> Iterator[JsonObject]:
    said: JsonObject = {"role": "assistant", "content": "ok"}
    if call is not None:
        function: JsonObject = {"name": "read_record", "arguments": f'{{"number": {call}}}'}
        asked: JsonValue = [
            {"index": 0, "id": f"call_{call}", "type": "function", "function": function}
        ]
        said = {"role": "assistant", "content": None, "tool_calls": asked}
    stop = "stop" if call is None else "tool_calls"
    yield _chunk([{"index": 0, "delta": said, "finish_reason": None}])
    yield _chunk([{"index": 0, "delta": {}, "finish_reason": stop}])
    yield {**_chunk([]), "usage": {"prompt_tokens": 10, "completion_tokens": 5}}


def _chunk(choices: list[JsonValue]) -> JsonObject:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "gpt-4.1",
        "choices": choices,
    }


if __name__ == "__main__":
    asyncio.run(_serve())
