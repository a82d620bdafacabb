"""The one client of a process, and the requests that it makes."""

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal

from adapters import failures, wire
from adapters.exchange import Exchange
from adapters.openai import stream
from adapters.openai.errors import PROVIDER, as_model_error
from contracts.base import JsonObject
from contracts.errors import ModelError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_CONNECT_SECONDS = 5.0


def opened(idle: timedelta) -> "AsyncOpenAI":
    """Make a client that waits for so long when nothing comes; importing the SDK takes a while."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError, Timeout

    patience = Timeout(idle.total_seconds(), connect=_CONNECT_SECONDS)
    try:
        client = AsyncOpenAI(
            timeout=patience, max_retries=0, http_client=DefaultAsyncHttpxClient()
        )
    except OpenAIError:
        raise failures.no_key(PROVIDER) from None
    # A client is content with the key of an administrator; a call isn't.
    if not failures.is_key(client.api_key):
        raise failures.no_key(PROVIDER)
    return client


async def ask(client: "AsyncOpenAI", payload: JsonObject, exchange: Exchange) -> JsonObject:
    """Make one request for a response, and return its JSON, streamed or not. Raises ModelError."""
    import httpx2
    import openai

    try:
        sent = await client.post(
            "/responses",
            cast_to=object,
            # As text: of an object the SDK copies every part, a millisecond for each item.
            content=wire.json_text(payload).encode(),
            options={"stream_mode": "events"},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
    except openai.OpenAIError as error:
        # Without its cause: that may quote the key, and history keeps causes.
        raise as_model_error(error, client.api_key) from None
    try:
        whole = await exchange.read(sent, stream.begins, stream.fails)
    except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
        # Behind its last event a stream may break as it likes.
        if not any(map(stream.ends, exchange.events)):
            raise _broken(error) from None
        whole = None
    return stream.assembled(exchange.events) if whole is None else whole


async def look(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Read what is kept under a path. Raises ModelError."""
    return await _plain(client, "get", path)


async def make(client: "AsyncOpenAI", path: str) -> JsonObject:
    """Have something made that is kept under a path. Raises ModelError."""
    return await _plain(client, "post", path)


async def _plain(client: "AsyncOpenAI", method: Literal["get", "post"], path: str) -> JsonObject:
    import openai

    request = client.get if method == "get" else partial(client.post, content=b"{}")
    try:
        return wire.json_object(await request(path, cast_to=bytes))
    except openai.OpenAIError as error:
        raise as_model_error(error, client.api_key) from None
    except ValueError:
        raise failures.unreadable(PROVIDER) from None


def _broken(error: Exception) -> ModelError:
    """Sort what ended a reply after it had begun."""
    import httpx2
    import openai

    match error:
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return failures.stalled(PROVIDER, None)
        case openai.OpenAIError() | httpx2.HTTPError():
            return failures.cut_off(PROVIDER, None)
        case _:
            return failures.unreadable(PROVIDER)
