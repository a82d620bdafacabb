"""OpenAI's Chat Completions, as OpenAI and many other servers speak it."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial
from types import MappingProxyType

from holdfast.adapters import failures, openai_sdk
from holdfast.adapters.base import merge_fields
from holdfast.adapters.lazy_client import IDLE_TIMEOUT, Environment, LazyClient
from holdfast.adapters.openai_chat import connection, messages, stream
from holdfast.adapters.openai_chat import request as requests
from holdfast.adapters.openai_chat import response as responses
from holdfast.adapters.openai_chat import servers as addresses
from holdfast.adapters.openai_chat import usage as usages
from holdfast.adapters.openai_chat.servers import (
    DEFAULT,
    KNOWN_CHAT_SERVERS,
    OPENAI_CHAT,
    ChatServer,
    Target,
)
from holdfast.adapters.pricing import Listing
from holdfast.adapters.stream_reader import StreamReader, write_request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.errors import ModelNotHere
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings
from holdfast.contracts.usage import CallUsage


class OpenAIChatAdapter:
    """
    Speaks Chat Completions; everything but `respond` and `find_window` is pure.

    `openai-chat:NAME` is a model of OpenAI's own server: key and address are the SDK's,
    OPENAI_API_KEY, OPENAI_BASE_URL and their like. Of another address nothing is assumed, unless
    the worker says that it is a gateway. `openai-chat:SERVER/NAME` is one
    of *servers*, and *key* looks up the environment variable that holds its key. A server that
    says nothing for as long as *idle* is given up.
    """

    provider = OPENAI_CHAT
    hosted_tools: Mapping[str, str] = MappingProxyType({})
    TOOL_BLOCK_TYPES = responses.TOOL_BLOCK_TYPES
    TEXT_BLOCK_TYPES = responses.TEXT_BLOCK_TYPES

    merge_state = staticmethod(merge_fields)

    def __init__(
        self,
        servers: Mapping[str, ChatServer] | None = None,
        key: Environment = lambda _: None,
        idle: timedelta = IDLE_TIMEOUT,
    ) -> None:
        self._servers = addresses.validate(servers or {})
        self._own = addresses.find_own(key)
        self._key = key
        self._idle = idle
        self._lines: dict[str, LazyClient[connection.ServerClient]] = {}

    @property
    def credentials(self) -> frozenset[str]:
        """Those of its servers, and of the well-known ones that the app doesn't name."""
        servers = (*self._servers.values(), *KNOWN_CHAT_SERVERS.values())
        named = {server.key_variable for server in servers if server.key_variable}
        return openai_sdk.CREDENTIALS | named

    def find_listing(self, name: str) -> Listing | None:
        try:
            target = addresses.target(self._servers, name, self._own)
        except ModelNotHere:  # no such server: the call will say so
            return None
        seller, price = usages.seller(target), target.server.find_price(target.model)
        return Listing(seller, target.model, price) if seller or price else None

    def find_refused_settings(self, name: str, settings: ModelSettings) -> Mapping[str, str]:
        try:
            target = addresses.target(self._servers, name, self._own)
        except ModelNotHere:  # no such server: the call will say so
            return {}
        return requests.sampling(target, settings).refused

    async def find_window(self, name: str) -> int | None:
        target = addresses.target(self._servers, name, self._own)
        line = await self._find_client(target).get()
        with failures.redact_key(line.client.api_key):
            listed = await connection.list_models(line, target)
        return responses.find_window(listed, target.model)

    def build_request(self, request: ModelRequest) -> JsonObject:
        return requests.render(request, self._target(request)).body

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        return messages.tool_result(result, result.call_id)

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        return stream.assemble(events, DEFAULT)

    def parse_response(self, raw: JsonObject) -> ModelReply:
        return self._read(raw, DEFAULT)

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        return usages.usage(raw, DEFAULT)

    async def respond(self, request: ModelRequest) -> ModelReply:
        target = self._target(request)
        render = partial(requests.render, request, target)
        body, noted = await write_request(request.run_id, render)
        line = await self._find_client(target).get()
        exchange = StreamReader(request.run_id, request.on_text, stream.find_text)
        with failures.redact_key(line.client.api_key), exchange:
            raw = await connection.ask(line, target, body, exchange)
            reply = await exchange.work(partial(self._read, raw, target, request.turn))
        notes = noted + reply.notes
        return exchange.with_latency(reply.with_(notes=notes))

    def _read(self, raw: JsonObject, target: Target, turn: int = 0) -> ModelReply:
        return responses.reply(raw, target, self.TOOL_BLOCK_TYPES, self.TEXT_BLOCK_TYPES, turn)

    def _target(self, request: ModelRequest) -> Target:
        return addresses.target(self._servers, request.model, self._own)

    def _find_client(self, target: Target) -> LazyClient[connection.ServerClient]:
        if target.name not in self._lines:
            self._lines[target.name] = LazyClient(
                partial(connection.open_client, target, self._key), self._idle
            )
        return self._lines[target.name]
