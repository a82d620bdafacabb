"""The worker's side of a call in a sandbox. Nothing that comes from there is believed."""

from asyncio import sleep
from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from holdfast.contracts.bounds import MAX_JSON_BYTES, MAX_JSON_VALUES, TOO_DEEP_JSON
from holdfast.contracts.errors import AnswerLost, ToolCrashed, ToolError
from holdfast.tools.context import Heartbeat
from holdfast.tools.egress.exchange import HttpAnswer, HttpRequest
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.large_json import has_readable_size, look_through
from holdfast.tools.network.pace import Rate
from holdfast.tools.sandbox.channel import Channel, LineTooLong
from holdfast.tools.sandbox.messages import (
    Done,
    EgressRequest,
    EgressResponse,
    FromSandbox,
    Progress,
    Raised,
    Ready,
    Refused,
    encode_line,
)

MAX_LINE_BYTES = MAX_JSON_BYTES
"""Bytes of one message; no result may be larger. A result is one value of it: a text."""

MAX_MESSAGES = 10_000
"""Of one call."""

BYTES_PER_SECOND = 500_000
"""Bytes that a call may say, beyond the first four megabytes: to read them takes from all runs."""

MORE_BYTES_PER_SECOND = 4_000_000
"""Bytes beyond those, which all calls of a process share."""

_SAVED_SECONDS = 8.0

MAX_REPORT_BYTES = 10_000
"""Bytes of a report of progress: it goes out with every heartbeat."""

_MESSAGE: TypeAdapter[FromSandbox] = TypeAdapter(FromSandbox)

# Of their own: a call is within its time limit yet, and results of others are looked at for long.
LISTENERS = FairThreads(2, "listen")

_OF_ALL = Rate(MORE_BYTES_PER_SECOND, saved=1.0)

Broker = Callable[[HttpRequest], Awaitable[HttpAnswer]]


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
                raise _build_protocol_error("it began twice")
            case Progress(value=value):
                heartbeat(value)
            case EgressRequest(request=request):
                await channel.write(encode_line(await _answer(broker, request)))
            case Done(content=content):
                return content.encode()
            case Refused():
                raise message.error()
            case Raised(error=error, message=text, stack=stack):
                raise ToolCrashed(error, text, stack)
    raise ToolCrashed("ProcessDied", "the tool's process ended without a result")


async def _answer(broker: Broker, request: HttpRequest) -> EgressResponse:
    try:
        return EgressResponse(answer=await broker(request))
    except ToolError as error:
        return EgressResponse(refused=Refused.of(error))
    except AnswerLost as error:
        return EgressResponse(lost=str(error))


async def _messages(channel: Channel) -> AsyncIterator[FromSandbox]:
    own = Rate(BYTES_PER_SECOND, _SAVED_SECONDS)
    for _ in range(MAX_MESSAGES):
        try:
            said = await channel.read_line(MAX_LINE_BYTES)
        except LineTooLong:
            raise _build_protocol_error(
                f"a message has more than {MAX_LINE_BYTES:,} bytes"
            ) from None
        if said is None:
            return
        yield await look_through(channel.run_id, said, _read, LISTENERS)
        now = monotonic()
        rate = own if own.missing(len(said), now) <= 0 else _OF_ALL
        wait = rate.missing(len(said), now)
        rate.take(len(said), now)
        await sleep(max(wait, 0.0))
    raise _build_protocol_error(f"it sent more than {MAX_MESSAGES:,} messages")


def _read(said: bytes) -> FromSandbox:
    if not has_readable_size(said):
        raise _build_protocol_error(f"a message has more than {MAX_JSON_VALUES:,} values")
    try:
        message = _MESSAGE.validate_json(said)
    except ValidationError:
        raise _build_protocol_error("a message can't be read") from None
    if isinstance(message, Progress) and len(to_json(message.value)) > MAX_REPORT_BYTES:
        raise _build_protocol_error(f"a report of progress has more than {MAX_REPORT_BYTES} bytes")
    if isinstance(message, Done) and not has_readable_size(message.content.encode()):
        return Done(TOO_DEEP_JSON.decode())  # nothing of it goes on, but that the call was done
    return message


def _build_protocol_error(reason: str) -> ToolCrashed:
    return ToolCrashed("SandboxGarbled", f"the call was ended: {reason}")
