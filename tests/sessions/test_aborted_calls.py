"""A message is broken off in the middle of its calls: what the provider is sent afterwards."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from holdfast import Agent, App
from tests.adapters.provider_server import ProviderServer
from tests.sample import IMPATIENT, add, hold
from tests.sessions.talking import Talk, Talks
from tests.workflows.tiered import written
from tests.workflows.turn_words import FORMATS, Asked, Line


async def stop(talk: Talk) -> None:
    await talk.signal("stop", {"reason": "enough", "by": "dana"})
    await talk.result("m-1")


async def cancel(talk: Talk) -> None:
    await talk.handle.cancel()
    await talk.closed()


@pytest.mark.parametrize("end", [stop, cancel])
@pytest.mark.parametrize("model", list(FORMATS))
async def test_a_conversation_goes_on_behind_calls_that_were_broken_off(
    talks: Talks,
    provider: ProviderServer,
    tmp_path: Path,
    model: str,
    end: Callable[[Talk], Awaitable[None]],
) -> None:
    """The next message is taken by the provider: each call has a result, which says `aborted`."""
    # SM-04
    log = tmp_path / "log"
    line = Line(provider)
    line.ask(model, Asked("t1", "hold", {"log": str(log)}), Asked("t2", "hold", {"log": str(log)}))
    line.say(model, "Where were we?")
    agent = Agent(
        name="it", instructions="Work.", models=[model], tools=[hold, add], settings=IMPATIENT
    )
    async with talks.working(App(agents=[agent])):
        talk = talks.talk()
        await talk.say("m-1", "hold it")
        await written(log)
        await end(talk)
        answer = await talk.exchange("m-2", "go on")

    assert answer == "Where were we?"
    assert [one for one in line.hear(model, 1) if one[0] != "words"] == [
        *(("call", "t1"), ("call", "t2"), ("result", "t1"), ("result", "t2")),
    ]
    assert line.text(1).count("aborted") >= 2
