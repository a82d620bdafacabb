"""Anthropic Messages."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from adapters import failures, wire
from adapters.anthropic import request as requests
from adapters.anthropic import response as responses
from adapters.anthropic.errors import PROVIDER, as_model_error
from adapters.opening import OpenedOnce
from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import UsageMetrics

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic


class AnthropicAdapter:
    """
    Speaks Anthropic Messages; everything but `respond` is pure.

    Key and address are the SDK's: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and their like.
    """

    provider = PROVIDER.name

    def __init__(self, timeout: timedelta = timedelta(minutes=10)) -> None:
        self._client = OpenedOnce(lambda: _open(timeout))

    def build_request(self, request: ModelRequest) -> JsonObject:
        """Render the whole context of a call."""
        return requests.payload(request)

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        """Render the answer to one call."""
        return requests.tool_result(result)

    def parse_response(self, raw: JsonObject) -> ModelReply:
        """Read a whole response. Raises ModelUnavailable when it is none."""
        return responses.reply(raw)

    def extract_usage(self, raw: JsonObject) -> UsageMetrics:
        """Read what a response consumed."""
        return responses.usage(raw)

    async def respond(self, request: ModelRequest) -> ModelReply:
        client = await self._client.get()
        payload = self.build_request(request)
        began = time.perf_counter()
        raw = await _send(client, payload)
        spent = round((time.perf_counter() - began) * 1000)
        return self.parse_response(raw).model_copy(update={"latency_ms": max(spent, 1)})


def _open(timeout: timedelta) -> "AsyncAnthropic":
    """Make a client; importing the SDK takes a second."""
    from anthropic import AnthropicError, AsyncAnthropic, Timeout

    try:
        client = AsyncAnthropic(
            timeout=Timeout(timeout.total_seconds(), connect=5.0),
            max_retries=0,
            open_telemetry=False,
        )
    except AnthropicError as error:
        raise as_model_error(error, None) from None
    if client.credentials is None and not failures.is_key(client.api_key or client.auth_token):
        raise failures.no_key(PROVIDER)
    return client


async def _send(client: "AsyncAnthropic", payload: JsonObject) -> JsonObject:
    """Make the one request, and return the JSON of the response as it came."""
    from anthropic import AnthropicError

    try:
        # As text, because the SDK copies every part of a body that it gets as an object.
        content = wire.json_text(payload).encode()
        body = await client.post("/v1/messages", cast_to=bytes, content=content)
    except AnthropicError as error:
        # Without its cause: that may quote the key, and history keeps causes.
        raise as_model_error(error, client.api_key or client.auth_token) from None
    try:
        return wire.json_object(body)
    except ValueError:
        raise failures.unreadable(PROVIDER) from None
