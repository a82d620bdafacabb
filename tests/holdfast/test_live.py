"""Words are seen while they come, by any number of people, at the price of one look a second."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import pytest
from temporalio.api.history.v1 import (
    HistoryEvent,
)

from holdfast import Agent, App, Risk, Tiers, ToolContext, tool
from holdfast.client import Run as WatchedRun
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.events import EventType, RunEvent
from holdfast.client.live import LiveFeed
from holdfast.connection import with_codec
from holdfast.testing import call, say
from holdfast.trace.reader import TraceReader
from tests.adapters.provider_server import Break, ProviderServer
from tests.holdfast.test_client import Packed
from tests.running import Runs
from tests.workflows.provider_words import CLAUDE, anthropic, text

WORDS = " ".join(f"word{number}" for number in range(400))
AGENT = Agent(name="it", instructions="Talk.", models=[CLAUDE], stream=True)


async def watched(
    events: AsyncGenerator[RunEvent], until: Callable[[RunEvent], bool]
) -> list[RunEvent]:
    """Read events up to one, and leave."""
    found: list[RunEvent] = []
    async with aclosing(events):
        async for event in events:
            found.append(event)
            if until(event):
                break
    return found


def spoken(events: Sequence[RunEvent]) -> tuple[str, list[RunEvent]]:
    """The words that count of those that were told, each at its place; and what lasts."""
    said = ""
    for event in events:
        match event.data:
            case TextReset():
                said = ""
            case TextDelta():
                assert len(said) == event.data.offset
                said += event.data.text
            case _:
                pass
    return said, [event for event in events if not event.type.is_live]


def is_delta(event: RunEvent) -> bool:
    return event.type is EventType.TEXT_DELTA


def is_over(event: RunEvent) -> bool:
    return event.type is EventType.RUN_COMPLETED


async def test_words_come_between_the_start_of_a_turn_and_its_end(
    runs: Runs, provider: ProviderServer
) -> None:
    """Who leaves in the middle and comes back hears the rest, and no word twice."""
    # T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=200))
    async with runs.working(App(agents=[AGENT])):
        started = await runs.start("it")
        run = WatchedRun(runs.client, started.handle.id)
        first = await watched(run.events(live_seconds=0.1), is_delta)
        rest = asyncio.create_task(
            watched(run.events(after=first[-1].id, live_seconds=0.1), is_over)
        )
        await asyncio.to_thread(provider.silent.wait)
        provider.going_on.set()
        events = first + await rest
        again = await watched(run.events(live_seconds=0.1), is_over)

    said, lasting = spoken(events)
    assert WORDS.startswith(said)
    assert len(said) > 300
    assert [event.type for event in first] == ["run.started", "turn.started", "text.delta"]
    assert [event.type for event in lasting] == [event.type for event in again]
    assert [event.with_(id="") for event in lasting] == [event.with_(id="") for event in again]


async def test_words_of_a_part_come_in_the_stream_of_its_run(
    runs: Runs, provider: ProviderServer
) -> None:
    """With the path of its agent; who leaves in their middle hears the rest, and none twice."""
    # T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=200))
    whole = Agent(name="whole", instructions="Have it done.", tiers=Tiers(full="it"))
    async with runs.working(App(agents=[whole, AGENT])):
        started = await runs.start("whole")
        run = WatchedRun(runs.client, started.handle.id)
        told = await watched(run.events(live_seconds=0.1), is_delta)
        await asyncio.to_thread(provider.silent.wait)
        provider.going_on.set()
        told += [event async for event in run.events(told[-1].id, live_seconds=0.1)]

    said, _ = spoken(told)
    assert {event.path for event in told if event.type.is_live} == {("whole", "it")}
    assert WORDS.startswith(said)
    assert len(said) > 300
    assert (told[-1].type, told[-1].path) == (EventType.RUN_COMPLETED, ("whole",))


async def test_a_failed_attempt_is_told_of(runs: Runs, provider: ProviderServer) -> None:
    """What it said is void, and what the next one says begins anew."""
    # T-32
    whole = anthropic("end_turn", text(WORDS))
    provider.answer(whole, breaks=Break("stall", after=200))
    provider.answer(whole, breaks=Break("pause", after=300))
    async with runs.working(App(agents=[AGENT])):
        started = await runs.start("it")
        run = WatchedRun(runs.client, started.handle.id)
        events = run.events(live_seconds=0.1)
        first = await anext(event async for event in events if is_delta(event))
        provider.hanging_up.set()
        second = [await anext(event async for event in events if event.type.is_live) for _ in "12"]
        provider.going_on.set()
        last = [event async for event in events]

    told = [first, *second, *last]
    said, _ = spoken(told)
    assert isinstance(first.data, TextDelta)
    assert second[0].data == TextReset(attempt=1, reason="failed")
    assert isinstance(second[1].data, TextDelta)
    assert (second[1].data.attempt, second[1].data.seq, second[1].data.offset) == (2, 0, 0)
    assert WORDS.startswith(said)


async def test_a_hundred_who_watch_cost_as_much_as_one(
    runs: Runs, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked, and what it says is read, once for all: history has nothing of it."""
    # SM-05
    requests = 0
    read: list[HistoryEvent] = []
    read_event = TraceReader.read

    def noting(self: TraceReader, event: HistoryEvent) -> None:
        read.append(event)
        read_event(self, event)

    monkeypatch.setattr(TraceReader, "read", noting)
    service = runs.client.workflow_service

    def counting(ask: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def count(*given: object, **more: object) -> object:
            nonlocal requests
            requests += 1
            return await ask(*given, **more)

        return count

    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=200))
    async with runs.working(App(agents=[AGENT])):
        started = await runs.start("it")
        run = WatchedRun(runs.client, started.handle.id)
        streams = [run.events(live_seconds=0.2) for _ in range(100)]
        begun = [[await anext(one)] for one in streams]
        before = (await started.handle.describe()).history_length
        for name in ("describe_workflow_execution", "get_workflow_execution_history"):
            monkeypatch.setattr(service, name, counting(getattr(service, name)))
        first = await asyncio.gather(*(watched(one, is_delta) for one in streams))
        during = (await started.handle.describe()).history_length
        provider.going_on.set()
        await started.result()

    assert len(read) == len({event.event_id for event in read}) >= during
    assert {len(begun[0] + one) for one in first} == {3}
    assert during == before
    assert requests < 40


async def test_whoever_comes_when_all_have_left_is_told_as_well(
    runs: Runs, provider: ProviderServer
) -> None:
    """Nobody is looked for while nobody watches, and somebody again afterwards."""
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("pause", after=200))
    async with runs.working(App(agents=[AGENT])):
        started = await runs.start("it")
        feed = LiveFeed(runs.client, started.handle.id)
        for _ in range(2):
            async with aclosing(feed.watch(0.05)) as looks:
                assert await anext(looks)
            assert not feed.has_watchers
        provider.going_on.set()
        await started.result()


@pytest.mark.parametrize("coded", [False, True], ids=["plain", "through a codec"])
async def test_a_tool_tells_how_far_it_is(runs: Runs, *, coded: bool) -> None:
    """What it reports is told once, while it runs, to whoever can read it."""
    # T-32
    runs = Runs(with_codec(runs.client, Packed())) if coded else runs
    go_on = asyncio.Event()

    @tool(risk=Risk.READ_ONLY)
    async def count_up(ctx: ToolContext) -> str:
        """Count up to one and wait."""
        ctx.heartbeat({"done": 1})
        await go_on.wait()
        return "done"

    agent = Agent(name="it", instructions="Go.", models=["scripted:it"], tools=[count_up])
    app = App(agents=[agent], scripts={"it": [call("count_up"), say("Done.")]})
    async with runs.working(app):
        started = await runs.start("it")
        run = WatchedRun(runs.client, started.handle.id)
        events: list[RunEvent] = []
        async for event in run.events(live_seconds=0.1):
            events.append(event)
            if event.type is EventType.TOOL_PROGRESS:
                go_on.set()

    [report] = [event for event in events if event.type is EventType.TOOL_PROGRESS]
    assert report.data.model_dump() == {
        "call_id": "call_1_1",
        "attempt": 1,
        "progress": {"done": 1},
    }
