"""OpenAI Responses, stateless: nothing is stored there, every turn sends the whole context."""

import time
from datetime import timedelta
from typing import TYPE_CHECKING

from adapters import failures, wire
from adapters.openai import request as requests
from adapters.openai import response as responses
from adapters.openai.errors import PROVIDER, as_model_error
from adapters.opening import OpenedOnce
from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import UsageMetrics

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIAdapter:
    """
    Speaks OpenAI Responses; everything but `respond` is pure.

    Key and address are the SDK's: OPENAI_API_KEY, OPENAI_BASE_URL and their like.
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
        """Read a whole response. Raises ModelError when it is none, or a failed one."""
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


def _open(timeout: timedelta) -> "AsyncOpenAI":
    """Make a client; importing the SDK takes a while."""
    from openai import AsyncOpenAI, OpenAIError, Timeout

    try:
        client = AsyncOpenAI(timeout=Timeout(timeout.total_seconds(), connect=5.0), max_retries=0)
    except OpenAIError:
        raise failures.no_key(PROVIDER) from None
    # A client is content with the key of an administrator; a call isn't.
    if not failures.is_key(client.api_key):
        raise failures.no_key(PROVIDER)
    return client


async def _send(client: "AsyncOpenAI", payload: JsonObject) -> JsonObject:
    """Make the one request, and return the JSON of the response as it came."""
    from openai import OpenAIError

    try:
        # As extra_body, because the SDK spends a millisecond on every item of `input`.
        response = await client.responses.with_raw_response.create(extra_body=payload)
    except OpenAIError as error:
        # Without its cause: that may quote the key, and history keeps causes.
        raise as_model_error(error, client.api_key) from None
    try:
        return wire.json_object(response.content)
    except ValueError:
        raise failures.unreadable(PROVIDER) from None
