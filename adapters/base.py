"""The seam between the loop and the providers."""

from collections.abc import Iterable
from typing import Protocol

from contracts.base import JsonObject
from contracts.model import ModelReply, ModelRequest
from contracts.tools import ToolResult
from contracts.usage import CallUsage

TOOL_BLOCK_TYPES = frozenset({"tool_use", "tool_result"})
"""The kinds of pieces that a final answer stands behind; a dialect adds its own."""

TEXT_BLOCK_TYPES = frozenset({"text"})
"""The kinds of pieces that hold words; a dialect adds its own."""


class ModelAdapter(Protocol):
    """
    One provider.

    `respond` makes exactly one request for a reply and never retries: Temporal owns retries. It
    raises `ModelUnavailable` where waiting or another model may help and `ModelRejected` where
    asking the same again can't. A reply holds complete calls only.
    """

    @property
    def provider(self) -> str:
        """The word before the colon in the names of this provider's models."""
        ...

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Ask the model once."""
        ...

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        """Return the provider's state after a reply; `merged` unless a provider knows better."""
        ...


class ProviderAdapter(ModelAdapter, Protocol):
    """An adapter that speaks to a provider over the wire: its translations, all of them pure."""

    def build_request(self, request: ModelRequest) -> JsonObject:
        """Render a call as the provider's request."""
        ...

    def build_tool_result(self, result: ToolResult) -> JsonObject:
        """Render the answer to one call."""
        ...

    def assemble(self, events: Iterable[JsonObject]) -> JsonObject:
        """
        Make of a stream's events the response that would have come unstreamed.

        Raises ModelUnavailable (`cut_off`) when the stream ends before the response does, and
        what an error event in the middle means.
        """
        ...

    def parse_response(self, raw: JsonObject) -> ModelReply:
        """Read a whole response. Raises ModelError when it is none, or a failed one."""
        ...

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        """Read what a response consumed. Raises ModelUnavailable when it is none."""
        ...


def merged(before: JsonObject, fresh: JsonObject) -> JsonObject:
    """Return *before* with what is *fresh*; neither of them is changed."""
    return {**before, **fresh}


def final_text(
    pieces: Iterable[tuple[str, str]],
    tools: frozenset[str] = TOOL_BLOCK_TYPES,
    texts: frozenset[str] = TEXT_BLOCK_TYPES,
) -> str:
    """Return the words behind the last piece that has to do with a tool; a piece is kind, text."""
    answer = ""
    for kind, text in pieces:
        if kind in tools:
            answer = ""
        elif kind in texts:
            answer += text
    return answer
