"""OpenAI's Chat Completions, as OpenAI and many other servers speak it."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from adapters import failures
from adapters.base import merged
from adapters.exchange import Exchange
from adapters.openai_chat import connection, messages, stream
from adapters.openai_chat import request as requests
from adapters.openai_chat import response as responses
from adapters.openai_chat import servers as addresses
from adapters.openai_chat import usage as usages
from adapters.openai_chat.servers import DEFAULT, WORD, ChatServer, Target
from adapters.opening import IDLE, OpenedOnce
from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import CallUsage


class OpenAIChatAdapter:
    """
    Speaks Chat Completions; everything but `respond` is pure.

    `openai-chat:NAME` is a model of OpenAI's own server, or of a gateway to it: key and address
    are the SDK's, OPENAI_API_KEY, OPENAI_BASE_URL and their like. `openai-chat:SERVER/NAME` is one
    of *servers*, and *key* looks up the environment variable that holds its key. *idle* bounds the
    silence before and inside of a reply.
    """

    provider = WORD
    TOOL_BLOCK_TYPES = responses.TOOL_TYPES
    TEXT_BLOCK_TYPES = responses.TEXT_TYPES

    def __init__(
        self,
        servers: Mapping[str, ChatServer] | None = None,
        key: connection.Environment = lambda _: None,
        idle: timedelta = IDLE,
    ) -> None:
        self._servers = addresses.checked(servers or {})
        self._key = key
        self._idle = idle
        self._lines: dict[str, OpenedOnce[connection.Line]] = {}

    def build_request(self, request: ModelRequest) -> JsonObject:
        """Render the whole context of a call."""
        return requests.rendered(request, self._target(request)).body

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        """Render the answer to one call."""
        return messages.tool_result(result, result.call_id)

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        """Make of a stream's chunks the response that would have come unstreamed."""
        return stream.assembled(events, DEFAULT)

    def parse_response(self, raw: JsonObject) -> ModelReply:
        """Read a whole response. Raises ModelError when it is none, or reports an error."""
        return responses.reply(raw, DEFAULT)

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        """Read what a response consumed; nothing, at an unknown price, where it doesn't say."""
        return usages.usage(raw, DEFAULT)

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        return merged(before, fresh)

    async def respond(self, request: ModelRequest) -> ModelReply:
        target = self._target(request)
        body, notes = requests.rendered(request, target)
        line = await self._line(target).get()
        exchange = Exchange()
        with failures.discreet(line.client.api_key):
            raw = await connection.ask(line, target, body, exchange)
            reply = exchange.timed(responses.reply(raw, target, request.turn))
        return reply.model_copy(update={"notes": notes + reply.notes})

    def _target(self, request: ModelRequest) -> Target:
        return addresses.target(self._servers, request.model)

    def _line(self, target: Target) -> OpenedOnce[connection.Line]:
        if target.name not in self._lines:
            self._lines[target.name] = OpenedOnce(
                lambda: connection.opened(target, self._key, self._idle)
            )
        return self._lines[target.name]
