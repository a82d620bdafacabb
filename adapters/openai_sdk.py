"""OpenAI's SDK, through which two adapters speak: its client, its requests and its failures."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.adapters import failures
from holdfast.adapters.lazy_client import OpenHttpClient
from holdfast.contracts.errors import ModelError
from holdfast.contracts.usage import CallUsage
from holdfast.tools.network.pace import TURNS

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream, Omit

CREDENTIALS = frozenset(
    {"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS", "OPENAI_WEBHOOK_SECRET"}
)
"""What the SDK reads."""


def open_client(provider: failures.Provider, open_http: OpenHttpClient) -> "AsyncOpenAI":
    """
    Make a client of OpenAI's own server; the SDK reads key and address from the environment.

    Raises ModelRejected without a key that can be sent.
    """
    from openai import OpenAIError

    try:
        client = build_client(open_http)
    except OpenAIError:
        raise failures.from_missing_key(provider) from None
    # A client is content with the key of an administrator; a call isn't.
    if not failures.is_key(client.api_key):
        raise failures.from_missing_key(provider)
    return client


def build_client(
    open_http: OpenHttpClient,
    key: str | None = None,
    address: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> "AsyncOpenAI":
    """Make a client; the SDK reads from the environment what isn't given."""
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    return AsyncOpenAI(
        api_key=key,
        base_url=address,
        default_headers=headers,
        max_retries=0,
        http_client=open_http(DefaultAsyncHttpxClient),
    )


async def post(
    client: "AsyncOpenAI", path: str, body: bytes, headers: Mapping[str, "Omit"]
) -> "AsyncStream[object]":
    """Ask for a streamed reply. Raises what the SDK raises."""
    from openai import AsyncStream

    try:
        return await client.post(
            path,
            cast_to=object,
            # As text, because the SDK copies every part of a body that it gets as an object.
            content=body,
            options={"stream_mode": "events", "headers": headers},
            stream=True,
            stream_cls=AsyncStream[object],
        )
    except faults():
        await TURNS.take()  # whoever sorts it reads all that an error says
        raise


def faults() -> tuple[type[Exception], ...]:
    """Return what the SDK raises, and what it lets through."""
    import httpx2
    import openai

    return (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, *failures.PARSE_ERRORS)


def before_reply(provider: failures.Provider, error: Exception) -> ModelError:
    """Sort what came before a reply began."""
    import openai

    match error:
        case openai.APIStatusError(response=response):
            answer = failures.ErrorResponse(
                response.status_code, response.headers, response.content
            )
            return failures.from_http(provider, answer)
        case openai.APITimeoutError(request=request):
            return failures.from_timeout(provider, request.url.netloc.decode())
        case openai.APIConnectionError(request=request):
            cause = type(error.__cause__ or error).__name__
            return failures.from_connection_error(provider, request.url.netloc.decode(), cause)
        case openai.OpenAIError():
            return failures.from_sdk_error(provider, str(error))
        # The SDK lets through what breaks an answer that tells of an error.
        case _:
            return inside_reply(provider, error, None)


def inside_reply(
    provider: failures.Provider, error: Exception, usage: CallUsage | None
) -> ModelError:
    """Sort what ended a reply that had begun; *usage* is what it had used until then."""
    import httpx2
    import openai

    match error:
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return failures.from_stall(provider, usage)
        case ValueError() | RecursionError():
            return failures.from_unreadable_reply(provider, usage, error)
        case _:
            return failures.from_cut_off(provider, usage)
