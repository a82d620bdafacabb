"""A person breaks off a model in the middle of its words: who watches hears that they are void."""

import asyncio
from collections.abc import Sequence

from holdfast import Agent, App
from holdfast.client import Run as WatchedRun
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.events import EventType, RunEvent
from tests.adapters.provider_server import Break, ProviderServer
from tests.control.test_steers_now import NOW, said
from tests.control.test_stops import STOP, holds
from tests.running import Runs
from tests.workflows.provider_words import CLAUDE, anthropic, text

WORDS = " ".join(f"word{number}" for number in range(400))
APP = App(agents=[Agent(name="it", instructions="Talk.", models=[CLAUDE], stream=True)])


def resets(events: Sequence[RunEvent]) -> list[TextReset]:
    return [event.data for event in events if isinstance(event.data, TextReset)]


async def test_a_stop_in_the_middle_of_a_reply(runs: Runs, provider: ProviderServer) -> None:
    """The provider is hung up on, and of what it said nothing is left."""
    # BY-44 T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("stall", after=200))
    async with runs.working(APP):
        run = await runs.start("it")
        events = WatchedRun(runs.client, run.handle.id).events(live_seconds=0.1)
        await anext(event async for event in events if isinstance(event.data, TextDelta))
        await run.signal("stop", STOP)
        rest = [event async for event in events]
        result = await run.result()
        page = await run.transcript()
        left = await asyncio.to_thread(provider.disconnected.wait, 120)
        await runs.histories(run)

    holds(result)
    assert left
    assert resets(rest) == [TextReset(attempt=1, reason="canceled")]
    assert rest[-1].type is EventType.RUN_COMPLETED
    assert "word1" not in result.model_dump_json() + page.model_dump_json()


async def test_words_that_cant_wait_in_the_middle_of_a_reply(
    runs: Runs, provider: ProviderServer
) -> None:
    """The provider is hung up on, and asked again with them: its answer to that counts."""
    # BY-44 T-32
    provider.answer(anthropic("end_turn", text(WORDS)), breaks=Break("stall", after=200))
    provider.answer(anthropic("end_turn", text("As you like.")))
    async with runs.working(APP):
        run = await runs.start("it")
        events = WatchedRun(runs.client, run.handle.id).events(live_seconds=0.1)
        await anext(event async for event in events if isinstance(event.data, TextDelta))
        await run.signal("steer", NOW)
        rest = [event async for event in events]
        result = await run.result()
        heard, page = await said(run), await run.transcript()
        await runs.histories(run)

    assert (result.status, result.answer, heard) == (
        "completed",
        "As you like.",
        ["the other one"],
    )
    assert resets(rest) == [TextReset(attempt=1, reason="canceled")]
    assert len(provider.requests) == 2
    assert "word1" not in page.model_dump_json()
