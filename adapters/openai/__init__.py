"""OpenAI Responses, stateless or with what OpenAI keeps of the conversation."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from holdfast.adapters import failures, openai_sdk
from holdfast.adapters.base import merge_fields
from holdfast.adapters.lazy_client import IDLE_TIMEOUT, LazyClient
from holdfast.adapters.openai import (
    connection,
    conversation_state,
    conversations,
    input_items,
    output_items,
    stream,
    tools,
)
from holdfast.adapters.openai import request as requests
from holdfast.adapters.openai import response as responses
from holdfast.adapters.openai.conversation_state import Scope
from holdfast.adapters.openai.errors import PROVIDER, ConversationExpired
from holdfast.adapters.pricing import Listing
from holdfast.adapters.stream_reader import StreamReader, write_request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_EXPIRED_NOTE = (
    "openai no longer has what came before (strategy {}): "
    "the whole context was sent, and is referred to from now on"
)


class OpenAIAdapter:
    """
    Speaks OpenAI Responses; everything but `respond` is pure.

    Key and address are the SDK's: OPENAI_API_KEY, OPENAI_BASE_URL and their like. A server that
    says nothing for as long as *idle* is given up.
    """

    provider = PROVIDER.name
    credentials = openai_sdk.CREDENTIALS
    hosted_tools = tools.HOSTED_TOOLS
    TOOL_BLOCK_TYPES = output_items.TOOL_BLOCK_TYPES
    TEXT_BLOCK_TYPES = output_items.TEXT_BLOCK_TYPES

    assemble = staticmethod(stream.assemble)
    extract_usage = staticmethod(responses.usage)

    def __init__(self, idle: timedelta = IDLE_TIMEOUT) -> None:
        self._client = LazyClient(partial(openai_sdk.open_client, PROVIDER), idle)

    def find_listing(self, name: str) -> Listing:
        return Listing(PROVIDER.name, name)

    def find_refused_settings(self, name: str, settings: ModelSettings) -> Mapping[str, str]:
        return requests.sampling(name, settings).refused

    def build_request(self, request: ModelRequest) -> JsonObject:
        """Render a call. A conversation that `respond` would begin first isn't named in it."""
        return requests.render(request, conversation_state.scope(request)).body

    def parse_response(self, raw: JsonObject) -> ModelReply:
        return responses.reply(raw, self.TOOL_BLOCK_TYPES, self.TEXT_BLOCK_TYPES)

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        return input_items.tool_result(result)

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        """Return the state after a reply; nothing fresh means that the next call begins anew."""
        return merge_fields(before, fresh) if fresh else {}

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Ask once, and again with the whole context if OpenAI no longer has what came before."""
        client = await self._client.get()
        with failures.redact_key(client.api_key):
            return await self._respond(client, request)

    async def forget(self, states: Sequence[JsonObject]) -> Mapping[str, bool]:
        """Delete what OpenAI keeps of replies: responses, conversations with all their items."""
        client = await self._client.get()
        with failures.redact_key(client.api_key):
            return await conversations.forget(client, states)

    async def _respond(self, client: "AsyncOpenAI", request: ModelRequest) -> ModelReply:
        if request.strategy == "conversation":
            scope = await conversations.scope(client, request)
        else:
            scope = conversation_state.scope(request)
        try:
            return await self._reply(client, request, scope)
        except ConversationExpired:
            if scope.begin == 0:
                raise
        note = _EXPIRED_NOTE.format(request.strategy)
        if request.strategy == "conversation":
            scope = await conversations.begin(client, note)
        else:
            scope = conversation_state.WHOLE._replace(note=note)
        return await self._reply(client, request, scope)

    async def _reply(
        self, client: "AsyncOpenAI", request: ModelRequest, scope: Scope
    ) -> ModelReply:
        render = partial(requests.render, request, scope)
        body, noted = await write_request(request.run_id, render)
        exchange = StreamReader(request.run_id, request.on_text, stream.find_text)
        with exchange:
            raw = await connection.ask(client, body, exchange)
            reply = await exchange.work(partial(self.parse_response, raw))
        notes = noted + reply.notes
        state = conversation_state.state(request, scope, raw, reply)
        return exchange.with_latency(reply.with_(notes=notes, provider_state=state))
