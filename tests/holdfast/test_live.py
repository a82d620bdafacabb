"""Words are seen while they come, by any number of people, at the price of one look a second."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing

import pytest
from pydantic import JsonValue
from temporalio.api.common.v1 import ActivityType, Payload, Payloads
from temporalio.api.enums.v1 import EventType as HistoryEventType
from temporalio.api.history.v1 import (
    ActivityTaskCancelRequestedEventAttributes,
    ActivityTaskCompletedEventAttributes,
    ActivityTaskFailedEventAttributes,
    ActivityTaskScheduledEventAttributes,
    HistoryEvent,
)

from holdfast import Agent, App, Risk, Tiers, ToolContext, tool
from holdfast.client import Run as WatchedRun
from holdfast.client.cursor import Cursor
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.events import EventType, RunEvent
from holdfast.client.live import LiveFeed
from holdfast.client.live_fold import Beat, LiveFold, LivePosition, LiveTold, Look
from holdfast.contracts.usage import Attempts, LiveText
from holdfast.testing import call, say
from holdfast.trace.reader import TraceReader
from tests.adapters.provider_server import Break, ProviderServer
from tests.running import Runs
from tests.workflows.provider_words import CLAUDE, anthropic, text

WORDS = " ".join(f"word{number}" for number in range(400))
AGENT = Agent(name="it", instructions="Talk.", models=[CLAUDE], stream=True)


def asked(activity: str = "5", event: int = 7, **given: JsonValue) -> HistoryEvent:
    """A model is asked, or a tool for a call."""
    data = json.dumps({"turn": 1, "stream": True, **given})
    scheduled = ActivityTaskScheduledEventAttributes(
        activity_id=activity,
        activity_type=ActivityType(name="call_model"),
        input=Payloads(payloads=[Payload(data=data.encode())]),
    )
    return HistoryEvent(
        event_id=event,
        event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        activity_task_scheduled_event_attributes=scheduled,
    )


REPLIED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
    activity_task_completed_event_attributes=ActivityTaskCompletedEventAttributes(
        scheduled_event_id=7
    ),
)
CALLED_OFF = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
    activity_task_cancel_requested_event_attributes=ActivityTaskCancelRequestedEventAttributes(
        scheduled_event_id=7
    ),
)
TERMINATED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
)
FAILED = HistoryEvent(
    event_type=HistoryEventType.EVENT_TYPE_ACTIVITY_TASK_FAILED,
    activity_task_failed_event_attributes=ActivityTaskFailedEventAttributes(scheduled_event_id=7),
)


def look(said: str, *, attempt: int = 1, now: int = 0, offset: int = 0, seq: int = 1) -> Look:
    """What the server says of an activity that said this, and of which a later attempt may be."""
    live = LiveText(turn=1, attempt=attempt, seq=seq, offset=offset, text=said)
    return Look("e", (Beat("5", now or attempt, Attempts(live=live)),))


def told(events: Iterable[LiveTold]) -> list[str]:
    """What was told, in short."""
    found: list[str] = []
    for _, data in events:
        match data:
            case TextDelta():
                found.append(f"{data.attempt}.{data.seq}@{data.offset} {data.text}")
            case TextReset():
                found.append(f"{data.attempt} {data.reason}")
            case other:
                found.append(str(other.progress))
    return found


def listening(position: LivePosition | None = None) -> LiveFold:
    fold = LiveFold(position)
    assert not list(fold.read("e", asked()))
    return fold


def test_each_look_brings_what_is_new() -> None:
    """However much of it a heartbeat repeats."""
    fold = listening()
    looks = (look("In "), look("In "), look("In Köln."), look("Köln. Yes.", offset=3))

    assert [told(fold.look(one)) for one in looks] == [
        ["1.0@0 In "],
        [],
        ["1.1@3 Köln."],
        ["1.2@8  Yes."],
    ]


def test_an_older_heartbeat_behind_a_newer_one_brings_nothing() -> None:
    """They come from two sides of the worker, and the server keeps the one that came last."""
    fold = listening()

    assert told(fold.look(look("In Köln."))) == ["1.0@0 In Köln."]
    assert told(fold.look(look("In "))) == []


def test_a_failed_attempt_takes_its_words_along() -> None:
    """As soon as the server counts the next one, whether that has said anything or not."""
    # T-32
    fold = listening()

    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert told(fold.look(look("In ", now=2))) == ["1 failed"]
    assert told(fold.look(look("In ", now=2))) == []
    assert told(fold.look(look("At last", attempt=2))) == ["2.0@0 At last"]


def test_who_looks_too_seldom_is_told_so() -> None:
    """The text goes on where the heartbeat has it."""
    fold = listening()

    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert told(fold.look(look("of Köln", offset=90))) == ["1 missed", "1.0@90 of Köln"]
    assert told(listening().look(look("of Köln", offset=90))) == ["1.0@90 of Köln"]


def test_what_ends_without_a_reply_is_void() -> None:
    """A reply says all that was said; whatever else ends it, nothing of it counts."""
    fold, other, silent = listening(), listening(), listening()
    for one in (fold, other):
        assert told(one.look(look("In "))) == ["1.0@0 In "]

    assert told(fold.read("e", REPLIED)) == []
    assert told(other.read("e", FAILED)) == ["1 failed"]
    assert told(silent.read("e", FAILED)) == []
    assert told(fold.look(look("In Köln."))) == []


@pytest.mark.parametrize("end", [CALLED_OFF, TERMINATED], ids=["called off", "terminated"])
def test_what_nobody_waits_for_any_more_is_void(end: HistoryEvent) -> None:
    """At once, though the activity goes on: of a tool that is called off more may come."""
    # BY-44 T-32
    fold = listening()
    tool = LiveFold()
    assert told(fold.look(look("In "))) == ["1.0@0 In "]
    assert not list(tool.read("e", asked(stream=False, call_id="call_1_1")))

    assert told(fold.read("e", end)) == ["1 canceled"]
    assert told(fold.look(look("In Köln."))) == []
    assert told(tool.read("e", end)) == []
    assert tool.listens


def test_nothing_is_told_before_what_it_belongs_to() -> None:
    """The history may be read more slowly than the server is asked."""
    fold = LiveFold()

    assert told(fold.look(look("In "))) == []
    assert not fold.listens


def test_a_cursor_knows_how_far_a_reply_was_told() -> None:
    """Who comes back hears no word twice, also behind an event that lasts."""
    fold = listening()
    list(fold.look(look("In ")))
    cursor = Cursor.parse("abc.e.7.0", "it")
    cursor.move_live("abc", fold.position)

    back = Cursor.parse(str(cursor), "it")

    assert str(cursor) == "abc.e.7.0~abc.e.7.1.1.3"
    assert told(listening(back.find_live("abc")).look(look("In Köln."))) == ["1.1@3 Köln."]
    again = listening(back.find_live("abc"))
    assert told(again.look(look("In ", now=2))) == ["1 failed"]


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


async def test_a_tool_tells_how_far_it_is(runs: Runs) -> None:
    """What it reports is told once, while it runs."""
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
