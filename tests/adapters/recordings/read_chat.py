"""What an answer of Chat Completions says, whoever serves it."""

from collections.abc import Iterator
from typing import Any

from tests.adapters.recordings import expected
from tests.adapters.recordings.exchanges import Body, Exchange
from tests.adapters.recordings.expected import Call, Counts, Failed, Outcome, Said, count

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "": "end_turn",
}
THOUGHTS = ("reasoning", "reasoning_content")


def outcome(exchange: Exchange) -> Outcome:
    completion = whole(exchange)
    return completion if isinstance(completion, Failed) else said(completion)


def whole(exchange: Exchange) -> Body | Failed:
    """The answer as it would have come unstreamed."""
    if not exchange.good:
        return expected.failure(exchange.status, exchange.body)
    if exchange.streamed and isinstance(exchange.body, str):
        return _assembled(list(expected.events(exchange.body)))
    return expected.whole_json(exchange) or expected.UNREADABLE


def said(completion: Body) -> Outcome:
    if completion.get("error"):
        return _failed(completion["error"])
    if not completion.get("choices"):
        return expected.UNREADABLE
    choice: Body = completion["choices"][0]
    message: Body = choice["message"]
    words = tuple(_words(message.get("content")))
    refusal: str = message.get("refusal") or ""
    calls = () if refusal else tuple(map(_call, message.get("tool_calls") or []))
    return Said(
        pieces=(*words, refusal),
        answer="".join(words) + refusal,
        calls=calls,
        stop="refusal" if refusal else _stop(choice, called=bool(calls)),
        counts=_counts(completion.get("usage")),
        model=completion["model"],
        output=message,
        thoughts=tuple(_thoughts(message)),
    )


def _words(content: object) -> Iterator[str]:
    """Content is text, or blocks of which some are text."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        blocks: list[Body] = content
        yield from (block["text"] for block in blocks if block["type"] == "text")


def _thoughts(message: Body) -> Iterator[str]:
    yield from (message[name] for name in THOUGHTS if message.get(name))
    content: Any = message.get("content")
    for block in content if isinstance(content, list) else []:
        if block["type"] == "thinking":
            yield from _words(block["thinking"])


def _call(call: Body) -> Call:
    given: Any = call["function"]["arguments"]
    arguments = expected.arguments(given) if isinstance(given, str) else given
    return call.get("id") or None, call["function"]["name"], arguments


def _stop(choice: Body, *, called: bool) -> str:
    stop = STOPS.get(choice.get("finish_reason") or "", "other")
    return "tool_use" if called and stop == "end_turn" else stop


def _counts(usage: Body | None) -> Counts:
    """Servers count what a cache spared in places of their own."""
    cached = (
        count(usage, "prompt_tokens_details", "cached_tokens")
        or count(usage, "cached_tokens")
        or count(usage, "prompt_cache_hit_tokens")
        or count(usage, "num_cached_tokens")
    )
    return Counts(
        input=count(usage, "prompt_tokens"),
        cached=cached,
        cache_write=count(usage, "prompt_tokens_details", "cache_write_tokens"),
        output=count(usage, "completion_tokens"),
        reasoning=count(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _assembled(chunks: list[Body]) -> Body | Failed:
    message: Body = {}
    completion: Body = {"model": "", "usage": None}
    finish: str | None = None
    for chunk in chunks:
        if chunk.get("error"):
            return _failed(chunk["error"])
        for name in completion:
            completion[name] = chunk.get(name) or completion[name]
        for choice in chunk.get("choices") or []:
            if choice.get("index", 0) == 0:
                _grow(message, choice.get("delta") or {})
                finish = choice.get("finish_reason") or finish
    if finish is None:
        return expected.CUT_OFF
    calls: dict[int, Body] = message.pop("tool_calls", {})
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return completion | {"choices": [{"message": message, "finish_reason": finish}]}


def _grow(message: Body, delta: Body) -> None:
    """Add a delta: text grows, lists grow longer, calls grow by their index."""
    for name, value in delta.items():
        if name == "tool_calls":
            for piece in value or []:
                _grow_call(message.setdefault(name, {}), piece)
        elif name == "role":
            message[name] = value
        elif isinstance(value, str | list):
            message[name] = message[name] + value if message.get(name) else value
        elif value is not None:
            message[name] = value


def _grow_call(calls: dict[int, Body], piece: Body) -> None:
    call = calls.setdefault(piece["index"], {"function": {"name": "", "arguments": ""}})
    call["id"] = piece.get("id") or call.get("id")
    function: Body = piece.get("function") or {}
    call["function"]["name"] = function.get("name") or call["function"]["name"]
    call["function"]["arguments"] += function.get("arguments") or ""


def _failed(error: Any) -> Failed:
    status = error.get("status_code") or error.get("code") if isinstance(error, dict) else None
    return expected.failure(status if isinstance(status, int) else 500, error)
