"""Sessions from Python."""

import asyncio
from contextlib import suppress

import pytest

from holdfast import Agent, App, HoldfastError
from holdfast.client import Holdfast, MessageRefused, NoWorker, Run
from holdfast.contracts.sessions.bounds import MAX_WAITING_MESSAGES
from holdfast.contracts.sessions.messages import ConversationTurn
from holdfast.testing import call, say
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks

AGENTS = ("it", "billing")
LONG = "x" * 15_000
MESSAGES = {"session.message", "session.outcome"}


async def test_asking_opens_a_session_and_opens_it_again(talks: Talks) -> None:
    """One line says something and has what it came to."""
    async with talks.working(scripted(echo)):
        holdfast = Holdfast(talks.runs.client)
        session = holdfast.session(agent="it", tenant="acme", queue=talks.runs.queue)
        assert (await session.ask("one")).answer == "one"
        await session.close("enough")
        await talks.runs.client.get_workflow_handle(session.id).result()
        again = holdfast.session(session.id, agent="it", tenant="acme", queue=talks.runs.queue)
        assert (await again.ask("two", message_id="m-2")).answer == "one + two"
        said = [turn.content for turn in (await again.conversation()).items]
        listed = {one.session_id: one.status for one in await holdfast.sessions(limit=100)}

        other = holdfast.session(session.id, agent="it", tenant="evil", queue=talks.runs.queue)
        with pytest.raises(HoldfastError, match="there is no session"):
            await other.ask("three")
        with pytest.raises(HoldfastError, match="there is no session"):
            await other.conversation()
        await again.close()
        await talks.runs.client.get_workflow_handle(session.id).result()
        with pytest.raises(HoldfastError, match="there is no session"):
            await other.conversation()
        with pytest.raises(HoldfastError, match="there is no session"):
            await other.ask("three")

    assert said == ["one", "one", "two", "one + two"]
    assert listed[session.id] in {"idle", "running"}


async def test_who_watches_a_session_is_told_of_each_message(talks: Talks) -> None:
    """When the work on it begins and is over, around the turns of that work, through every cut."""
    # SM-05
    async with talks.working(scripted(echo, max_history_events=1)):
        session = Holdfast(talks.runs.client).session(
            agent="it", actor="web", queue=talks.runs.queue
        )
        await session.ask("one", message_id="m-1")
        await session.ask("two", message_id="m-2")
        await session.close()
        told = [event async for event in session.run.events()]

    own = [event for event in told if event.type in MESSAGES]
    assert [event.data.model_dump() for event in own] == [
        {"message_id": "m-1", "position": 1, "actor": "web"},
        {"message_id": "m-1", "status": "completed"},
        {"message_id": "m-2", "position": 2, "actor": "web"},
        {"message_id": "m-2", "status": "completed"},
    ]
    shown = [event.type for event in told if event.type in {"turn.completed", *MESSAGES}]
    assert shown == ["session.message", "turn.completed", "session.outcome"] * 2


async def test_a_session_is_found_by_the_id_of_each_of_its_traces(talks: Talks) -> None:
    """One that was opened again has two: the first is of what it was when it was closed."""
    # TR-12
    async with talks.working(scripted(echo)):
        holdfast = Holdfast(talks.runs.client)
        session = holdfast.session(agent="it", queue=talks.runs.queue)
        await session.ask("one")
        first = await holdfast.trace(session.id)
        await session.close()
        await talks.runs.client.get_workflow_handle(session.id).result()
        await session.ask("two")
        second = await holdfast.trace(session.id)
        while not (opened := await holdfast.runs(trace_id=second.trace_id)):  # noqa: ASYNC110 -- the server lists it later
            await asyncio.sleep(0.1)
        closed = await holdfast.runs(trace_id=first.trace_id)

    assert [one.run_id for one in closed + opened] == [session.id] * 2
    assert closed[0].started_at < opened[0].started_at


async def test_what_a_session_carries_no_longer_is_asked_of_earlier_executions(
    talks: Talks,
) -> None:
    """Through cuts, and from before it was closed and opened again: without a gap."""
    # SE-04
    async with talks.working(scripted(lambda _: say("ok"), max_history_events=1)):
        session = Holdfast(talks.runs.client).session(agent="it", queue=talks.runs.queue)
        for number in range(6):
            await session.ask(f"{number} {LONG}", message_id=f"m-{number}")
            if number == 2:
                await session.close()
                await talks.runs.client.get_workflow_handle(session.id).result()
        carried = await session.conversation()
        turns: list[ConversationTurn] = []
        while len(turns) < carried.total:
            page = await session.conversation(len(turns))
            assert page.first_offset == len(turns)
            turns += page.items

    assert carried.first_offset > 0
    assert [(one.message_id, one.role) for one in turns] == [
        (f"m-{number}", role) for number in range(6) for role in ("user", "assistant")
    ]


async def test_a_session_that_is_full_says_so(talks: Talks) -> None:
    """What it has no room for is refused at once, and nobody waits for an answer to it."""
    asks = call("send", log="/dev/null", text="x")  # a person's time has no end
    app = scripted(lambda turn: asks if len(turn.transcript) == 1 else echo(turn))
    async with talks.working(app):
        holdfast = Holdfast(talks.runs.client)
        session = holdfast.session(agent="it", queue=talks.runs.queue)
        await session.send("first", message_id="m-0")
        await waits_for_people(holdfast.run(session.id))
        for number in range(MAX_WAITING_MESSAGES):
            await session.send("more", message_id=f"m-{number + 1}")
        with pytest.raises(MessageRefused, match="send it again when one is answered") as refused:
            await session.ask("too much")
        handle = talks.runs.client.get_workflow_handle(session.id)
        await handle.signal("close", {})
        await handle.result()

    assert refused.value.code == "full"


async def waits_for_people(run: Run) -> None:
    """Wait until a run asks people, however busy its worker is: after 3 seconds nobody answers."""
    while True:
        with suppress(NoWorker):
            if await run.pending():
                return
        await asyncio.sleep(0.1)


async def test_an_id_that_no_session_or_message_can_have_is_refused(talks: Talks) -> None:
    """Before anything is sent: an empty id of a message isn't none, for which one is made up."""
    holdfast = Holdfast(talks.runs.client)
    with pytest.raises(HoldfastError, match="begins with a letter or a digit"):
        holdfast.session("../x", agent="it")
    with pytest.raises(HoldfastError, match="message_id"):
        await holdfast.session(agent="it").send("one", message_id="")


async def test_a_session_was_opened_with_one_agent(talks: Talks) -> None:
    """Whoever means another one is told so, open or closed, and nothing is said in it."""
    agents = [Agent(name=name, instructions="Talk.", models=["scripted:echo"]) for name in AGENTS]
    async with talks.working(App(agents=agents, scripts={"echo": echo})):
        holdfast, queue = Holdfast(talks.runs.client), talks.runs.queue
        session = holdfast.session(agent="it", queue=queue)
        await session.ask("one")
        other = holdfast.session(session.id, agent="billing", queue=queue)
        with pytest.raises(MessageRefused, match="is one of agent 'it', and not of 'billing'"):
            await other.ask("two")
        said = [turn.content for turn in (await session.conversation()).items]
        await session.close()
        await talks.runs.client.get_workflow_handle(session.id).result()
        with pytest.raises(HoldfastError, match="is one of agent 'it', and not of 'billing'"):
            await other.ask("three")

    assert said == ["one", "one"]


async def test_what_a_session_has_none_of_is_said_in_words_of_sessions(talks: Talks) -> None:
    """Its messages have results, and one that is over is opened by the next."""
    async with talks.working(scripted(echo)):
        holdfast = Holdfast(talks.runs.client)
        session = holdfast.session(agent="it", queue=talks.runs.queue)
        await session.ask("one")
        with pytest.raises(HoldfastError, match="is a session, of which each message has a"):
            await session.run.result()
        await session.close()
        await talks.runs.client.get_workflow_handle(session.id).result()
        with pytest.raises(HoldfastError, match="is a session, of which each message has a"):
            await session.run.result()
        over = rf"^session '{session.id}' is over \(completed\): a message opens it again$"
        for way in (session.run.steer, session.run.stop, session.close):
            with pytest.raises(HoldfastError, match=over):
                await way("why")
