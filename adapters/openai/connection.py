"""The requests that are made of OpenAI."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from holdfast.adapters import openai_sdk, wire
from holdfast.adapters.openai import stream
from holdfast.adapters.openai.errors import PROVIDER, ConversationExpired, before_reply
from holdfast.adapters.stream_reader import StreamReader
from holdfast.contracts.base import JsonObject
from holdfast.contracts.usage import UNKNOWN_USAGE
from holdfast.tools.network.pace import TURNS

if TYPE_CHECKING:
    from openai import AsyncOpenAI


async def ask(client: "AsyncOpenAI", body: bytes, exchange: StreamReader) -> JsonObject:
    """Make one request for a response, and return its JSON, streamed or not. Raises ModelError."""
    try:
        sent = await openai_sdk.post(client, "/responses", body, {})
    except openai_sdk.faults() as error:
        # Without its cause, which may quote the key.
        raise before_reply(error) from None
    try:
        whole = await exchange.read(sent, stream.begins, stream.fails)
    except openai_sdk.faults() as error:
        # What breaks behind the end of a reply takes nothing from it.
        if not await exchange.reduce(stream.is_whole):
            used = UNKNOWN_USAGE if exchange.has_begun else None
            raise openai_sdk.inside_reply(PROVIDER, error, used) from None
        whole = None
    if whole is not None:
        return whole
    return await exchange.reduce(stream.assemble)


async def get(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Read what is kept under a path. Raises ModelError."""
    return await _answer(client.get(path, cast_to=bytes))


async def create(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Have something made that is kept under a path. Raises ModelError."""
    return await _answer(client.post(path, cast_to=bytes, content=b"{}"))


async def delete(client: "AsyncOpenAI", path: str) -> bool:
    """Have what is kept under a path deleted; false where nothing is. Raises ModelError."""
    try:
        await client.delete(path, cast_to=bytes)
    except openai_sdk.faults() as error:
        failure = before_reply(error)
        if isinstance(failure, ConversationExpired) or failure.kind == "not_found":
            return False
        raise failure from None
    return True


async def _answer(asked: Awaitable[bytes]) -> JsonObject:
    try:
        said = await asked
        await TURNS.take()  # it may be large, and is read in one piece
        return wire.json_object(said)
    except openai_sdk.faults() as error:
        raise before_reply(error) from None
