"""Attacks by calls that take long to rule on, because they are large, on the loop of all runs."""

import asyncio
from threading import Event, get_ident
from typing import Annotated

import pytest
from pydantic import AfterValidator, JsonValue

from holdfast import Risk, tool
from holdfast.activities.policy import PolicyActivities, PolicyEnvironment
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import AuthorizeCalls, Caller, Decided, Rulings
from holdfast.policy.rules import NO_POLICY
from holdfast.tools.registry import ToolRegistry
from tests.asking import in_run
from tests.builders import EXECUTION, NOW, a_call
from tests.policy.test_rulings import NO_KEYS, Switches

LARGE = 2_000

readers: list[int] = []
"""The threads in which arguments were read."""

everybody_waits, other_is_read = Event(), Event()


def _note(values: list[int]) -> list[int]:
    readers.append(get_ident())
    return values


def _wait_for_others(name: str) -> str:
    if name == "other":
        other_is_read.set()
    else:
        first = name in {"acme-0", "acme-1"}
        assert (everybody_waits if first else other_is_read).wait(30)
    return name


@tool(risk=Risk.READ_ONLY)
async def add(numbers: Annotated[list[int], AfterValidator(_note)]) -> int:
    """Add some numbers to each other."""
    return sum(numbers)


@tool(risk=Risk.READ_ONLY)
async def sign(name: Annotated[str, AfterValidator(_wait_for_others)], text: str) -> str:
    """Sign a text with a name."""
    return text + name


async def authorized(call: ToolCall, tenant: str = "acme") -> Rulings:
    environment = PolicyEnvironment(NO_POLICY, "", has_sandbox=True)
    registry = ToolRegistry([add, sign])
    activities = PolicyActivities(registry, environment, NO_KEYS, Switches())
    asked = AuthorizeCalls(
        run_id="run-1",
        agent="it",
        caller=Caller(tenant=tenant),
        calls=(call,),
        visible_tools=("add", "sign"),
        now=NOW,
        execution=EXECUTION,
    )
    return await in_run(asked.run_id).run(activities.authorize, asked)


@pytest.mark.parametrize(("count", "beside"), [(1, False), (LARGE, True)])
async def test_a_large_call_is_ruled_on_beside_the_loop(count: int, *, beside: bool) -> None:
    """Its arguments are read, compared and written several times, which others don't wait for."""
    readers.clear()
    numbers: list[JsonValue] = [1] * count
    (ruling,) = (await authorized(a_call("add", numbers=numbers))).rulings

    assert isinstance(ruling, Decided)
    assert {one != get_ident() for one in readers} == {beside}


async def test_each_tenant_has_its_turn() -> None:
    """However many large calls one has ruled on, another's don't wait for all of them."""
    everybody_waits.clear()
    other_is_read.clear()
    text = "a" * 2 * LARGE
    calls = [a_call("sign", name=f"acme-{number}", text=text) for number in range(6)]
    asked = [asyncio.create_task(authorized(call)) for call in calls]
    other = a_call("sign", name="other", text=text)
    asked.append(asyncio.create_task(authorized(other, "other")))
    for _ in range(100):
        await asyncio.sleep(0)
    everybody_waits.set()

    for answer in await asyncio.gather(*asked):
        assert isinstance(answer.rulings[0], Decided)
