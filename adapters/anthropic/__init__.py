"""Anthropic Messages, stateless: every turn sends the whole context."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from adapters import failures, wire
from adapters.anthropic import blocks, dialog, stream
from adapters.anthropic import request as requests
from adapters.anthropic import response as responses
from adapters.anthropic.errors import PROVIDER, as_model_error
from adapters.base import merged
from adapters.exchange import Exchange
from adapters.opening import IDLE, OpenedOnce
from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import CallUsage

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_PATH = "/v1/messages"


class AnthropicAdapter:
    """
    Speaks Anthropic Messages; everything but `respond` is pure.

    Key and address are the SDK's: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and their like. *idle* is
    how long a reply may let us wait, for its beginning or for its next word.
    """

    provider = PROVIDER.name

    TOOL_BLOCK_TYPES = blocks.TOOL_BLOCK_TYPES
    TEXT_BLOCK_TYPES = blocks.TEXT_BLOCK_TYPES

    def __init__(self, idle: timedelta = IDLE) -> None:
        self._client = OpenedOnce(lambda: _open(idle))

    def build_request(self, request: ModelRequest) -> JsonObject:
        """Render the whole context of a call."""
        return requests.rendered(request).body

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        """Render the answer to one call."""
        return dialog.tool_result(result)

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        """Make of a stream's events the response that would have come unstreamed."""
        return stream.assemble(events)

    def parse_response(self, raw: JsonObject) -> ModelReply:
        """Read a whole response. Raises ModelError when it is none."""
        return responses.reply(raw, self.TOOL_BLOCK_TYPES, self.TEXT_BLOCK_TYPES)

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        """Read what a response consumed."""
        return responses.usage(raw)

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        return merged(before, fresh)

    async def respond(self, request: ModelRequest) -> ModelReply:
        client = await self._client.get()
        rendered = requests.rendered(request)
        exchange = Exchange()
        with failures.discreet(client.api_key or client.auth_token):
            whole = await _ask(client, rendered.body, exchange)
            reply = self.parse_response(self.assemble(exchange.events) if whole is None else whole)
        notes = (*rendered.notes, *reply.notes, *stream.notes(exchange.events))
        return exchange.timed(reply.model_copy(update={"notes": notes}))


def _open(idle: timedelta) -> "AsyncAnthropic":
    """Make a client; importing the SDK takes a second."""
    from anthropic import AnthropicError, AsyncAnthropic, DefaultAsyncHttpxClient, Timeout

    try:
        client = AsyncAnthropic(
            timeout=Timeout(idle.total_seconds(), connect=5.0),
            max_retries=0,
            http_client=DefaultAsyncHttpxClient(),
            open_telemetry=False,
        )
    except AnthropicError as error:
        raise as_model_error(error) from None
    if client.credentials is None and not failures.is_key(client.api_key or client.auth_token):
        raise failures.no_key(PROVIDER)
    return client


async def _ask(
    client: "AsyncAnthropic", payload: JsonObject, exchange: Exchange
) -> JsonObject | None:
    """Make the one request and read what comes; a whole response where the server won't stream."""
    import httpx2
    from anthropic import AnthropicError, AsyncStream

    # As text, because the SDK copies every part of a body that it gets as an object.
    content = wire.json_text(payload).encode()
    try:
        events = await client.post(
            _PATH, cast_to=object, content=content, stream=True, stream_cls=AsyncStream[object]
        )
        return await exchange.read(events, stream.begins)
    except (AnthropicError, httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
        secret = client.api_key or client.auth_token
        # Without its cause: that may quote the key, and history keeps causes.
        raise as_model_error(error, secret, stream.usage_so_far(exchange.events)) from None
