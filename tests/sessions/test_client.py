"""Sessions from Python."""

import pytest

from holdfast import HoldfastError
from holdfast.client import Holdfast
from tests.sample import scripted
from tests.sessions.talkative import echo
from tests.sessions.talking import Talks


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


def test_an_id_that_no_session_can_have_is_refused(talks: Talks) -> None:
    """Before anything is sent."""
    with pytest.raises(HoldfastError, match="begins with a letter or a digit"):
        Holdfast(talks.runs.client).session("../x", agent="it")
