"""The same loop with every provider: through the real SDKs, to a strict local server."""

from collections.abc import Generator
from pathlib import Path

import pytest

from adapters.scripted import Script
from contracts.base import JsonObject
from holdfast import Agent, App, call, say
from tests.adapters.conftest import OTHER_CREDENTIALS
from tests.adapters.provider_server import ProviderServer, serving
from tests.histories import names
from tests.running import Runs
from tests.sample import add

SECRET = "a-key-that-nobody-may-see"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Generator[ProviderServer]:
    for variable in OTHER_CREDENTIALS:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        for name, path in (("ANTHROPIC", ""), ("OPENAI", "/v1")):
            monkeypatch.setenv(f"{name}_API_KEY", SECRET)
            monkeypatch.setenv(f"{name}_BASE_URL", f"{server.address}{path}")
        yield server


def anthropic(stop: str, *blocks: JsonObject) -> JsonObject:
    """What Anthropic answers."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def openai(*items: JsonObject) -> JsonObject:
    """What OpenAI answers."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "gpt-5.2",
        "output": list(items),
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15},
    }


ANSWERS: dict[str, tuple[JsonObject, JsonObject]] = {
    "anthropic:claude-sonnet-5": (
        anthropic(
            "tool_use",
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2, "b": 3}},
        ),
        anthropic("end_turn", {"type": "text", "text": "5"}),
    ),
    "openai:gpt-5.2": (
        openai(
            {
                "type": "function_call",
                "call_id": "t1",
                "name": "add",
                "arguments": '{"a": 2, "b": 3}',
                "status": "completed",
            }
        ),
        openai(
            {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "5", "annotations": []}],
            }
        ),
    ),
    "scripted:adder": ({}, {}),
}

SCRIPT: Script = [call("add", a=2, b=3), say("5")]


@pytest.mark.parametrize("model", list(ANSWERS))
async def test_every_provider_drives_the_same_loop(
    runs: Runs, provider: ProviderServer, model: str
) -> None:
    """The provider is data: the same script gives the same activities with each of them."""
    # AD-02 AD-03 SS-04 TS-01
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
    assert SECRET.encode() not in b"".join(event.SerializeToString() for event in history.events)


async def test_a_rate_limit_is_waited_for(runs: Runs, provider: ProviderServer) -> None:
    """A provider that asks for a pause gets it, and one request for each attempt."""
    provider.answer({"type": "error"}, status=429, headers={"retry-after-ms": "300"})
    provider.answer(anthropic("end_turn", {"type": "text", "text": "hello"}))
    agent = Agent(name="greeter", instructions="Greet.", models=["anthropic:claude-sonnet-5"])
    async with runs.working(App(agents=[agent])):
        run = await runs.start("greeter")
        result = await run.result()

    assert result.answer == "hello"
    assert len(provider.requests) == 2
