"""The requests that are made of OpenAI."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from adapters import failures, openai_sdk, wire
from adapters.exchange import Exchange
from adapters.openai import stream
from adapters.openai.errors import PROVIDER, before_reply
from contracts.base import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI


async def ask(client: "AsyncOpenAI", body: JsonObject, exchange: Exchange) -> JsonObject:
    """Make one request for a response, and return its JSON, streamed or not. Raises ModelError."""
    import httpx2
    import openai

    try:
        sent = await openai_sdk.post(client, "/responses", body, {})
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError) as error:
        # Without its cause: that may quote the key, and history keeps causes.
        raise before_reply(error, client.api_key) from None
    try:
        whole = await exchange.read(sent, stream.begins, stream.fails)
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
        # What breaks behind the end of a reply takes nothing from it.
        if not stream.is_whole(exchange.events):
            raise openai_sdk.inside_reply(PROVIDER, error, None) from None
        whole = None
    return stream.assembled(exchange.events) if whole is None else whole


async def look(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Read what is kept under a path. Raises ModelError."""
    return await _answer(client, client.get(path, cast_to=bytes))


async def make(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Have something made that is kept under a path. Raises ModelError."""
    return await _answer(client, client.post(path, cast_to=bytes, content=b"{}"))


async def _answer(client: "AsyncOpenAI", asked: Awaitable[bytes]) -> JsonObject:
    import httpx2
    import openai

    try:
        return wire.json_object(await asked)
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError) as error:
        raise before_reply(error, client.api_key) from None
    except ValueError:
        raise failures.unreadable(PROVIDER) from None
