"""Sessions from Python, by somebody who names another tenant: nothing is read, said or closed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from holdfast import HoldfastError
from holdfast.client import Holdfast, Session
from holdfast.contracts.sessions.messages import MessageSignal
from holdfast.run.sessions.messages import accept_message
from tests.builders import NOW, a_session, a_state
from tests.holdfast.unreadable import start_too_deep, start_unreadable
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks

WAYS: Mapping[str, Callable[[Session], Awaitable[object]]] = {
    "conversation": lambda session: session.conversation(),
    "from the first": lambda session: session.conversation(0),
    "outcome": lambda session: session.outcome("m-1"),
    "wait_for": lambda session: session.wait_for("m-1"),
    "report": lambda session: session.report(),
    "send": lambda session: session.send("mine", message_id="e-1"),
    "close": lambda session: session.close(),
}


async def test_who_was_refused_a_session_reads_and_says_nothing_in_it(talks: Talks) -> None:
    """Not while it is open, nor when it opens again behind what they were refused."""
    # SE-02
    async with talks.working(scripted(echo)):
        holdfast = Holdfast(talks.runs.client)
        queue = talks.runs.queue
        own = holdfast.session(agent="it", tenant="acme", queue=queue)
        stranger = holdfast.session(own.id, agent="it", tenant="evil", queue=queue)
        await own.ask("one", message_id="m-1")
        refused = [await _refuses(way, stranger) for way in WAYS]
        await own.close()
        await talks.runs.client.get_workflow_handle(own.id).result()
        refused += [await _refuses(way, stranger) for way in WAYS]
        answer = await own.ask("two", message_id="m-2")
        refused += [await _refuses(way, stranger) for way in WAYS]
        said = [turn.content for turn in (await own.conversation()).items]

    assert refused == [""] * len(refused)
    assert answer.answer == "one + two"
    assert said == ["one", "one", "two", "one + two"]


async def _refuses(way: str, session: Session) -> str:
    """Return nothing where that is refused, or what came of it."""
    try:
        return f"{way}: {await WAYS[way](session)}"
    except HoldfastError as error:
        known = "there is no session" in str(error) or (way == "close" and "over" in str(error))
        return "" if known else f"{way}: {error}"


@pytest.mark.parametrize(
    "kind", ["refused", "another workflow", "never taken", "unreadable", "too deep"]
)
async def test_what_has_the_id_of_a_session_hides_nothing_of_it(talks: Talks, kind: str) -> None:
    """Its own tenant reads what was said and what it came to, and goes on."""
    # SE-02
    async with talks.working(scripted(echo)):
        holdfast, client = Holdfast(talks.runs.client), talks.runs.client
        own = holdfast.session(agent="it", tenant="acme", queue=talks.runs.queue)
        await own.ask("one", message_id="m-1")
        await own.close()
        await client.get_workflow_handle(own.id).result()
        await _take_id(kind, own, talks)
        own = holdfast.session(own.id, agent="it", tenant="acme", queue=talks.runs.queue)
        while not (page := await own.conversation(0)).items:  # noqa: ASYNC110 -- lists are late
            await asyncio.sleep(0.1)
        result = await own.wait_for("m-1")
        again = await own.ask("two")

    assert [turn.content for turn in page.items] == ["one", "one"]
    assert (result.answer, again.answer) == ("one", "one + two")


async def _take_id(kind: str, own: Session, talks: Talks) -> None:
    client, queue = talks.runs.client, talks.runs.queue
    handle = client.get_workflow_handle(own.id)
    if kind == "refused":
        stranger = Holdfast(client).session(own.id, agent="it", tenant="evil", queue=queue)
        with pytest.raises(HoldfastError):
            await stranger.send("mine")
        return
    if kind == "unreadable":
        await start_unreadable(client, own.id, "AgentSession")
    elif kind == "too deep":
        await start_too_deep(client, own.id, "AgentSession", f"{queue}-nobody")
    else:
        name = "AgentRun" if kind == "another workflow" else "AgentSession"
        brief = {"agent": "it", "tenant": "evil"}
        await client.start_workflow(name, brief, id=own.id, task_queue=f"{queue}-nobody")
    await handle.terminate()


@pytest.mark.parametrize("tenant", ["acme", None, "default"])
def test_a_message_for_another_tenant_is_refused(tenant: str | None) -> None:
    """Whoever opened the session just before it came."""
    # SE-02
    state = a_state().with_(session=a_session())
    message = MessageSignal(message_id="m-1", text="mine", tenant=tenant)

    after, receipt = accept_message(state, message, NOW)

    refused = tenant not in {None, state.brief.tenant}
    assert (receipt.state == "refused") is refused
    assert (receipt.position, len(after.oversight.refused)) == ((0, 1) if refused else (1, 0))


async def test_who_takes_the_id_of_a_message_for_an_update_answers_nothing_in_its_place(
    talks: Talks,
) -> None:
    """The server answers an update whose id it knows with what that one came to."""
    async with talks.working(scripted(echo)):
        client = talks.runs.client
        own = Holdfast(client).session(agent="it", tenant="acme", queue=talks.runs.queue)
        await own.ask("one", message_id="m-1")
        handle = client.get_workflow_handle(own.id)
        other = {"message_id": "e-1", "text": "else"}
        await handle.execute_update("send", other, id="m-2")  # pyright: ignore[reportUnknownMemberType] -- an overload of the SDK
        answer = await own.ask("two", message_id="m-2")

    assert answer.answer == "one + else + two"
