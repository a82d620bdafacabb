"""Attack: whoever watches a run wants to read along what its guardrails haven't seen yet."""

import asyncio
from pathlib import Path

import pytest

from holdfast import Agent, App, Tiers
from holdfast.client import Run as WatchedRun
from holdfast.client.events import EventType, RunEvent
from holdfast.contracts.guardrails import GuardrailResult, Subject
from holdfast.contracts.model import Stream
from holdfast.contracts.run import RunInput
from holdfast.guardrails import Guardrail, GuardrailContext, guardrail, judged_by, passed, tripped
from holdfast.guardrails.builtin import review_approval, secret_detection
from holdfast.testing import call, calls, say
from tests.adapters.provider_server import Break, ProviderServer
from tests.attacks.test_unreleased_answers import is_at, look
from tests.attacks.watchers import seen
from tests.running import Runs
from tests.workflows.provider_words import CLAUDE, anthropic, text
from tests.workflows.tiered import staffed

BAD = "the plan is to sell " * 20
GOOD = "no comment"


def held_up(go: Path) -> Guardrail:
    """A guardrail that looks at an answer, and takes its time."""

    @guardrail(layer="output", on_trip="block")
    async def discreet(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        """Nobody is told to sell."""
        while not go.exists():  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.01)
        return tripped("it tells them") if "sell" in subject.text else passed()

    return discreet


def speaker(look_at: Guardrail, stream: Stream) -> Agent:
    return Agent(
        name="it",
        instructions="Comment.",
        models=[CLAUDE],
        guardrails=(look_at,),
        stream=stream,
    )


async def watched(runs: Runs, run_id: str, told: list[RunEvent]) -> None:
    """Read along all that a run and its parts tell, live too."""
    async for event in WatchedRun(runs.client, run_id).events(live_seconds=0.05):
        told += [event]  # somebody looks at it meanwhile


async def speaking(runs: Runs, run_id: str, provider: ProviderServer) -> None:
    """Let the model say half of its answer, and its worker send a heartbeat after that."""
    await asyncio.to_thread(provider.silent.wait)
    handle = runs.client.get_workflow_handle(run_id)
    beaten = False
    while not beaten:
        [asked] = (await handle.describe()).raw_description.pending_activities
        beaten = asked.HasField("last_heartbeat_time")
        await asyncio.sleep(0.05)


async def test_no_channel_tells_an_answer_before_it_was_looked_at(
    runs: Runs, provider: ProviderServer, tmp_path: Path
) -> None:
    """Neither while the model speaks, nor while a guardrail looks, nor when it has blocked it."""
    # SM-05 T-32
    go = tmp_path / "go"
    provider.answer(anthropic("end_turn", text(BAD)), breaks=Break("pause", after=60))
    told: list[RunEvent] = []
    async with runs.working(App(agents=[speaker(held_up(go), stream=False)])):
        run = await runs.start("it", stream=True)
        watching = asyncio.create_task(watched(runs, run.handle.id, told))
        await speaking(runs, run.handle.id, provider)
        spoken = await seen(runs, run.handle.id)
        provider.going_on.set()
        while not await is_at(runs, run.handle.id, "discreet"):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        held = await seen(runs, run.handle.id)
        go.touch()
        result = await run.result()
        await watching
        after = await seen(runs, run.handle.id)

    events = "\n".join(event.model_dump_json() for event in told)
    assert result.status == "blocked"
    assert "to sell" not in f"{spoken}{held}{after}{result}{events}"
    assert told[-1].type is EventType.RUN_COMPLETED
    assert not [event for event in told if event.type.is_live]


async def test_what_may_be_read_before_is_still_no_answer(
    runs: Runs, provider: ProviderServer, tmp_path: Path
) -> None:
    """An agent may let its words out while they come; what is blocked is said by nobody else."""
    # SM-05 T-32
    go = tmp_path / "go"
    provider.answer(anthropic("end_turn", text(BAD)), breaks=Break("pause", after=60))
    told: list[RunEvent] = []
    async with runs.working(App(agents=[speaker(held_up(go), stream="before_checks")])):
        run = await runs.start("it")
        watching = asyncio.create_task(watched(runs, run.handle.id, told))
        while not any(event.type is EventType.TEXT_DELTA for event in told):  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.02)
        provider.going_on.set()
        go.touch()
        result = await run.result()
        await watching

    lasting = "\n".join(event.model_dump_json() for event in told if not event.type.is_live)
    assert result.status == "blocked"
    assert "to sell" not in f"{lasting}{result}"


async def test_no_part_tells_what_its_whole_withholds(runs: Runs) -> None:
    """A judge quotes the answer that it judges, and may let words out as little as that one."""
    # SM-05 T-32
    judging = Agent(
        name="judge",
        instructions="Judge.",
        models=["scripted:judge"],
        tools=(look,),
        stream=True,
    )
    agent = Agent(
        name="it",
        instructions="Comment.",
        models=["scripted:it"],
        guardrails=(judged_by("judge"),),
    )
    verdict = GuardrailResult(tripwire_triggered=False).model_dump_json()
    app = App(
        agents=[agent, judging],
        scripts={
            "it": [say(GOOD)],
            "judge": [calls(call("look"), text=BAD), say(verdict)],
        },
    )
    told: list[RunEvent] = []
    async with runs.working(app):
        run = await runs.start("it", stream=True)
        await watched(runs, run.handle.id, told)
        result = await run.result()

    events = "\n".join(event.model_dump_json() for event in told)
    assert result.answer == GOOD
    assert "subagent.completed" in events
    assert "to sell" not in events
    assert not [event for event in told if event.type.is_live]


@pytest.mark.parametrize(
    ("look_at", "wanted"),
    [
        pytest.param((), True, id="nobody looks"),
        pytest.param((review_approval(),), False, id="people look"),
        pytest.param((secret_detection(),), True, id="withheld, whatever is wanted"),
    ],
)
async def test_no_part_says_what_becomes_an_answer_that_is_looked_at(
    runs: Runs, look_at: tuple[Guardrail, ...], *, wanted: bool
) -> None:
    """What a tier says is what its whole will answer."""
    # SM-05
    app = staffed({"coder": [say(GOOD)]}, tiers=Tiers(full="coder"), guardrails=look_at)
    async with runs.working(app):
        run = await runs.start("it", stream=True)
        while not await run.pending() and not (await run.status()).answer:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        history = await run.handle.fetch_history()
        await run.handle.cancel()

    [given] = [
        RunInput.model_validate_json(initiated.input.payloads[0].data)
        for event in history.events
        if (initiated := event.start_child_workflow_execution_initiated_event_attributes).input
        and initiated.input.payloads
    ]
    assert given.stream is wanted
    assert given.withheld is (wanted and bool(look_at))
