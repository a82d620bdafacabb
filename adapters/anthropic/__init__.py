"""Anthropic Messages, stateless: every turn sends the whole context."""

from collections.abc import Iterable
from datetime import timedelta

from holdfast.adapters import failures
from holdfast.adapters.anthropic import blocks, connection, messages, stream
from holdfast.adapters.anthropic import request as requests
from holdfast.adapters.anthropic import response as responses
from holdfast.adapters.anthropic.errors import CREDENTIALS, PROVIDER
from holdfast.adapters.base import merge_fields
from holdfast.adapters.lazy_client import IDLE_TIMEOUT, LazyClient
from holdfast.adapters.stream_reader import StreamReader
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, ModelRequest
from holdfast.contracts.tools import ToolResult
from holdfast.contracts.usage import CallUsage


class AnthropicAdapter:
    """
    Speaks Anthropic Messages; everything but `respond` is pure.

    Key and address are the SDK's: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and their like. A server
    that says nothing for as long as *idle* is given up.
    """

    provider = PROVIDER.name
    credentials = CREDENTIALS
    TOOL_BLOCK_TYPES = blocks.TOOL_BLOCK_TYPES
    TEXT_BLOCK_TYPES = blocks.TEXT_BLOCK_TYPES

    def __init__(self, idle: timedelta = IDLE_TIMEOUT) -> None:
        self._client = LazyClient(lambda: connection.open_client(idle))

    def build_request(self, request: ModelRequest) -> JsonObject:
        return requests.render(request).body

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        return messages.tool_result(result)

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        return stream.assemble(events)

    def parse_response(self, raw: JsonObject) -> ModelReply:
        return responses.reply(raw, self.TOOL_BLOCK_TYPES, self.TEXT_BLOCK_TYPES)

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        return responses.usage(raw)

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        return merge_fields(before, fresh)

    async def respond(self, request: ModelRequest) -> ModelReply:
        client = await self._client.get()
        rendered = requests.render(request)
        exchange = StreamReader()
        with failures.redact_key(connection.secret(client)):
            raw = await connection.ask(client, rendered.body, exchange)
            reply = self.parse_response(raw)
        notes = (*rendered.notes, *reply.notes, *stream.notes(exchange.events))
        return exchange.with_latency(reply.model_copy(update={"notes": notes}))
