"""What of a reply may enter history: nothing that couldn't be written or read there. Pure."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from pydantic import JsonValue
from pydantic_core import from_json

from holdfast.contracts.base import digest, repair_surrogates_in
from holdfast.contracts.bounds import (
    MAX_CALL_NAME_CHARS,
    MAX_CALLS_PER_REPLY,
    MAX_PROVIDER_STATE_BYTES,
    MAX_REPLY_BYTES,
    size,
)
from holdfast.contracts.calls import AnyCall, MalformedCall
from holdfast.contracts.errors import ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelReply

_RESERVED_LEVELS = 40
"""Levels that history may wrap around a reply, of the 200 that can be read."""


def count_chars(reply: ModelReply) -> int:
    """
    Count the characters that a reply has at least. Raises ModelRejected for more than any has.

    None of them is written or copied for that.
    """
    chars = sum(map(_count_chars, _contents(reply)))
    if chars > MAX_REPLY_BYTES:
        raise _too_large(reply, chars)
    return chars


def _contents(reply: ModelReply) -> Iterator[JsonValue]:
    yield reply.text
    yield reply.provider_state
    yield reply.stop_detail
    yield [*reply.notes]
    for part in reply.parts:
        yield part.text
        yield part.name
        yield part.native
    for call in reply.calls:
        yield call.name + call.call_id
        yield call.raw_arguments if isinstance(call, MalformedCall) else call.arguments


def _count_chars(content: JsonValue) -> int:
    """Count those of all texts, and one for each other value."""
    chars, waiting = 0, [content]
    while waiting:
        value = waiting.pop()
        chars += len(value) if isinstance(value, str) else 1
        if isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return chars


def _too_large(reply: ModelReply, length: int) -> ModelRejected:
    return ModelRejected(
        f"the reply has {length:,} bytes, and history holds {MAX_REPLY_BYTES:,}: lower "
        "max_output_tokens, or what hosted tools may fetch",
        usage=reply.usage,
    )


def repair_unicode(reply: ModelReply) -> ModelReply:
    """Return a reply with nothing but whole characters: halves of them can't be written."""
    try:
        reply.model_dump_json()
    except ValueError:
        with _require_serializable(reply):
            return ModelReply.model_validate(repair_surrogates_in(reply.model_dump(mode="json")))
    return reply


def shorten_names(reply: ModelReply) -> ModelReply:
    """Return a reply whose calls have names and ids of a length that can be repeated."""
    if all(_shorten_call(call) is call for call in reply.calls):
        return reply
    return reply.with_(calls=tuple(map(_shorten_call, reply.calls)))


def _shorten_call(call: AnyCall) -> AnyCall:
    if max(len(call.name), len(call.call_id)) <= MAX_CALL_NAME_CHARS:
        return call
    return call.with_(name=_shorten_name(call.name), call_id=_shorten_name(call.call_id))


def _shorten_name(name: str) -> str:
    """Keep two names apart that differ; none as long as what is left is a tool's."""
    if len(name) <= MAX_CALL_NAME_CHARS:
        return name
    mark = f"_cut_{digest(name)[:16]}"
    return name[: MAX_CALL_NAME_CHARS - len(mark)] + mark


def enforce(reply: ModelReply) -> ModelReply:
    """
    Return a reply as it is. Raises ModelError where history can't hold it.

    Another reply to the same request may be flatter or ask for less, but it won't be shorter by
    a megabyte.
    """
    with _require_serializable(reply):
        written = reply.model_dump_json().encode()
        from_json(b"[" * _RESERVED_LEVELS + written + b"]" * _RESERVED_LEVELS)
    if len(written) > MAX_REPLY_BYTES:
        raise _too_large(reply, len(written))
    if (kept := size(reply.provider_state)) > MAX_PROVIDER_STATE_BYTES:
        raise ModelRejected(
            f"the provider wants {kept:,} bytes kept, and {MAX_PROVIDER_STATE_BYTES:,} is most: "
            "use another strategy or another model",
            usage=reply.usage,
        )
    if len(reply.calls) > MAX_CALLS_PER_REPLY:
        raise ModelUnavailable(
            f"the reply asks for {len(reply.calls)} calls at once, and {MAX_CALLS_PER_REPLY} is "
            "the limit: wait, or use another model",
            kind="unreadable",
            usage=reply.usage,
        )
    return reply


@contextmanager
def _require_serializable(reply: ModelReply) -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError):
        raise ModelUnavailable(
            "the reply is nested too deeply to be kept: wait, or use another model",
            kind="unreadable",
            usage=reply.usage,
        ) from None
