"""A server's one client in this process, and the requests that it makes."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from holdfast.adapters import failures, openai_sdk, wire
from holdfast.adapters.lazy_client import Environment, OpenHttpClient
from holdfast.adapters.openai_chat import errors, stream
from holdfast.adapters.openai_chat.servers import Target
from holdfast.adapters.stream_reader import StreamReader
from holdfast.contracts.base import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI, Omit

_ALLOWED_HEADERS = frozenset({"Accept", "Authorization", "Content-Type", "User-Agent"})
_NO_KEY = "this-server-wants-no-key"
"""Without one the SDK would look for OpenAI's."""


class ServerClient(NamedTuple):
    """A client, and those headers of the SDK's that are withheld from its server."""

    client: "AsyncOpenAI"
    withheld: Mapping[str, "Omit"]


def open_client(
    target: Target, environment: Environment, open_http: OpenHttpClient
) -> ServerClient:
    """Open the line to a server. Raises ModelRejected without a key that can be sent."""
    if target.name:
        return _open_other(target, environment, open_http)
    return ServerClient(openai_sdk.open_client(target.provider, open_http), {})


def _open_other(
    target: Target, environment: Environment, open_http: OpenHttpClient
) -> ServerClient:
    """Open the line to another server; what the environment has for OpenAI isn't sent there."""
    from openai import Omit

    variable = target.server.key_variable
    key = (environment(variable) or "") if variable else _NO_KEY
    if not failures.is_key(key):
        raise failures.from_missing_key(target.provider)
    # The key is said twice, or OPENAI_CUSTOM_HEADERS might say something else.
    headers = {"Authorization": f"Bearer {key}"}
    client = openai_sdk.build_client(open_http, key, target.server.base_url, headers)
    allowed = _ALLOWED_HEADERS if variable else _ALLOWED_HEADERS - {"Authorization"}
    return ServerClient(client, {name: Omit() for name in client.default_headers.keys() - allowed})


async def ask(
    line: ServerClient, target: Target, body: bytes, exchange: StreamReader
) -> JsonObject:
    """Make one request for a response, and return its JSON, streamed or not. Raises ModelError."""
    try:
        sent = await openai_sdk.post(line.client, "/chat/completions", body, line.withheld)
    except openai_sdk.faults() as error:
        # Without its cause, which may quote the key.
        raise errors.before_reply(target.provider, error) from None
    try:
        whole = await exchange.read(sent, stream.begins, stream.fails)
    except openai_sdk.faults() as error:
        # What breaks behind the end of a reply takes nothing from it.
        used = await exchange.reduce(partial(stream.usage_so_far, target=target))
        if used is not None:
            raise openai_sdk.inside_reply(target.provider, error, used) from None
        whole = None
    if whole is not None:
        return whole
    return await exchange.reduce(partial(stream.assemble, target=target))


async def list_models(line: ServerClient, target: Target) -> JsonObject:
    """Ask a server for its models. Raises ModelError."""
    try:
        told = await line.client.get("/models", cast_to=bytes, options={"headers": line.withheld})
        return wire.json_object(told)
    except openai_sdk.faults() as error:
        raise errors.before_reply(target.provider, error) from None
