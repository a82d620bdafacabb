"""The worker's side of a call in a sandbox. Nothing that comes from there is believed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from holdfast.contracts.errors import AnswerLost, ToolCrashed, ToolError
from holdfast.tools.context import Heartbeat
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest
from holdfast.tools.sandbox.messages import (
    Answered,
    Asks,
    Done,
    FromSandbox,
    Progress,
    Raised,
    Ready,
    Refused,
    line,
)

LONGEST_LINE = 16 * 2**20
"""Bytes of one message; no result may be larger."""

MOST_MESSAGES = 10_000
"""Of one call."""

LARGEST_REPORT = 10_000
"""Bytes of a report of progress: it goes out with every heartbeat."""

_MESSAGE: TypeAdapter[FromSandbox] = TypeAdapter(FromSandbox)

Broker = Callable[[HttpRequest], Awaitable[HttpAnswer]]


class Channel(NamedTuple):
    """Both directions of a conversation."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def is_ready(channel: Channel) -> bool:
    """Wait until the process is ready for the call; false when it ends before."""
    async for message in _messages(channel):
        return isinstance(message, Ready)
    return False


async def outcome(channel: Channel, heartbeat: Heartbeat, broker: Broker) -> bytes:
    """Serve a call until it has a result. Raises ToolError and ToolCrashed as it says."""
    async for message in _messages(channel):
        match message:
            case Ready():
                raise _garbage("it began twice")
            case Progress(value=value):
                if len(to_json(value)) > LARGEST_REPORT:
                    raise _garbage(f"a report of progress has more than {LARGEST_REPORT} bytes")
                heartbeat(value)
            case Asks(request=request):
                channel.writer.write(line(await _answer(broker, request)))
                await channel.writer.drain()
            case Done(content=content):
                return content.encode()
            case Refused():
                raise message.error()
            case Raised(error=error, message=text):
                raise ToolCrashed(error, text)
    raise ToolCrashed("ProcessDied", "the tool's process ended without a result")


async def _answer(broker: Broker, request: HttpRequest) -> Answered:
    try:
        return Answered(answer=await broker(request))
    except ToolError as error:
        return Answered(refused=Refused.of(error))
    except AnswerLost as error:
        return Answered(lost=str(error))


async def _messages(channel: Channel) -> AsyncIterator[FromSandbox]:
    for _ in range(MOST_MESSAGES):
        try:
            said = await channel.reader.readuntil()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        except asyncio.LimitOverrunError:
            raise _garbage(f"a message has more than {LONGEST_LINE:,} bytes") from None
        try:
            yield _MESSAGE.validate_json(said)
        except ValidationError:
            raise _garbage("a message can't be read") from None
    raise _garbage(f"it sent more than {MOST_MESSAGES:,} messages")


def _garbage(reason: str) -> ToolCrashed:
    return ToolCrashed("SandboxGarbled", f"the call was ended: {reason}")
