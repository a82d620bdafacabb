"""From a response of Anthropic Messages to contracts."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from holdfast.adapters import failures, pricing, wire
from holdfast.adapters.anthropic import blocks, fees
from holdfast.adapters.anthropic.errors import PROVIDER
from holdfast.adapters.base import final_text
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import AnyCall, MalformedCall
from holdfast.contracts.model import ModelReply, StopCause
from holdfast.contracts.transcript import Part, join_text
from holdfast.contracts.usage import UNKNOWN_USAGE, CallUsage, CounterValue, parse_counter

_STOPS: Mapping[str | None, StopCause] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "pause_turn": "pause",
    "compaction": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_overflow",
}
_CUT_SHORT: frozenset[StopCause] = frozenset(
    {"max_tokens", "context_overflow", "refusal", "other"}
)
_LEFT_OUT = "a call at the end of a reply that was cut short is left out"
_TEXT = frozenset({"type", "text"})
_TOOL_USE = frozenset({"type", "id", "name", "input"})


class _Piece(NamedTuple):
    """A block of a message, and the call that it stands for, if any."""

    type: str
    part: Part
    call: AnyCall | None = None


class _StopDetails(Contract):
    category: str | None = None
    explanation: str | None = None


class _Container(Contract):
    id: str


class _OutputDetails(Contract):
    thinking_tokens: CounterValue | None = None


class _Usage(Contract):
    """`input_tokens` are only those for which no cache was read or written."""

    input_tokens: CounterValue
    output_tokens: CounterValue
    cache_read_input_tokens: CounterValue | None = None
    cache_creation_input_tokens: CounterValue | None = None
    output_tokens_details: _OutputDetails | None = None
    server_tool_use: JsonValue = None


class _Message(Contract):
    model: str
    content: tuple[JsonObject, ...]
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None
    container: _Container | None = None
    usage: JsonValue = None


def reply(raw: JsonObject, tools: frozenset[str], texts: frozenset[str]) -> ModelReply:
    """
    Read a whole message. Raises ModelError when it is none.

    *tools* are the types of blocks that a final answer stands behind, *texts* those that hold it.
    """
    failures.check_size(PROVIDER, raw, partial(usage, {**raw, "content": []}))
    message = _message(raw)
    used = _usage(message)
    stop = _STOPS.get(message.stop_reason, "other")
    kept, notes = _drop_incomplete(tuple(_pieces(message.content, used)), stop)
    calls = tuple(piece.call for piece in kept if piece.call)
    parts = tuple(piece.part for piece in kept)
    failures.check_call_count(PROVIDER, len(calls), used)
    return ModelReply(
        text=join_text("", parts) if calls else _answer(kept, tools, texts),
        calls=calls,
        parts=() if _is_plain(parts) else parts,
        stop="tool_use" if calls and stop == "end_turn" else stop,
        stop_detail=_stop_detail(message, stop),
        notes=(*_describe_unknown_blocks(kept), *notes),
        usage=used,
        model=f"{PROVIDER.name}:{message.model}",
        provider_state={"container_id": message.container.id} if message.container else None,
    )


def usage(raw: JsonObject) -> CallUsage:
    """Read what a message consumed. Raises ModelError when it is no message."""
    return _usage(_message(raw))


def _message(raw: JsonObject) -> _Message:
    if raw.get("type") == "error":
        raise failures.from_reply(PROVIDER, raw)
    try:
        return _Message.model_validate(raw)
    except ValidationError:
        used = UNKNOWN_USAGE if raw.get("content") or raw.get("usage") else None
        raise failures.from_unreadable_reply(PROVIDER, used) from None


def _pieces(content: tuple[JsonObject, ...], used: CallUsage) -> Iterator[_Piece]:
    """Read the blocks. A text behind a text continues it: citations split sentences in blocks."""
    before = ""
    for block in content:
        piece = _piece(block, used)
        if before == piece.type == "text":
            piece = piece._replace(part=piece.part.with_(continues=True))
        before = piece.type
        yield piece


def _piece(block: JsonObject, used: CallUsage) -> _Piece:
    match block:
        case {"type": "text", "text": str(text)}:
            return _Piece("text", Part(kind="text", text=text, native=_extras(block, _TEXT)))
        case {"type": "tool_use", "id": str(call_id), "name": str(name)}:
            part = Part(kind="call", native=_extras(block, _TOOL_USE))
            return _Piece("tool_use", part, _call(call_id, name, block.get("input")))
        case {"type": "text" | "tool_use"}:
            raise failures.from_unreadable_reply(PROVIDER, used)
        case _:
            kind = str(block.get("type", ""))
            return _Piece(kind, _native_part(kind, block))


def _native_part(block_type: str, block: JsonObject) -> Part:
    kind = blocks.kind_of(block_type)
    if kind == "reasoning":
        native = _extras(block, frozenset({"thinking"}))
        return Part(kind=kind, text=wire.as_text(block.get("thinking")), native=native)
    asked = wire.json_text(block.get("input")) if kind == "hosted_call" else ""
    return Part(kind=kind, name=str(block.get("name", block_type)), text=asked, native=block)


def _extras(block: JsonObject, told: frozenset[str]) -> JsonObject:
    """Return the fields of a block that we have no place for of our own."""
    return {key: value for key, value in block.items() if key not in told and value is not None}


def _call(call_id: str, name: str, arguments: JsonValue) -> AnyCall:
    if isinstance(arguments, str):
        return MalformedCall(call_id=call_id, name=name, raw_arguments=arguments)
    return wire.call(call_id, name, arguments)


def _drop_incomplete(
    pieces: tuple[_Piece, ...], stop: StopCause
) -> tuple[tuple[_Piece, ...], tuple[str, ...]]:
    """
    Leave out empty texts, and calls that don't count.

    A reply that was cut short may end inside of a call; of a refusal no call counts.
    """
    kept = tuple(p for p in pieces if p.part.kind != "text" or p.part.text or p.part.native)
    ends_early = stop in _CUT_SHORT and kept and kept[-1].part.kind in ("call", "hosted_call")
    if ends_early:
        kept = kept[:-1]
    if stop == "refusal":
        return tuple(piece for piece in kept if piece.call is None), ()
    return kept, (_LEFT_OUT,) if ends_early else ()


def _answer(pieces: Iterable[_Piece], tools: frozenset[str], texts: frozenset[str]) -> str:
    """Return the words behind the last tool, which may be one that is new here."""
    hosted = {p.type for p in pieces if p.part.kind in ("hosted_call", "hosted_result")}
    return final_text(((p.type, p.part.text) for p in pieces), tools | hosted, texts)


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """Whether text and calls tell it all, in this order."""
    order = [kind for kind, _ in groupby(part.kind for part in parts)]
    in_order = order in ([], ["text"], ["call"], ["text", "call"])
    return in_order and not any(part.native for part in parts)


def _describe_unknown_blocks(pieces: Iterable[_Piece]) -> Iterable[str]:
    unknown = (piece.type for piece in pieces if not blocks.is_known(piece.type))
    for block_type in dict.fromkeys(unknown):
        yield f"anthropic sent a block of type {block_type!r}, which this release keeps unread"


def _stop_detail(message: _Message, stop: StopCause) -> str:
    details = message.stop_details or _StopDetails()
    said = ": ".join(filter(None, (details.category, details.explanation)))
    if stop == "other":
        return said or f"it stopped for the reason {message.stop_reason!r}"
    return said


def _usage(message: _Message) -> CallUsage:
    try:
        used = _Usage.model_validate(message.usage)
    except ValidationError:
        return UNKNOWN_USAGE
    read, written = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
    thought = (used.output_tokens_details or _OutputDetails()).thinking_tokens or 0
    tokens = pricing.Tokens(
        input=used.input_tokens + read + written,
        cache_read=read,
        cache_write=written,
        output=used.output_tokens,
        reasoning=thought,
    )
    ran = wire.as_object(used.server_tool_use)
    native = {
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        **{name: count for name, value in ran.items() if (count := parse_counter(value))},
    }
    hosted = fees.count_hosted_tools(message.content, ran)
    listing = pricing.Listing(PROVIDER.name, message.model)
    return pricing.build_usage(PROVIDER.name, listing, tokens, native, hosted)
