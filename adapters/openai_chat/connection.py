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
    from openai import AsyncOpenAI, Omit

_CONNECT_SECONDS = 5.0
_OPENAIS_OWN = ("OpenAI-Organization", "OpenAI-Project")

Environment = Callable[[str], str | None]
"""Looks up a variable of the environment."""


class Line(NamedTuple):
    """A client, and the headers that it must not send to this server."""

    client: "AsyncOpenAI"
    withheld: Mapping[str, "Omit"]


def opened(target: Target, environment: Environment, idle: timedelta) -> Line:
    """
    Open the line to a server, on which it may be silent for so long.

    Importing the SDK takes a while. Raises ModelRejected where a key is missing.
    """
    from openai import AsyncOpenAI, Omit, OpenAIError, Timeout

    patience = Timeout(idle.total_seconds(), connect=_CONNECT_SECONDS)
    if not target.name:
        try:
            client = AsyncOpenAI(timeout=patience, max_retries=0)
        except OpenAIError:
            raise failures.no_key(target.provider) from None
        # A client is content with the key of an administrator; a call isn't.
        if not failures.is_key(client.api_key):
            raise failures.no_key(target.provider)
        return Line(client, {})
    variable = target.server.key_variable
    key = environment(variable) if variable else ""
    if variable and not failures.is_key(key):
        raise failures.no_key(target.provider)
    client = AsyncOpenAI(
        # Without one the SDK would look for OpenAI's, which is no other server's business.
        api_key=key or "none",
        base_url=target.server.base_url,
        timeout=patience,
        max_retries=0,
    )
    ambient = (line.partition(":")[0].strip() for line in _custom_headers(environment))
    withheld = (*_OPENAIS_OWN, *ambient, *(() if variable else ("Authorization",)))
    return Line(client, {name: Omit() for name in withheld if name})


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
        whole = await exchange.read(sent, stream.begins)
    except (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
        if not stream.is_whole(exchange.events):
            used = stream.usage_so_far(exchange.events, target)
            raise errors.inside_reply(target.provider, error, used) from None
        whole = None
    return stream.assembled(exchange.events, target) if whole is None else whole


def _custom_headers(environment: Environment) -> list[str]:
    """Return the headers that a person has the SDK send to OpenAI, one on each line."""
    return (environment("OPENAI_CUSTOM_HEADERS") or "").splitlines()
