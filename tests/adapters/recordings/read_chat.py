"""What an answer of Chat Completions says, whoever serves it."""

from collections.abc import Iterator
from itertools import groupby

from tests.adapters.recordings import expected
from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.expected import Call, Counts, Failed, Outcome, Said, count
from tests.adapters.recordings.values import Body, Value, entries, fields, is_list, is_object

STOPS = {
    "stop": "end_turn",
    "end_turn": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "max_tokens": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "": "end_turn",
}
BROKEN_OFF = {"error", "insufficient_system_resource"}
CUT_SHORT = {"length", "model_length", "max_tokens", "content_filter"}
THOUGHTS = ("reasoning", "reasoning_content")
GROWING = ("text", "summary", "data")


def outcome(exchange: Exchange) -> Outcome:
    completion = whole(exchange)
    return completion if isinstance(completion, Failed) else said(completion)


def whole(exchange: Exchange) -> Body | Failed:
    """The answer as it would have come unstreamed."""
    answer = expected.received(exchange)
    return _assembled(answer) if isinstance(answer, list) else answer


def said(completion: Body) -> Outcome:
    if completion.get("error"):
        return _failed(completion["error"])
    if not completion.get("choices"):
        return expected.UNREADABLE
    choice: Body = completion["choices"][0]
    if choice.get("error") or choice.get("finish_reason") in BROKEN_OFF:
        return _failed(choice.get("error"))
    message = _complete(choice)
    words = tuple(_words(message.get("content")))
    refusal: str = message.get("refusal") or ""
    calls = () if refusal else tuple(map(_call, _calls(message)))
    return Said(
        pieces=(*words, refusal),
        answer="".join(words) + refusal,
        calls=calls,
        stop="refusal" if refusal else _stop(choice, called=bool(calls)),
        counts=_counts(completion.get("usage")),
        model=completion.get("model") or "",
        output=message,
        thoughts=tuple(_thoughts(message)),
    )


def _words(content: object) -> Iterator[str]:
    """Content is text, or blocks of which some are text."""
    if isinstance(content, str):
        yield content
    yield from (block["text"] for block in entries(content) if block["type"] == "text")


def _thoughts(message: Body) -> Iterator[str]:
    yield from (message[name] for name in THOUGHTS if message.get(name))
    for block in entries(message.get("content")):
        if block["type"] == "thinking":
            yield from _words(block["thinking"])


def _complete(choice: Body) -> Body:
    """The message without the calls that a limit of length cut in two."""
    message: Body = choice["message"]
    if choice.get("finish_reason") not in CUT_SHORT or not message.get("tool_calls"):
        return message
    calls = entries(message["tool_calls"])
    return message | {"tool_calls": [call for call in calls if is_object(_call(call)[2])]}


def _calls(message: Body) -> list[Body]:
    """All calls; the one of the older kind, which has no id, where there are no others."""
    older = fields(message.get("function_call"))
    given = (older.get("arguments") or "").strip()
    alone = [{"function": older}] if older.get("name") or given not in {"", "{}"} else []
    return entries(message.get("tool_calls")) or alone


def _call(call: Body) -> Call:
    custom = fields(call.get("custom"))
    function = fields(call.get("function")) or {**custom, "arguments": custom.get("input")}
    given: Value = function.get("arguments")
    arguments = expected.arguments(given or "{}") if isinstance(given, str | None) else given
    return call.get("id") or None, function["name"], arguments


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
        of_groq = fields(chunk.get("x_groq")).get("usage")
        completion["model"] = chunk.get("model") or completion["model"]
        completion["usage"] = chunk.get("usage") or of_groq or completion["usage"]
        for choice in entries(chunk.get("choices")):
            if choice.get("index", 0) == 0:
                _grow(message, fields(choice.get("delta")))
                finish = choice.get("finish_reason") or finish
    billed = bool(chunks) and not chunks[-1].get("choices") and chunks[-1].get("usage")
    if not message or not (finish or billed):
        return expected.CUT_OFF
    calls: dict[int, Body] = message.pop("tool_calls", {})
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return completion | {"choices": [{"message": message, "finish_reason": finish}]}


def _grow(message: Body, delta: Body) -> None:
    """Add a delta: text grows, lists grow longer, calls grow by their index."""
    for name, value in delta.items():
        if name == "tool_calls":
            for piece in entries(value):
                _grow_call(message.setdefault(name, {}), piece)
        elif name == "reasoning_details":
            message[name] = list(_thought([*entries(message.get(name)), *entries(value)]))
        elif name == "function_call" and is_object(value):
            message[name] = _called(fields(message.get(name)), value)
        elif name == "content" and (is_list(value) or is_list(message.get(name))):
            message[name] = list(_joined(_pieces(message.get(name)) + _pieces(value)))
        elif name != "role" and isinstance(value, str | list):
            message[name] = message[name] + value if message.get(name) else value
        elif value is not None:
            message[name] = value


def _pieces(content: Value) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else entries(content)


def _joined(pieces: list[Body]) -> Iterator[Body]:
    """Neighbours of one kind are one piece, which the stream had cut."""
    for kind, group in groupby(pieces, key=lambda piece: piece["type"]):
        inside = [piece[kind] for piece in group]
        if is_list(inside[0]):
            yield {"type": kind, kind: list(_joined([one for many in inside for one in many]))}
        else:
            yield {"type": kind, kind: "".join(inside)}


def _thought(pieces: list[Body]) -> Iterator[Body]:
    """A thought comes in pieces of one number, or in pieces without any until it is signed."""
    whole: Body = {}
    for piece in pieces:
        numbered = "index" in piece
        open_ = not whole.get("signature") and piece["type"] != "reasoning.encrypted"
        same = all(whole.get(name) == piece.get(name) for name in ("type", "index"))
        if whole and same and (numbered or open_):
            grown = {name: (whole.get(name) or "") + (piece.get(name) or "") for name in GROWING}
            known = {name: value for name, value in piece.items() if value is not None}
            whole |= known | {name: text for name, text in grown.items() if text}
        else:
            yield from [whole] if whole else []
            whole = dict(piece)
    yield from [whole] if whole else []


def _grow_call(calls: dict[int, Body], piece: Body) -> None:
    call = calls.setdefault(piece["index"], {})
    call["id"] = piece.get("id") or call.get("id")
    for kind in ("function", "custom"):
        if kind in piece:
            call[kind] = _called(fields(call.get(kind)), fields(piece[kind]))


def _called(call: Body, piece: Body) -> Body:
    """A call with a piece of it: the name is said once, what is given comes bit by bit."""
    given = "input" if "input" in call or "input" in piece else "arguments"
    return {
        "name": piece.get("name") or call.get("name") or "",
        given: (call.get(given) or "") + (piece.get(given) or ""),
    }


def _failed(error: Value) -> Failed:
    status = fields(error).get("status_code") or fields(error).get("code")
    return expected.failure(status if isinstance(status, int) else 500, error)
