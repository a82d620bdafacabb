"""Whatever goes wrong on the way, for every adapter: one request, one kind, no key."""

import asyncio
import json
import subprocess
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.adapters import meter
from holdfast.adapters.base import ProviderAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.errors import FailureKind, ModelUnavailable
from tests.adapters import conversations as say
from tests.adapters.dialects import DIALECTS, PATIENCE, Dialect, Samples
from tests.adapters.provider_server import (
    NO_JSON,
    NO_OBJECT,
    NO_UTF8,
    Break,
    Breaking,
    ProviderServer,
)

ROOT = Path(__file__).parents[2]
IMPATIENCE = timedelta(seconds=1)
BOTTOMLESS = b"event: content_block_delta\ndata: " + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n\n"


class Fault(NamedTuple):
    """What the server does to a reply of two calls, and what becomes of it."""

    kind: FailureKind
    breaks: Break | None = None
    status: int = 200
    delay: float = 0.0
    unstreamed: bool = False

    @property
    def idle(self) -> timedelta:
        """How long the adapter waits: only silence is given up soon."""
        silent = self.delay > 0 or self.kind == "stalled"
        return IMPATIENCE if silent else PATIENCE


FAULTS = {
    "invalid request": Fault("invalid_request", status=400),
    "wrong key": Fault("auth", status=401),
    "no money": Fault("quota", status=402),
    "not allowed": Fault("permission", status=403),
    "no such model": Fault("not_found", status=404),
    "too long": Fault("context_overflow", status=413),
    "rate limit": Fault("rate_limited", status=429),
    "fault": Fault("unavailable", status=500),
    "overload": Fault("overloaded", status=503),
    "gateway": Fault("timeout", status=504),
    "silence at first": Fault("timeout", delay=10),
    "silence before the first event": Fault("stalled", Break("stall")),
    "silence in the middle": Fault("stalled", Break("stall", 4)),
    "connection drops at once": Fault("cut_off", Break("cut")),
    "connection drops in the middle": Fault("cut_off", Break("cut", 4)),
    "stream ends at once": Fault("cut_off", Break("end")),
    "stream ends in the middle": Fault("cut_off", Break("end", 4)),
    "event is no JSON": Fault("unreadable", Break("stall", 4, NO_JSON)),
    "event is no object": Fault("unreadable", Break("stall", 4, NO_OBJECT)),
    "event is bottomless": Fault("unreadable", Break("stall", 4, BOTTOMLESS)),
    "event is no UTF-8": Fault("unreadable", Break("stall", 4, NO_UTF8)),
    "whole answer drops": Fault("cut_off", Break("cut", 40), unstreamed=True),
    "whole answer stalls": Fault("stalled", Break("stall", 40), unstreamed=True),
    "error drops": Fault("cut_off", Break("cut", 10), status=500, unstreamed=True),
    "error stalls": Fault("stalled", Break("stall", 10), status=500, unstreamed=True),
}


async def outcome(adapter: ProviderAdapter, samples: Samples) -> FailureKind | tuple[AnyCall, ...]:
    try:
        return (await adapter.respond(say.request(samples.MODEL))).calls
    except ModelUnavailable as error:
        return error.kind


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
async def test_each_fault_has_its_kind_after_one_request(
    provider: ProviderServer, dialect: Dialect, fault: Fault
) -> None:
    """A call that fails made one request; its kind is the same for every adapter."""
    # T-02, SM-01, PP-04
    error_body: JsonObject = {"error": {"message": dialect.key}}
    body = dialect.samples.TWO_CALLS if fault.status == 200 else error_body
    headers = {"x-unstreamed": "yes"} if fault.unstreamed else {}
    provider.answer(body, fault.status, headers, fault.delay, fault.breaks)

    error = await say.failure(dialect.adapter(fault.idle), dialect.samples.MODEL)

    assert error.kind == fault.kind
    assert len(provider.requests) == 1
    assert say.KEY not in "".join(traceback.format_exception(error))
    assert "\n" not in str(error)


async def test_stream_without_end_is_given_up(
    provider: ProviderServer,
    adapter: ProviderAdapter,
    samples: Samples,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker holds what it reads: a server can't fill its memory."""
    monkeypatch.setattr(meter, "MAX_STREAM_BYTES", 100)
    provider.answer(samples.TWO_CALLS, breaks=Break("stall", 4))

    assert (await say.failure(adapter, samples.MODEL)).kind == "unreadable"


@pytest.mark.parametrize("how", ["cut", "end", "stall"])
async def test_error_event_is_sorted_like_its_status(
    provider: ProviderServer, dialect: Dialect, how: Breaking
) -> None:
    """An error in the middle of a good stream means what it says, however the stream ends."""
    samples = dialect.samples
    provider.answer(samples.TWO_CALLS, breaks=Break(how, 4, samples.OVERLOADED))

    error = await say.failure(dialect.adapter(PATIENCE), samples.MODEL)

    assert isinstance(error, ModelUnavailable)
    assert error.kind == "overloaded"
    assert "Overloaded" in str(error)
    assert len(provider.requests) == 1


async def test_error_event_may_quote_a_key(
    provider: ProviderServer, adapter: ProviderAdapter, dialect: Dialect
) -> None:
    """A server that repeats the key in the middle of a stream isn't repeated."""
    # PP-04
    samples = dialect.samples
    quoting = json.dumps(samples.OVERLOADED.data).replace("Overloaded", f"Bearer {dialect.key}")
    event = samples.OVERLOADED._replace(data=json.loads(quoting))
    provider.answer(samples.TWO_CALLS, breaks=Break("end", 4, event))

    error = await say.failure(adapter, samples.MODEL)

    assert "Bearer [key]" in str(error)
    assert say.KEY not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("how", ["cut", "end"])
async def test_part_of_a_reply_is_none(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, how: Breaking
) -> None:
    """Wherever a stream breaks, there are all calls of the reply, or none and an error."""
    # SM-01, SM-02
    provider.answer(samples.TWO_CALLS)
    whole = await outcome(adapter, samples)
    length = len(list(provider.events(provider.requests[0].path, samples.TWO_CALLS)))
    came: list[FailureKind | tuple[AnyCall, ...]] = []

    for after in range(length):
        provider.answer(samples.TWO_CALLS, breaks=Break(how, after))
        came.append(await outcome(adapter, samples))

    broken = came.count("cut_off")
    # A reply can do without the last events of some streams.
    assert broken >= length - 2
    assert came == ["cut_off"] * broken + [whole] * (length - broken)


@pytest.mark.parametrize("breaks", [None, Break("stall", 4)], ids=["before", "inside"])
async def test_cancelling_ends_the_request(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples, breaks: Break | None
) -> None:
    """Who is cancelled leaves at once and hangs up, before a reply or inside of one."""
    provider.answer(samples.TWO_CALLS, delay=0.0 if breaks else 20.0, breaks=breaks)
    asking = asyncio.create_task(adapter.respond(say.request(samples.MODEL)))
    await asyncio.to_thread(provider.silent.wait, 10)

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert await asyncio.to_thread(provider.disconnected.wait, 10)


async def test_garbled_stream_is_hung_up(
    provider: ProviderServer, adapter: ProviderAdapter, samples: Samples
) -> None:
    """A server that goes on after nonsense isn't listened to any longer."""
    provider.answer(samples.TWO_CALLS, breaks=Break("stall", 4, NO_OBJECT))

    # As long as the error is held, the garbage collector closes nothing, and the SDK doesn't know.
    error = await say.failure(adapter, samples.MODEL)

    assert await asyncio.to_thread(provider.disconnected.wait, 5)
    assert error.kind == "unreadable"


@pytest.mark.slow
def test_sdks_are_imported_when_first_asked() -> None:
    """A worker that asks no provider never pays for an SDK."""
    # TS-01
    program = (
        "import sys\n"
        "from datetime import timedelta\n"
        "from tests.adapters.dialects import DIALECTS\n"
        "made = [dialect.adapter(timedelta(1)) for dialect in DIALECTS.values()]\n"
        "heavy = {'anthropic', 'openai', 'genai_prices', 'httpx2'}\n"
        "print(len(made), heavy & set(sys.modules))"
    )

    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout == f"{len(DIALECTS)} set()\n"
