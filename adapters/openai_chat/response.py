"""From a response of Chat Completions to contracts."""

from collections.abc import Iterator, Mapping

from holdfast.adapters import base, failures
from holdfast.adapters.openai_chat import errors, message_parts
from holdfast.adapters.openai_chat import usage as usages
from holdfast.adapters.openai_chat.message_parts import ParsedCall
from holdfast.adapters.openai_chat.servers import Target
from holdfast.adapters.wire import as_list, as_object, as_text
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, StopCause
from holdfast.contracts.transcript import Part, join_text
from holdfast.contracts.usage import CallUsage, parse_counter

TOOL_BLOCK_TYPES = base.TOOL_BLOCK_TYPES | {"function_call", "function_result"}
TEXT_BLOCK_TYPES = base.TEXT_BLOCK_TYPES | {"output_text"}

_STOPS: Mapping[str, StopCause] = {
    "": "end_turn",
    "stop": "end_turn",
    "stop_sequence": "end_turn",
    "end_turn": "end_turn",
    "eos": "end_turn",
    "eos_token": "end_turn",
    "tool_calls": "tool_use",
    "tool_use": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "content_filter",
}
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""What servers call the window of a model that they list: vLLM, OpenRouter, Groq, Mistral."""

_ERROR_REASONS = ("error", "insufficient_system_resource")


def reply(
    raw: JsonObject,
    target: Target,
    tools: frozenset[str],
    texts: frozenset[str],
    turn: int = 0,
) -> ModelReply:
    """
    Read a whole response. Raises ModelError when it is none, or reports an error.

    *tools* and *texts* are the types of its blocks.
    """
    used = usages.usage(raw, target)
    failures.check_size(target.provider, raw, lambda: used)
    if problem := errors.find(raw):
        raise failures.from_reply(target.provider, problem, usage=used)
    choice, message = _first(raw, target, used)
    reason = as_text(choice.get("finish_reason"))
    if reason in _ERROR_REASONS:
        raise failures.from_reply(target.provider, {}, usage=used)
    said = tuple(message_parts.parts(message))
    stop = "refusal" if _has_refusal(said) else _STOPS.get(reason.lower(), "other")
    calls = _select_calls(tuple(message_parts.parse_calls(message, turn)), stop)
    failures.check_call_count(target.provider, len(calls), used)
    parts = (*said, *(Part(kind="call", native=call.native) for call in calls))
    if stop == "end_turn" and calls:
        stop = "tool_use"
    told = stop not in ("end_turn", "tool_use")
    return ModelReply(
        text=join_text("", parts) if calls else _answer(parts, tools, texts),
        calls=tuple(asked.call for asked in calls),
        parts=() if _is_plain(parts) else parts,
        stop=stop,
        stop_detail=as_text(choice.get("native_finish_reason")) or reason if told else "",
        notes=tuple(_notes(raw, message, parts, used, target)),
        usage=used,
        model=target.prefix + (as_text(raw.get("model")) or target.model),
    )


def _first(raw: JsonObject, target: Target, used: CallUsage) -> tuple[JsonObject, JsonObject]:
    """Return the choice that counts, and its message."""
    match raw.get("choices"):
        case [{"message": dict(message)} as choice, *_]:
            return choice, message
        case _:
            raise failures.from_unreadable_reply(target.provider, used)


def _has_refusal(parts: tuple[Part, ...]) -> bool:
    return any(part.name == message_parts.REFUSAL for part in parts)


def _select_calls(calls: tuple[ParsedCall, ...], stop: StopCause) -> tuple[ParsedCall, ...]:
    """Return the calls that count: a reply that was cut short may end inside of one."""
    if stop in ("refusal", "content_filter"):
        return ()
    cut_short = stop in ("max_tokens", "other")
    return calls[:-1] if cut_short and calls and not calls[-1].complete else calls


def _answer(parts: tuple[Part, ...], tools: frozenset[str], texts: frozenset[str]) -> str:
    """Return the words behind the last tool."""
    blocks = ((_type(part), part.text) for part in parts)
    return base.final_text(blocks, tools, texts)


def _type(part: Part) -> str:
    return part.kind if part.kind == "text" else part.name


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """Whether text and calls tell it all; the calls always stand behind the text."""
    return all(part.kind in ("text", "call") and not part.native for part in parts)


def _notes(
    raw: JsonObject, message: JsonObject, parts: tuple[Part, ...], used: CallUsage, target: Target
) -> Iterator[str]:
    """Say what the server didn't say, and what of its reply nobody reads."""
    if not used.tokens_known:
        yield f"{target.label} doesn't say what a call used: tokens and cost are unknown"
    if len(as_list(raw.get("choices"))) > 1:
        yield f"{target.label} sent several choices: the first one counts"
    if any(not entry.get("id") for entry in message_parts.entries(message)):
        yield f"{target.label} gives its calls no ids: they are numbered here"
    for part in parts:
        if part.kind == "other":
            yield f"{target.label} sent {part.name!r}, which this release keeps unread"


def find_window(listed: JsonObject, model: str) -> int | None:
    """Return the window of a model that a server lists, by any of the names for it."""
    models = map(as_object, as_list(listed.get("data")))
    told = (one.get(name) for one in models if one.get("id") == model for name in _WINDOWS)
    return next((tokens for said in told if (tokens := parse_counter(said))), None)
