"""From a response of OpenAI Responses to contracts."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from pydantic import JsonValue, ValidationError

from holdfast.adapters import failures, pricing
from holdfast.adapters.base import final_text
from holdfast.adapters.openai import fees, output_items
from holdfast.adapters.openai.errors import PROVIDER, from_failed_response
from holdfast.adapters.openai.output_items import Piece
from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.model import ModelReply, StopCause
from holdfast.contracts.transcript import Part
from holdfast.contracts.usage import UNKNOWN_USAGE, CallUsage, CounterValue

_INCOMPLETE: dict[str | None, StopCause] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
}


class _IncompleteDetails(Contract):
    reason: str | None = None


class _InputDetails(Contract):
    cached_tokens: CounterValue | None = None
    cache_write_tokens: CounterValue | None = None


class _OutputDetails(Contract):
    reasoning_tokens: CounterValue | None = None


class _Usage(Contract):
    """`input_tokens` are all of them, whatever a cache had to do with it."""

    input_tokens: CounterValue
    output_tokens: CounterValue
    input_tokens_details: _InputDetails | None = None
    output_tokens_details: _OutputDetails | None = None


class _Removed(Contract):
    """Something of the input that the model wasn't shown."""

    type: str = "an item"
    reason: str = "it doesn't say why"


class _Response(Contract):
    model: str
    output: tuple[JsonObject, ...]
    status: str | None = None
    error: JsonValue = None
    incomplete_details: _IncompleteDetails | None = None
    usage: JsonValue = None
    tool_usage: JsonValue = None
    input_transformations: tuple[_Removed, ...] | None = None


class _ParsedOutput(NamedTuple):
    """All pieces of a response, and what they come to."""

    pieces: tuple[Piece, ...]
    calls: tuple[AnyCall, ...]
    refusal: str

    @property
    def words(self) -> str:
        said = (piece.part.text for piece in self.pieces if piece.type == "message")
        return "\n\n".join(filter(None, said))

    @property
    def is_only_commentary(self) -> bool:
        """Whether the model has only said what it is about to do."""
        messages = [piece for piece in self.pieces if piece.type == "message"]
        return bool(messages) and all(piece.commentary for piece in messages)


def reply(raw: JsonObject, tools: frozenset[str], texts: frozenset[str]) -> ModelReply:
    """
    Read a whole response. Raises ModelUnavailable when it is none, ModelError if it failed.

    *tools* and *texts* are the types of its items.
    """
    failures.check_size(PROVIDER, raw, partial(usage, {**raw, "output": []}))
    response = _response(raw)
    used = _usage(response)
    if response.status == "failed":
        raise from_failed_response(response.error, used)
    said = _parse_output(response)
    failures.check_call_count(PROVIDER, len(said.calls), used)
    parts = tuple(piece.part for piece in said.pieces)
    stop, detail = _stop(response, said)
    return ModelReply(
        text=said.words if said.calls or said.refusal else _answer(said.pieces, tools, texts),
        calls=said.calls,
        parts=() if _is_plain(parts) else parts,
        stop=stop,
        stop_detail=detail,
        notes=tuple(dict.fromkeys(_notes(response, said))),
        usage=used,
        model=f"{PROVIDER.name}:{response.model}",
    )


def usage(raw: JsonObject) -> CallUsage:
    """Read what a response consumed. Raises ModelUnavailable when it is no response."""
    return _usage(_response(raw))


def _response(raw: JsonObject) -> _Response:
    try:
        return _Response.model_validate(raw)
    except ValidationError:
        used = UNKNOWN_USAGE if raw.get("output") or raw.get("usage") else None
        raise failures.from_unreadable_reply(PROVIDER, used) from None


def _parse_output(response: _Response) -> _ParsedOutput:
    whole = response.status not in output_items.CUT_SHORT
    try:
        pieces = tuple(output_items.pieces(response.output, whole=whole))
    except ValidationError:
        raise failures.from_unreadable_reply(PROVIDER, _usage(response)) from None
    refusal = "".join(piece.refusal for piece in pieces)
    if refusal or _hit_content_filter(response):
        pieces = tuple(piece for piece in pieces if piece.call is None)
    return _ParsedOutput(pieces, tuple(piece.call for piece in pieces if piece.call), refusal)


def _hit_content_filter(response: _Response) -> bool:
    details = response.incomplete_details or _IncompleteDetails()
    return response.status == "incomplete" and details.reason == "content_filter"


def _answer(pieces: tuple[Piece, ...], tools: frozenset[str], texts: frozenset[str]) -> str:
    """Return the words behind the last tool; what was said on the way is no part of them."""
    return final_text(_answer_blocks(pieces, tools), tools, texts)


def _answer_blocks(pieces: tuple[Piece, ...], tools: frozenset[str]) -> Iterator[tuple[str, str]]:
    between = ""
    for piece in pieces:
        if piece.type != "message":
            yield piece.type, ""
            between = "" if piece.type in tools else between
        elif piece.part.text and not piece.commentary:
            yield "output_text", between + piece.part.text
            between = "\n\n"


def _is_plain(parts: tuple[Part, ...]) -> bool:
    """Whether text and calls tell it all: one message at most, and calls behind it."""
    kinds = [part.kind for part in parts]
    in_order = kinds[:1] in ([], ["text"], ["call"]) and set(kinds[1:]) <= {"call"}
    return in_order and not any(part.native for part in parts)


def _stop(response: _Response, said: _ParsedOutput) -> tuple[StopCause, str]:
    if said.refusal:
        return "refusal", said.refusal
    if response.status == "incomplete":
        details = response.incomplete_details or _IncompleteDetails()
        return _INCOMPLETE.get(details.reason, "other"), details.reason or "incomplete"
    if response.status in output_items.CUT_SHORT:
        return "other", response.status or ""
    if said.calls:
        return "tool_use", ""
    return ("pause", "commentary") if said.is_only_commentary else ("end_turn", "")


def _notes(response: _Response, said: _ParsedOutput) -> Iterator[str]:
    yield from (piece.unread for piece in said.pieces if piece.unread)
    for removed in response.input_transformations or ():
        yield f"{PROVIDER.name} left out {removed.type} that it was sent again ({removed.reason})"


def _usage(response: _Response) -> CallUsage:
    try:
        used = _Usage.model_validate(response.usage)
    except ValidationError:
        return UNKNOWN_USAGE
    into = used.input_tokens_details or _InputDetails()
    out = used.output_tokens_details or _OutputDetails()
    tokens = pricing.Tokens(
        input=used.input_tokens,
        cache_read=into.cached_tokens or 0,
        cache_write=into.cache_write_tokens or 0,
        output=used.output_tokens,
        reasoning=out.reasoning_tokens or 0,
    )
    hosted = fees.count_hosted_tools(response.output, response.tool_usage)
    counters = into.model_dump() | out.model_dump() | fees.count_searches(response.tool_usage)
    native = {name: count for name, count in counters.items() if count is not None}
    listing = pricing.Listing(PROVIDER.name, response.model)
    return pricing.build_usage(PROVIDER.name, listing, tokens, native, hosted)
