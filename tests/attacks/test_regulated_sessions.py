"""A session that was regulated stays so, whatever is said by who opens it again."""

from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError

from holdfast import App, HostedTool
from holdfast.connection import with_codec
from holdfast.contracts.base import JsonObject
from holdfast.testing import Script, say
from tests.attacks.test_regulated import MARK, a_doctor
from tests.holdfast.test_client import Packed
from tests.running import Runs
from tests.sessions.talking import Talk, Talks

HELLO: dict[str, Script] = {"doctor": lambda _: say("hello")}


@pytest.mark.parametrize(
    ("hosted", "reason"),
    [
        pytest.param(False, "this worker has no payload codec", id="codec"),
        pytest.param(True, "hosted tool 'web_search' runs at its provider", id="hosted"),
    ],
)
async def test_who_opens_it_again_need_not_say_that_it_is_regulated(
    runs: Runs, tmp_path: Path, *, hosted: bool, reason: str
) -> None:
    """Its agent of another release isn't fit for that: the session doesn't open."""
    talks = Talks(runs, f"file:{tmp_path / 'archive'}")
    client = with_codec(runs.client, Packed())
    before = App(agents=[a_doctor(tools=[])], scripts=HELLO, codec=Packed())
    searching = a_doctor(tools=[], hosted=[HostedTool(name="web_search")])
    after = App(
        agents=[searching if hosted else a_doctor(tools=[])],
        scripts=HELLO,
        codec=Packed() if hosted else None,
    )
    said: JsonObject = {"agent": "doctor", "regulated": True}
    first = Talk(client, runs.queue, f"talk-{runs.queue}", said)
    unsaid: JsonObject = {"agent": "doctor", "idle_timeout": 1}
    again = Talk(client if hosted else runs.client, runs.queue, first.id, unsaid)
    async with talks.working(before):
        assert await first.exchange("m-1", MARK) == "hello"
        await first.close()
    async with talks.working(after):
        await again.say("m-2", "once more")
        with pytest.raises(WorkflowFailureError) as refused:
            await again.handle.result()
        history = await again.handle.fetch_history()

    assert isinstance(refused.value.cause, ApplicationError)
    assert reason in refused.value.cause.message
    assert not any(MARK.encode() in event.SerializeToString() for event in history.events)
