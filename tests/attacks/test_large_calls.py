"""Attacks by calls that take long to rule on, because they are large, on the loop of all runs."""

import asyncio
from dataclasses import replace
from threading import Event, get_ident
from typing import Annotated

import pytest
from pydantic import AfterValidator, JsonValue
from temporalio.exceptions import ApplicationError

from holdfast import Risk, tool
from holdfast.activities.authority.verdicts import JUDGES
from holdfast.activities.policy import MAX_LARGE_RULINGS, PolicyActivities, PolicyEnvironment
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.decisions import AuthorizeCalls, Caller, Decided, Rulings
from holdfast.contracts.signals import AnswerSignal, ControlMessage
from holdfast.policy.rules import NO_POLICY
from holdfast.tools.execution import execute
from holdfast.tools.registry import ToolRegistry
from tests.asking import in_run
from tests.attacks.test_crumbs import turns
from tests.builders import EXECUTION, NOW, a_call, a_question, admitted, an_invocation
from tests.policy.hearings import a_hearing
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


def policy_activities() -> PolicyActivities:
    environment = PolicyEnvironment(NO_POLICY, "", has_sandbox=True)
    registry = ToolRegistry([add, sign])
    return PolicyActivities(registry, environment, NO_KEYS, Switches())


async def authorized(
    call: ToolCall, tenant: str = "acme", worker: PolicyActivities | None = None
) -> Rulings:
    asked = AuthorizeCalls(
        run_id="run-1",
        agent="it",
        caller=Caller(tenant=tenant),
        calls=(call,),
        visible_tools=("add", "sign"),
        now=NOW,
        execution=EXECUTION,
    )
    place = in_run(asked.run_id)
    place.info = replace(place.info, is_local=True)
    return await place.run((worker or policy_activities()).authorize, asked)


@pytest.mark.parametrize(("count", "beside"), [(1, False), (6 * LARGE, True)])
async def test_a_large_call_is_read_beside_the_loop(count: int, *, beside: bool) -> None:
    """So it is where its tool runs."""
    readers.clear()
    numbers: list[JsonValue] = [1] * count
    invocation = an_invocation(arguments={"numbers": numbers})
    said = await execute(add, invocation, str, lambda _: None, admitted)

    assert said == str(count).encode()
    assert [one != get_ident() for one in readers] == [beside]


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


async def test_beyond_its_share_a_tenants_large_calls_are_left_for_later() -> None:
    """They wait without a place where others are decided about, of which these keep theirs."""
    everybody_waits.clear()
    worker, call = policy_activities(), a_call("sign", name="acme-0", text="a" * 6 * LARGE)
    asked = [
        asyncio.create_task(authorized(call, worker=worker)) for _ in range(MAX_LARGE_RULINGS + 1)
    ]
    other = a_call("sign", name="other", text=call.arguments["text"])
    others = asyncio.create_task(authorized(other, "other", worker))
    for _ in range(100):
        await asyncio.sleep(0)
    everybody_waits.set()
    ends = await asyncio.gather(*asked, return_exceptions=True)

    assert [one for one in ends if isinstance(one, ApplicationError)] == ends[MAX_LARGE_RULINGS:]
    assert isinstance((await others).rulings[0], Decided)
    assert isinstance((await authorized(call, worker=worker)).rulings[0], Decided)


async def test_calls_that_others_hardly_wait_for_take_no_share() -> None:
    """Whoever edits files in many runs has all of them ruled on at once."""
    everybody_waits.set()
    worker, call = policy_activities(), a_call("sign", name="acme-0", text="a" * 2 * LARGE)
    asked = (authorized(call, worker=worker) for _ in range(2 * MAX_LARGE_RULINGS))

    for answer in await asyncio.gather(*asked):
        assert isinstance(answer.rulings[0], Decided)


async def test_many_signed_signals_are_judged_beside_the_loop() -> None:
    """To verify two hundred signatures takes a tenth of a second."""
    stop = ControlMessage(signal="stop", by="eve", digest="d", token=f"{'a' * 200}.b.c")
    hearing = a_hearing([], [], controls=(stop,) * 200, first_execution_run_id="e")
    hold = [asyncio.create_task(JUDGES.run(name, everybody_waits.wait)) for name in "ab"]
    everybody_waits.clear()
    judging = asyncio.create_task(in_run("run-1").run(policy_activities().judge, hearing))
    for _ in range(100):
        await asyncio.sleep(0)
    waits = not judging.done()
    everybody_waits.set()
    judged = await judging
    await asyncio.gather(*hold)

    assert waits
    assert {one.code for one in judged.controls} == {"invalid_token"}


async def test_large_answers_are_judged_beside_the_loop() -> None:
    """Whoever says it: to hold it against what the tool returns takes a tenth of a second."""
    question = a_question(answer_schema={"type": "integer"})
    text = f"[{','.join(['[1]'] * 4_900)}]"
    answer = AnswerSignal(request_id=question.request_id, text=text)
    hearing = a_hearing([answer] * 10, [question])
    async with turns() as had:
        judged = await in_run("run-1").run(policy_activities().judge, hearing)

        assert had() >= 30

    assert {one.code for one in judged.verdicts} == {"unreadable"}
