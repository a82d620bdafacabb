"""The same loop with every provider: through the real SDKs, to a strict local server."""

from datetime import timedelta

import pytest

from holdfast import Agent, App, AppError
from holdfast.adapters.scripted import Script
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, say
from tests.adapters.conversations import KEY
from tests.adapters.provider_server import ProviderServer
from tests.histories import last_attempt, names
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import add
from tests.workflows.provider_words import (
    CHAT,
    CLAUDE,
    GPT,
    anthropic,
    chat,
    chat_call,
    function_call,
    message,
    openai,
    text,
    tool_use,
)

ANSWERS: dict[str, tuple[JsonObject, ...]] = {
    CLAUDE: (
        anthropic("tool_use", tool_use("t1", a=2, b=3)),
        anthropic("end_turn", text("5")),
    ),
    GPT: (openai(function_call("t1", a=2, b=3)), openai(message("5"))),
    CHAT: (chat(chat_call("t1", a=2, b=3)), chat(words="5")),
    "scripted:adder": (),
}

SCRIPT: Script = [call("add", a=2, b=3), say("5")]


@pytest.mark.parametrize("model", list(ANSWERS))
async def test_every_provider_drives_the_same_loop(
    runs: Runs, provider: ProviderServer, model: str
) -> None:
    """The provider is data: the same script gives the same activities with each of them."""
    # AD-01 AD-02 AD-03 SS-04 TS-01 BY-72
    for answer in ANSWERS[model]:
        provider.answer(answer)
    agent = Agent(name="adder", instructions="Add.", models=[model], tools=[add])
    async with runs.working(App(agents=[agent], scripts={"adder": SCRIPT})):
        run = await runs.start("adder", "What is 2 + 3?")
        result = await run.result()
        found = await run.success()
        history = await run.handle.fetch_history()

    assert (result.status, result.answer, result.model) == ("completed", "5", model)
    assert found.data == 5
    assert names(history) == ["open_run", "call_model", "authorize", "add", "call_model"]
    assert KEY.encode() not in b"".join(event.SerializeToString() for event in history.events)


@pytest.mark.parametrize(
    ("model", "answer"),
    [
        pytest.param(CLAUDE, anthropic("end_turn", text("hello")), id="anthropic"),
        pytest.param(GPT, openai(message("hello")), id="openai"),
        pytest.param(CHAT, chat(words="hello"), id="openai-chat"),
    ],
)
async def test_a_rate_limit_is_waited_for(
    skipping_runs: Runs, provider: ProviderServer, model: str, answer: JsonObject
) -> None:
    """`Retry-After: 7` means one more request, and not before 7 seconds are over."""
    # T-02
    provider.answer({"type": "error"}, status=429, headers={"retry-after": "7"})
    provider.answer(answer)
    agent = Agent(name="greeter", instructions="Greet.", models=[model])
    async with skipping_runs.working(App(agents=[agent])):
        run = await skipping_runs.start("greeter")
        result = await run.result()
        attempt, waited = last_attempt(await run.handle.fetch_history())

    assert (result.answer, attempt, len(provider.requests)) == ("hello", 2, 2)
    assert waited >= timedelta(seconds=7)


async def test_a_provider_that_isnt_there_keeps_the_worker_from_starting(
    memory_runs: MemoryRuns,
) -> None:
    """A typo in a provider's name is told before any run finds it."""
    app = App(agents=[Agent(name="it", instructions="Talk.", models=["opnai:gpt-5.2"])])

    with pytest.raises(AppError, match="no provider for model 'opnai:gpt-5"):
        async with memory_runs.working(app):
            pass
