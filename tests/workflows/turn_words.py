"""The turns of a conversation in each wire format: how a provider says them, and hears them."""

from collections.abc import Callable, Generator, Mapping
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.provider_server import ProviderServer
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
    reasoning,
    text,
    thinking,
    tool_use,
)


class Asked(NamedTuple):
    """A call of a model's turn."""

    call_id: str
    tool: str
    arguments: Mapping[str, JsonValue]


Heard: TypeAlias = tuple[str, str]
"""A "call" or a "result" with the id of its call, or "words"."""


class Format(NamedTuple):
    """A wire format: its turns with some thought before them, where it has a word for thoughts."""

    path: str
    ask: Callable[[tuple[Asked, ...]], JsonObject]
    say: Callable[[str], JsonObject]
    hear: Callable[[JsonObject], Generator[Heard]]


def _hear_anthropic(body: JsonObject) -> Generator[Heard]:
    for turn in _objects(body["messages"]):
        for block in _objects(turn["content"]):
            match block:
                case {"type": "tool_use", "id": str(call_id)}:
                    yield "call", call_id
                case {"type": "tool_result", "tool_use_id": str(call_id)}:
                    yield "result", call_id
                case {"type": "text", "text": str(words)}:
                    yield "words", words
                case _:
                    pass


def _hear_openai(body: JsonObject) -> Generator[Heard]:
    for item in _objects(body["input"]):
        match item:
            case {"type": "function_call", "call_id": str(call_id)}:
                yield "call", call_id
            case {"type": "function_call_output", "call_id": str(call_id)}:
                yield "result", call_id
            case {"role": "user", "content": words}:
                yield "words", str(words)
            case _:
                pass


def _hear_chat(body: JsonObject) -> Generator[Heard]:
    for item in _objects(body["messages"]):
        match item:
            case {"role": "assistant", "tool_calls": list(made)}:
                yield from (("call", str(one["id"])) for one in _objects(made))
            case {"role": "tool", "tool_call_id": str(call_id)}:
                yield "result", call_id
            case {"role": "user", "content": words}:
                yield "words", str(words)
            case _:
                pass


def _objects(value: JsonValue) -> list[JsonObject]:
    assert isinstance(value, list)
    return [one for one in value if isinstance(one, dict)]


def _ask_anthropic(calls: tuple[Asked, ...]) -> JsonObject:
    asked = (tool_use(one.call_id, one.tool, **one.arguments) for one in calls)
    return anthropic("tool_use", thinking(f"{calls[0].call_id} first"), *asked)


def _ask_openai(calls: tuple[Asked, ...]) -> JsonObject:
    asked = (function_call(one.call_id, one.tool, **one.arguments) for one in calls)
    return openai(reasoning(f"{calls[0].call_id} first"), *asked)


def _ask_chat(calls: tuple[Asked, ...]) -> JsonObject:
    return chat(*(chat_call(one.call_id, one.tool, **one.arguments) for one in calls))


def _say_anthropic(words: str) -> JsonObject:
    return anthropic("end_turn", text(words))


def _say_openai(words: str) -> JsonObject:
    return openai(message(words))


def _say_chat(words: str) -> JsonObject:
    return chat(words=words)


FORMATS: Mapping[str, Format] = {
    CLAUDE: Format("/messages", _ask_anthropic, _say_anthropic, _hear_anthropic),
    GPT: Format("/responses", _ask_openai, _say_openai, _hear_openai),
    CHAT: Format("/chat/completions", _ask_chat, _say_chat, _hear_chat),
}


class Line:
    """The words of models on their way to a run, and what it sends back; all was accepted."""

    def __init__(self, provider: ProviderServer) -> None:
        self._provider = provider

    def ask(self, model: str, *calls: Asked) -> None:
        """Have a model ask for calls in its next turn."""
        self._provider.answer(FORMATS[model].ask(calls))

    def say(self, model: str, words: str) -> None:
        """Have a model answer in its next turn."""
        self._provider.answer(FORMATS[model].say(words))

    def hear(self, model: str, number: int) -> list[Heard]:
        """Return what the model was sent with the request of this number, from 0."""
        received = self._provider.requests[number]
        assert received.path.endswith(FORMATS[model].path)
        return [*FORMATS[model].hear(received.body)]

    def tools(self, number: int) -> frozenset[str]:
        """Return the tools that the model was offered with the request of this number."""
        return self._provider.understand(self._provider.requests[number]).tools

    def text(self, number: int) -> str:
        """Return the whole request of this number."""
        return str(self._provider.requests[number].body)
