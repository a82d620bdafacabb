"""A server's one client in this process, and the requests that it makes."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from adapters import failures, wire
from adapters.exchange import Exchange
from adapters.openai_chat import errors, stream
from adapters.openai_chat.servers import Target
from contracts.base import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI, Omit, Timeout

_CONNECT_SECONDS = 5.0
_FOR_ANYBODY = frozenset({"Accept", "Authorization", "Content-Type", "User-Agent"})
_NO_KEY = "this-server-wants-no-key"
"""Without one the SDK would look for OpenAI's."""

Environment = Callable[[str], str | None]
"""Looks up a variable of the environment."""


class Line(NamedTuple):
    """A client, and the headers of the SDK's that are nothing for this server."""

    client: "AsyncOpenAI"
    withheld: Mapping[str, "Omit"]


def opened(target: Target, environment: Environment, idle: timedelta) -> Line:
    """
    Open the line to a server, on which it may be silent for so long.

    Importing the SDK takes a while. Raises ModelRejected where a key is missing.
    """
    from openai import Timeout

    patience = Timeout(idle.total_seconds(), connect=_CONNECT_SECONDS)
    return _other(target, environment, patience) if target.name else _openai(target, patience)


def _openai(target: Target, patience: "Timeout") -> Line:
    """Open the line to OpenAI's own server, as the SDK finds it."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError

    try:
        client = AsyncOpenAI(
            timeout=patience, max_retries=0, http_client=DefaultAsyncHttpxClient()
        )
    except OpenAIError:
        raise failures.no_key(target.provider) from None
    # A client is content with the key of an administrator; a call isn't.
    if not failures.is_key(client.api_key):
        raise failures.no_key(target.provider)
    return Line(client, {})


def _other(target: Target, environment: Environment, patience: "Timeout") -> Line:
    """Open the line to another server; what the environment has for OpenAI isn't sent there."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Omit

    variable = target.server.key_variable
    key = (environment(variable) or "") if variable else _NO_KEY
    if not failures.is_key(key):
        raise failures.no_key(target.provider)
    client = AsyncOpenAI(
        api_key=key,
        # Said twice, or OPENAI_CUSTOM_HEADERS might say something else.
        default_headers={"Authorization": f"Bearer {key}"},
        base_url=target.server.base_url,
        timeout=patience,
        max_retries=0,
        http_client=DefaultAsyncHttpxClient(),
    )
    allowed = _FOR_ANYBODY if variable else _FOR_ANYBODY - {"Authorization"}
    return Line(client, {name: Omit() for name in client.default_headers.keys() - allowed})


async def ask(line: Line, target: Target, payload: JsonObject, exchange: Exchange) -> JsonObject:
    """Make one request for a response, and return its JSON, streamed or not. Raises ModelError."""
    import httpx2
    import openai

    try:
        sent = await line.client.post(
            "/chat/completions",
            cast_to=object,
            # As text, because the SDK copies every part of a body that it gets as an object.
            content=wire.json_text(payload).encode(),
            options={"stream_mode": "events", "headers": line.withheld},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
    except openai.OpenAIError as error:
        # Without its cause: that may quote the key, and history keeps causes.
        raise errors.before_reply(target.provider, error, line.client.api_key) from None
    try:
        whole = await exchange.read(sent, stream.begins, stream.fails)
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
        if not stream.is_whole(exchange.events):
            used = stream.usage_so_far(exchange.events, target)
            raise errors.inside_reply(target.provider, error, used) from None
        whole = None
    return stream.assembled(exchange.events, target) if whole is None else whole
