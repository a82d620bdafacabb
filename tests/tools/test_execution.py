"""An asynchronous tool runs in the worker's loop, up to its time limit."""

import asyncio
import os
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ToolError, ToolTimeout
from holdfast.contracts.tools import Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.execution import execute
from holdfast.tools.tool import Tool, tool
from tests.builders import FIRST, admitted, an_invocation
from tests.tools import sample_tools


@tool(risk=Risk.READ_ONLY, timeout=0.05)
async def hang() -> str:
    """Wait for something that never comes."""
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.READ_ONLY, timeout=5)
async def call_out() -> str:
    """Call somebody who takes too long."""
    raise TimeoutError("the other side took too long")


@tool(risk=Risk.READ_ONLY, timeout=5)
async def refuse() -> str:
    """Refuse to do what was asked."""
    raise ToolError("not_found", "no record 7", ("list the records",))


@tool(risk=Risk.READ_ONLY, timeout=5)
async def crash() -> str:
    """Raise something that nobody expects."""
    raise KeyError("seven")


@tool(risk=Risk.READ_ONLY, timeout=5)
async def report(ctx: ToolContext) -> dict[str, str | int]:
    """Report progress, and say what this tool knows of its call."""
    ctx.heartbeat("half")
    return {"secret": ctx.secret("api key"), "key": ctx.idempotency_key, "process": os.getpid()}


@tool(risk=Risk.COMPUTE_ONLY, timeout=5)
async def tell() -> dict[str, Decimal | datetime | list[int] | None]:
    """Tell several things of several types."""
    return {
        "money": Decimal("29.90"),
        "at": datetime(2026, 3, 1, tzinfo=UTC),
        "list": [1, 2],
        "nothing": None,
    }


async def ran(
    tool_: Tool, arguments: JsonObject | None = None, heard: list[JsonValue] | None = None
) -> JsonValue:
    invocation = an_invocation(arguments=arguments or {})
    listener = [] if heard is None else heard
    return from_json(
        await execute(tool_, invocation, sample_tools.secret_of, listener.append, admitted)
    )


async def test_a_tool_gets_typed_arguments() -> None:
    """Valid JSON arrives as what the signature says: models, enums, decimals, defaults."""
    arguments: JsonObject = {
        "lines": [{"article": "lamp", "price": 9.95, "pieces": 2}, {"article": "x", "price": "1"}],
        "colour": "red",
    }

    assert await ran(sample_tools.order, arguments) == {"red 3 slow None acme": "20.90"}


async def test_a_result_is_json() -> None:
    """What a tool returns is written as its annotation says."""
    assert await ran(tell) == {
        "money": "29.90",
        "at": "2026-03-01T00:00:00Z",
        "list": [1, 2],
        "nothing": None,
    }


async def test_a_tool_knows_its_call() -> None:
    """The context has the worker's secrets and the key of the call, in the worker's process."""
    heard: list[JsonValue] = []

    assert await ran(report, heard=heard) == {
        "secret": "secret of api key",
        "key": f"{FIRST}/c1",
        "process": os.getpid(),
    }
    assert heard == ["half"]


async def test_a_tool_is_ended_at_its_time_limit() -> None:
    """A tool that never ends is cancelled, and the error says whose limit it was."""
    # HG-04 TS-07
    with pytest.raises(ToolTimeout, match=r"^hang was ended at its time limit of 0\.05 s$"):
        await ran(hang)


async def test_a_time_out_of_its_own_is_no_time_limit() -> None:
    """When somebody whom a tool asks is too slow, that is the tool's error, and may be retried."""
    with pytest.raises(TimeoutError, match="the other side took too long") as raised:
        await ran(call_out)

    assert not isinstance(raised.value, ToolTimeout)


async def test_a_refusal_passes() -> None:
    """What a tool says to the model comes out as it is."""
    with pytest.raises(ToolError) as raised:
        await ran(refuse)

    assert (raised.value.type, raised.value.reason) == ("not_found", "no record 7")
    assert raised.value.next_valid_actions == ("list the records",)


async def test_what_a_tool_raises_passes() -> None:
    """An exception of a tool is not swallowed and not disguised."""  # PI-02
    with pytest.raises(KeyError, match="seven"):
        await ran(crash)


async def test_arguments_that_a_type_refuses_are_told_to_the_model() -> None:
    """Where a type is stricter than its schema, the tool doesn't run and the model is told."""
    with pytest.raises(ToolError) as raised:
        await ran(sample_tools.order, {"lines": [{"article": "x"}], "colour": "red"})

    assert raised.value.type == "invalid_arguments"
    assert raised.value.reason == "lines.0.price: Field required"
    assert raised.value.next_valid_actions == ("correct the arguments",)


async def test_cancelling_a_call_cancels_the_tool() -> None:
    """Who waits no longer for a call ends it."""
    call = asyncio.create_task(ran(hang))
    await asyncio.sleep(0)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call


def test_a_tool_can_be_called_in_its_own_test() -> None:
    """Decorated or not, a function is called as it was written."""
    assert sample_tools.flood(characters=3) == "xxx"
