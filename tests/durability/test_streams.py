"""A worker dies while its model talks: nothing of the half reply counts, and the run goes on."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import CancelledError

from holdfast import Agent, App
from holdfast.client import Run as WatchedRun
from holdfast.client.event_data import TextDelta, TextReset
from holdfast.client.events import EventType, RunEvent
from tests.adapters.provider_server import Break, ProviderServer
from tests.durability import processes
from tests.running import Runs
from tests.sample import lines
from tests.workflows.provider_words import CLAUDE, anthropic, text, tool_use

APP = "tests.durability.noting:app"
WORDS = " ".join(f"word{number}" for number in range(400))


async def asked(provider: ProviderServer, times: int) -> None:
    """Wait until the provider was asked so often."""
    while len(provider.requests) < times:  # noqa: ASYNC110 -- the server lives in a thread
        await asyncio.sleep(0.02)


async def test_a_worker_killed_in_the_middle_of_a_stream(
    provider: ProviderServer, tmp_path: Path
) -> None:
    """The next worker asks again; of the call that was cut off nothing ever ran."""
    # SM-01 SM-02 PP-06
    call = tool_use("toolu_1", "note", amount=100)
    call["input"] = {"amount": 100, "folder": str(tmp_path)}
    whole = anthropic("tool_use", text("I'll note it."), call)
    provider.answer(whole, breaks=Break("stall", after=6))
    async with processes.deployed(APP, tmp_path) as deployed:
        handle = await processes.start(deployed.client, "clerk", "Note 100.", "noted")
        await asked(provider, 1)
        await deployed.worker.kill()
        assert not (tmp_path / "noted.log").exists()
        provider.answer(whole)
        provider.answer(anthropic("end_turn", text("AuditLine.")))
        await deployed.worker.start()
        result = await handle.result()

    assert (result.status, result.answer, result.steps) == ("completed", "AuditLine.", 2)
    assert lines(tmp_path / "noted.log") == ["100"]
    assert len(provider.requests) == 3


async def test_a_cancelled_run_hangs_up(runs: Runs, provider: ProviderServer) -> None:
    """A run that is cancelled while its model talks ends the stream."""
    provider.answer(anthropic("end_turn", text("I'll never say this.")), breaks=Break("stall", 4))
    agent = Agent(name="it", instructions="Talk.", models=[CLAUDE])
    async with runs.working(App(agents=[agent])):
        run = await runs.start("it", "Talk.")
        await asked(provider, 1)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError) as failed:
            await run.result()
        left = await asyncio.to_thread(provider.disconnected.wait, 120)

    assert isinstance(failed.value.cause, CancelledError)
    assert left


async def start_talking(client: Client) -> WatchedRun:
    """Start a run whose words are told while they come."""
    await processes.start(client, "clerk", "Talk.", "watched", stream=True)
    return WatchedRun(client, "watched")


async def told_until(
    run: WatchedRun, kind: EventType, after: str | None = None
) -> AsyncGenerator[RunEvent]:
    """Read a run's events behind a cursor, up to one of a kind, and leave."""
    async with aclosing(run.events(after, live_seconds=0.2)) as events:
        async for event in events:
            yield event
            if event.type is kind:
                return


def words_by_attempt(told: Iterable[RunEvent]) -> dict[int, str]:
    """What each attempt said, of which each piece must stand where the one before it ended."""
    said: dict[int, str] = {}
    for event in told:
        if isinstance(event.data, TextDelta):
            before = said.setdefault(event.data.attempt, "")
            assert len(before) == event.data.offset
            said[event.data.attempt] = before + event.data.text
    return said


async def test_who_watches_is_told_of_a_killed_worker(
    provider: ProviderServer, tmp_path: Path
) -> None:
    """With a cursor they miss nothing, see no word twice, and know which words are void."""
    # T-32 SM-05
    whole = anthropic("end_turn", text(WORDS))
    provider.answer(whole, breaks=Break("stall", after=150))
    provider.answer(whole, breaks=Break("pause", after=250))
    async with processes.deployed(APP, tmp_path) as deployed:
        run = await start_talking(deployed.client)
        told = [event async for event in told_until(run, EventType.TEXT_DELTA)]
        await deployed.worker.kill()
        provider.hanging_up.set()
        await deployed.worker.start()
        for kind in (EventType.TEXT_RESET, EventType.TEXT_DELTA):
            told += [event async for event in told_until(run, kind, told[-1].id)]
        provider.going_on.set()
        told += [event async for event in told_until(run, EventType.RUN_COMPLETED, told[-1].id)]
        result = await run.result()

    said = words_by_attempt(told)
    lasting = dict.fromkeys(event.type for event in told if not event.type.is_live)
    assert result.answer == WORDS
    assert sorted(said) == [1, 2]
    assert all(WORDS.startswith(words) and words for words in said.values())
    assert [event.data for event in told if event.type is EventType.TEXT_RESET] == [
        TextReset(attempt=1, reason="failed")
    ]
    assert " ".join(lasting) == (
        "run.started turn.started turn.completed usage answer run.completed"
    )
    assert len({event.id for event in told}) == len(told)


async def test_who_watches_outlasts_a_killed_server(
    provider: ProviderServer, tmp_path: Path
) -> None:
    """Those who stay read on when it is back, all from one reading; who was away has a cursor."""
    # T-32 SM-05
    whole = anthropic("end_turn", text(WORDS))
    provider.answer(whole, breaks=Break("pause", after=250))
    provider.answer(whole)
    async with processes.deployed(APP, tmp_path) as deployed:
        run = await start_talking(deployed.client)
        left = [event async for event in told_until(run, EventType.TEXT_DELTA)]
        streams = [told_until(run, EventType.RUN_COMPLETED) for _ in "123"]
        stayed = [[await anext(stream)] for stream in streams]
        await deployed.server.kill()
        await deployed.server.start()
        await processes.connected(deployed.port)
        provider.going_on.set()
        for told, stream in zip(stayed, streams, strict=True):
            told += [event async for event in stream]
        left += [event async for event in told_until(run, EventType.RUN_COMPLETED, left[-1].id)]
        result = await run.result()

    assert result.answer == WORDS
    for told in (*stayed, left):
        lasting = [event.type for event in told if not event.type.is_live]
        assert " ".join(dict.fromkeys(lasting)) == (
            "run.started turn.started turn.completed usage answer run.completed"
        )
        assert len({event.id for event in told}) == len(told)
        assert all(WORDS.startswith(words) for words in words_by_attempt(told).values())
