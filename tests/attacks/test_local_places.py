"""Nobody keeps the places where others are decided about: by long texts, or many quick reads."""

import asyncio
import dataclasses

import pytest
from temporalio.exceptions import ApplicationError

from holdfast import Risk, tool
from holdfast.activities.callers import NOT_HERE
from holdfast.activities.guardrails import MAX_LONG_LOOKS
from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY
from holdfast.contracts.guardrails import GuardrailVerdicts
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
)
from holdfast.serving.slots import MAX_TASKS
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.activities.looking import activities, asking, goal
from tests.asking import in_run
from tests.control.guarded import guarded
from tests.running import Runs
from tests.sample import add, scripted

LONG = "word " * 2_000


async def test_long_goals_of_one_tenant_take_few_of_the_places_where_others_decide(
    runs: Runs,
) -> None:
    """The rest of them wait without a place until it is their turn, and are looked at then."""
    # GR-01 BY-64
    looking, most = 0, 0
    many, go = asyncio.Event(), asyncio.Event()

    @guardrail(layer="input", local=True)
    async def slow(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
        nonlocal looking, most
        if ctx.tenant == "acme":
            looking += 1
            most = max(most, looking)
            if looking >= MAX_LONG_LOOKS:
                many.set()
            try:
                await go.wait()
            finally:
                looking -= 1
        return passed()

    async with runs.working(guarded(lambda _: say("done"), slow)):
        asked = [await runs.start("it", LONG, tenant="acme") for _ in range(MAX_LONG_LOOKS + 10)]
        await many.wait()
        other = await runs.start("it", LONG, tenant="globex")
        result = await other.result()
        go.set()
        answers = [(await one.result()).answer for one in asked]
        await asked[-1].story()

    assert result.answer == "done"
    assert most == MAX_LONG_LOOKS
    assert set(answers) == {"done"}


@pytest.mark.parametrize(
    ("text", "local", "refused"),
    [
        pytest.param(LONG, True, [NOT_HERE], id="long"),
        pytest.param("word", True, [], id="short"),
        pytest.param(LONG, False, [], id="in an activity of its own"),
    ],
)
async def test_beyond_its_share_a_tenants_long_texts_are_left_for_later(
    text: str, refused: list[str], *, local: bool
) -> None:
    """Another tenant has a share of its own; what has been looked at makes room."""
    go, looked = asyncio.Event(), list[str]()

    @guardrail(layer="input", local=local)
    async def slow(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
        looked.append(ctx.tenant)
        await go.wait()
        return passed()

    worker = activities([slow])

    def look(tenant: str) -> asyncio.Task[GuardrailVerdicts]:
        place = in_run("run-1")
        place.info = dataclasses.replace(place.info, is_local=local)
        asked = asking(slow, subjects=(goal(text),), tenant=tenant)
        return asyncio.create_task(place.run(worker.run, asked))

    acme = [look("acme") for _ in range(MAX_LONG_LOOKS + 1)]
    globex = look("globex")
    for _ in range(10):
        await asyncio.sleep(0)
    go.set()
    ends = await asyncio.gather(*acme, return_exceptions=True)
    await globex
    await look("acme")

    assert [one.type for one in ends if isinstance(one, ApplicationError)] == refused
    assert looked.count("acme") == MAX_LONG_LOOKS + 2 - len(refused)


async def test_many_quick_reads_of_a_reply_take_no_place_where_others_are_decided(
    runs: Runs,
) -> None:
    """Its run has a place for each: another tenant's is decided about while all of them hang."""
    looking, go = 0, asyncio.Event()

    @tool(risk=Risk.READ_ONLY, local=True, timeout=10, max_result_chars=1_000)
    async def gaze(place: int) -> str:
        """Gaze at a place until there is something."""
        nonlocal looking
        looking += 1
        await go.wait()
        return f"nothing at {place}"

    def script(turn: ScriptTurn) -> Reply:
        if turn.number == 1 and turn.goal == "many":
            return calls(*(call("gaze", place=place) for place in range(MAX_CALLS_PER_REPLY)))
        return call("add", a=1, b=1) if turn.number == 1 else say("done")

    async with runs.working(scripted(script, tools=[gaze, add])):
        many = await runs.start("it", "many", tenant="acme")
        while looking < MAX_TASKS:
            await many.pause()
        other = await runs.start("it", "one", tenant="globex")
        ended, _ = await asyncio.wait({asyncio.create_task(other.result())}, timeout=8)
        go.set()
        ends = {(await one.result()).answer for one in (many, other)}

    assert ended
    assert ends == {"done"}
