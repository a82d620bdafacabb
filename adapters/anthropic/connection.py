"""The one client of a process, and the requests that it makes."""

from typing import TYPE_CHECKING

from holdfast.adapters import failures, wire
from holdfast.adapters.anthropic import stream
from holdfast.adapters.anthropic.errors import PROVIDER, as_model_error, from_identity
from holdfast.adapters.failures import PARSE_ERRORS
from holdfast.adapters.lazy_client import OpenHttpClient
from holdfast.adapters.stream_reader import StreamReader
from holdfast.contracts.base import JsonObject
from holdfast.tools.network.pace import TURNS

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


def open_client(open_http: OpenHttpClient) -> "AsyncAnthropic":
    """
    Make the client. Raises ModelRejected without a key that can be sent.

    Without one the SDK would find an identity or a profile to change for tokens. Nobody but the
    SDK knows these, and it asks for them by a client and in threads that nothing of ours bounds.
    """
    from anthropic import AnthropicError, AsyncAnthropic, DefaultAsyncHttpxClient

    with failures.redact_key(None):
        try:
            client = AsyncAnthropic(
                max_retries=0,
                http_client=open_http(DefaultAsyncHttpxClient),
                open_telemetry=False,
            )
        except AnthropicError as error:
            raise as_model_error(error) from None
    if client.credentials is not None:
        raise from_identity()
    if not failures.is_key(secret(client)):
        raise failures.from_missing_key(PROVIDER)
    return client


def secret(client: "AsyncAnthropic") -> str | None:
    """Return what the client proves itself with: a key, or a token in its place."""
    return client.api_key or client.auth_token


async def ask(client: "AsyncAnthropic", body: bytes, exchange: StreamReader) -> JsonObject:
    """Make one request for a message, and return its JSON, streamed or not. Raises ModelError."""
    from anthropic import AsyncStream

    try:
        sent = await client.post(
            "/v1/messages",
            cast_to=object,
            # As text, because the SDK copies every part of a body that it gets as an object.
            content=body,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        whole = await exchange.read(sent, stream.begins)
    except _faults() as error:
        used = await exchange.reduce(stream.usage_so_far)
        await TURNS.take()  # all that an error says is read
        # Without its cause, which may quote the key.
        raise as_model_error(error, used) from None
    if whole is not None:
        return whole
    return await exchange.reduce(stream.assemble)


async def get(client: "AsyncAnthropic", path: str) -> JsonObject:
    """Read what stands under a path. Raises ModelError."""
    try:
        return wire.json_object(await client.get(path, cast_to=bytes))
    except _faults() as error:
        raise as_model_error(error) from None


def _faults() -> tuple[type[Exception], ...]:
    """Return what may go wrong with a request, and in reading what came."""
    import httpx2
    from anthropic import AnthropicError

    return AnthropicError, httpx2.HTTPError, httpx2.StreamError, *PARSE_ERRORS
