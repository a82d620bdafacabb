"""A session whose worker is killed: nothing that was taken is lost, and its order stands."""

from pathlib import Path

from tests.durability.processes import deployed
from tests.sessions.talking import Talk

APP = "tests.sessions.talkative:app"


async def test_a_worker_that_dies_loses_no_message(tmp_path: Path) -> None:
    """Whether a message was just taken, is worked on, or the session was closed."""
    # SE-06
    async with deployed(APP, tmp_path) as here:
        talk = Talk(here.client, "holdfast", "kept", {"agent": "it", "tenant": "acme"})
        taken = await talk.send("m-1", "one")
        await here.worker.kill()
        await talk.say("m-2", "two")
        await here.worker.start()
        assert await talk.answer("m-2") == "one + two"
        await talk.say("m-3", "three")
        await talk.signal("close")
        await here.worker.kill()
        await talk.say("m-4", "four")
        await here.worker.start()
        assert await talk.answer("m-4") == "one + two + three + four"
        turns = (await talk.conversation()).items

    assert taken["position"] == 1
    assert [one.message_id for one in turns if one.role == "assistant"] == [
        f"m-{number}" for number in range(1, 5)
    ]
