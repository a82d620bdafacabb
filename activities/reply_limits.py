"""What of a reply may enter history: nothing that couldn't be written or read there. Pure."""

from collections.abc import Generator
from contextlib import contextmanager

from pydantic_core import from_json

from holdfast.contracts.base import digest, mended
from holdfast.contracts.bounds import MOST_CALLS, PROVIDER_STATE, REPLY, size
from holdfast.contracts.errors import ModelRejected, ModelUnavailable
from holdfast.contracts.model import ModelReply
from holdfast.contracts.tools import AnyCall

LONGEST_NAME = 200
"""Characters of a tool's name or a call's id; they come back in rulings, results and summaries."""

_ROOM = 40
"""Levels that history may wrap around a reply, of the 200 that can be read."""


def legible(reply: ModelReply) -> ModelReply:
    """Return a reply with nothing but whole characters: halves of them can't be written."""
    try:
        reply.model_dump_json()
    except ValueError:
        with _written_at_all(reply):
            return ModelReply.model_validate(mended(reply.model_dump(mode="json")))
    return reply


def named(reply: ModelReply) -> ModelReply:
    """Return a reply whose calls have names and ids of a length that can be repeated."""
    if all(_short(call) is call for call in reply.calls):
        return reply
    return reply.model_copy(update={"calls": tuple(map(_short, reply.calls))})


def _short(call: AnyCall) -> AnyCall:
    if max(len(call.name), len(call.call_id)) <= LONGEST_NAME:
        return call
    return call.model_copy(update={"name": _cut(call.name), "call_id": _cut(call.call_id)})


def _cut(name: str) -> str:
    """Keep two names apart that differ; none as long as what is left is a tool's."""
    if len(name) <= LONGEST_NAME:
        return name
    mark = f"_cut_{digest(name)[:16]}"
    return name[: LONGEST_NAME - len(mark)] + mark


def fitting(reply: ModelReply) -> ModelReply:
    """
    Return a reply as it is. Raises ModelError where history can't hold it.

    Another reply to the same request may be flatter or ask for less, but it won't be shorter by
    a megabyte.
    """
    with _written_at_all(reply):
        written = reply.model_dump_json().encode()
        from_json(b"[" * _ROOM + written + b"]" * _ROOM)
    if len(written) > REPLY:
        raise ModelRejected(
            f"the reply has {len(written):,} bytes, and history holds {REPLY:,}: lower "
            "max_output_tokens, or what hosted tools may fetch",
            usage=reply.usage,
        )
    if (kept := size(reply.provider_state)) > PROVIDER_STATE:
        raise ModelRejected(
            f"the provider wants {kept:,} bytes kept, and {PROVIDER_STATE:,} is most: use another "
            "strategy or another model",
            usage=reply.usage,
        )
    if len(reply.calls) > MOST_CALLS:
        raise ModelUnavailable(
            f"the reply asks for {len(reply.calls)} calls at once, and {MOST_CALLS} is the limit: "
            "wait, or use another model",
            kind="unreadable",
            usage=reply.usage,
        )
    return reply


@contextmanager
def _written_at_all(reply: ModelReply) -> Generator[None]:
    try:
        yield
    except (ValueError, RecursionError):
        raise ModelUnavailable(
            "the reply is nested too deeply to be kept: wait, or use another model",
            kind="unreadable",
            usage=reply.usage,
        ) from None
