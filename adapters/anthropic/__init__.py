"""Anthropic Messages, stateless: every turn sends the whole context."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from urllib.parse import quote

from holdfast.adapters import failures
from holdfast.adapters.anthropic import blocks, connection, messages, stream
from holdfast.adapters.anthropic import request as requests
from holdfast.adapters.anthropic import response as responses
from holdfast.adapters.anthropic.capabilities import HOSTED_TOOLS
from holdfast.adapters.anthropic.errors import CREDENTIALS, PROVIDER
from holdfast.adapters.base import merge_fields
from holdfast.adapters.lazy_client import IDLE_TIMEOUT, LazyClient
from holdfast.adapters.pricing import Listing
from holdfast.adapters.stream_reader import StreamReader, write_request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings
from holdfast.contracts.usage import parse_counter


class AnthropicAdapter:
    """
    Speaks Anthropic Messages; everything but `respond` and `find_window` is pure.

    Key and address are the SDK's: ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL and their like. A server
    that says nothing for as long as *idle* is given up.
    """

    provider = PROVIDER.name
    credentials = CREDENTIALS
    hosted_tools = HOSTED_TOOLS
    TOOL_BLOCK_TYPES = blocks.TOOL_BLOCK_TYPES
    TEXT_BLOCK_TYPES = blocks.TEXT_BLOCK_TYPES

    build_tool_result = staticmethod(messages.tool_result)
    assemble = staticmethod(stream.assemble)
    extract_usage = staticmethod(responses.usage)
    merge_state = staticmethod(merge_fields)

    def __init__(self, idle: timedelta = IDLE_TIMEOUT) -> None:
        self._client = LazyClient(connection.open_client, idle)

    def find_listing(self, name: str) -> Listing:
        return Listing(PROVIDER.name, name)

    def find_refused_settings(self, name: str, settings: ModelSettings) -> Mapping[str, str]:
        return requests.sampling(name, settings).refused

    async def find_window(self, name: str) -> int | None:
        client = await self._client.get()
        with failures.redact_key(connection.secret(client)):
            model = await connection.get(client, f"/v1/models/{quote(name, safe='')}")
        return parse_counter(model.get("max_input_tokens"))

    def build_request(self, request: ModelRequest) -> JsonObject:
        return requests.render(request).body

    def parse_response(self, raw: JsonObject) -> ModelReply:
        return responses.reply(raw, self.TOOL_BLOCK_TYPES, self.TEXT_BLOCK_TYPES)

    async def respond(self, request: ModelRequest) -> ModelReply:
        client = await self._client.get()
        body, noted = await write_request(request.run_id, partial(requests.render, request))
        exchange = StreamReader(request.run_id, request.on_text, stream.find_text)
        with failures.redact_key(connection.secret(client)), exchange:
            raw = await connection.ask(client, body, exchange)
            reply = await exchange.work(partial(self.parse_response, raw))
            unread = await exchange.reduce(stream.notes)
        notes = (*noted, *reply.notes, *unread)
        return exchange.with_latency(reply.with_(notes=notes))
