"""The seam between the loop and the providers."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from holdfast.adapters.pricing import Listing
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings
from holdfast.contracts.usage import CallUsage

TOOL_BLOCK_TYPES = frozenset({"tool_use", "tool_result"})
"""Blocks that have to do with tools. A final answer comes after the last of them."""

TEXT_BLOCK_TYPES = frozenset({"text"})
"""Blocks that hold words. To both an adapter may add types of its provider's, for `final_text`."""


class Sampling(NamedTuple):
    """
    What becomes of the settings of an agent that say how words are drawn.

    `fields` go into the request, under the provider's names; `refused` says of each of the others
    why the model doesn't take it.
    """

    fields: JsonObject
    refused: Mapping[str, str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reply notes of what was left out."""
        return tuple(f"`{name}` is left out: {why}" for name, why in self.refused.items())


def select_sampling(
    settings: ModelSettings, names: Mapping[str, str], refuse: Callable[[str], str | None]
) -> Sampling:
    """
    Sort the settings that say how words are drawn.

    *names* are what those are called on the wire that the API has; *refuse* says why not of one
    that a model doesn't take.
    """
    asked = settings.sampling
    refused = {name: why for name in asked if (why := refuse(name)) is not None}
    return Sampling(
        {names[name]: value for name, value in asked.items() if name not in refused}, refused
    )


class ModelAdapter(Protocol):
    """
    One provider.

    `respond` makes exactly one request for a reply and never retries: Temporal owns retries. It
    raises `ModelUnavailable` where waiting or another model may help and `ModelRejected` where
    asking the same again can't. A reply holds complete calls only. Words may be told while they
    come to whoever listens (`on_text`); nothing of them counts before the reply is whole.
    """

    @property
    def provider(self) -> str:
        """The word before the colon in the names of this provider's models."""
        ...

    @property
    def credentials(self) -> frozenset[str]:
        """
        The variables of the environment that hold what it proves itself with.

        Of one whose name ends with `_FILE` it is the file's content. No value of any of them ever
        leaves the worker (settings.KnownSecrets).
        """
        ...

    @property
    def hosted_tools(self) -> Mapping[str, str]:
        """
        The tools that the provider runs itself: our name of each, and its type on the wire.

        Types are without their versions: an agent's options may name another version, never
        another tool (validation.check_hosted_tools).
        """
        ...

    def find_listing(self, name: str) -> Listing | None:
        """Return under which names a model is in the price library; null if nobody sells it."""
        ...

    def find_refused_settings(
        self, name: str, settings: ModelSettings
    ) -> Mapping[str, str] | None:
        """Return which settings a model doesn't take, and why; null where it takes all."""
        ...

    async def respond(self, request: ModelRequest) -> ModelReply:
        """Ask the model once."""
        ...

    def merge_state(self, before: JsonObject, fresh: JsonObject) -> JsonObject:
        """Return the provider's state after a reply: `merge_fields`, or more than that."""
        ...


@runtime_checkable
class WindowSource(Protocol):
    """An adapter whose provider tells how much its models read: no run asks that, a probe does."""

    async def find_window(self, name: str) -> int | None:
        """Ask how many tokens a model's context holds; null if nobody says. Raises ModelError."""
        ...


@runtime_checkable
class StateKeeper(Protocol):
    """An adapter whose provider keeps conversations: no run deletes any, a command does."""

    async def forget(self, states: Sequence[JsonObject]) -> Mapping[str, bool]:
        """
        Delete what the provider keeps of replies, by the states that they brought.

        Returns what that was, and whether it was still there. Raises ModelError.
        """
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
        Put a stream's events together into the response that would have come unstreamed.

        Raises ModelUnavailable (`cut_off`) when the stream ends before the response does, and the
        ModelError that an error event stands for.
        """
        ...

    def parse_response(self, raw: JsonObject) -> ModelReply:
        """Read a whole response. Raises ModelError when *raw* is none, or tells of a failure."""
        ...

    def extract_usage(self, raw: JsonObject) -> CallUsage:
        """Read what a response consumed. Raises ModelUnavailable when *raw* is no response."""
        ...


class RenderedRequest(NamedTuple):
    """A provider's request, and notes on what had to be left out of it."""

    body: JsonObject
    notes: tuple[str, ...]


def merge_fields(before: JsonObject, fresh: JsonObject) -> JsonObject:
    """Return *before*, overwritten with the fields of *fresh*; neither of them is changed."""
    return {**before, **fresh}


def resolve_tool_choice(request: ModelRequest, hosted: Container[str] = ()) -> str:
    """
    Return which tools a turn may or must call, in the words of `ModelSettings.tool_choice`.

    An agent's choice is for its first turn. It may name a tool that another of its models has:
    where the provider runs none of that name (*hosted* are its own), the model is free.
    """
    if request.forbids_tool_calls:
        return "none"
    prefix = request.prefix
    wanted = prefix.settings.tool_choice
    if request.turn != 1:
        return "auto"
    declared = {tool.name for tool in prefix.tools}
    declared |= {tool.name for tool in prefix.hosted if tool.name in hosted}
    return wanted if wanted in ("auto", "required", "none") or wanted in declared else "auto"


def final_text(
    blocks: Iterable[tuple[str, str]],
    tools: frozenset[str],
    texts: frozenset[str],
) -> str:
    """
    Return a reply's final answer: the words behind the last block that has to do with a tool.

    *blocks* are the types and texts of all blocks of the reply, in order.
    """
    answer = ""
    for block_type, text in blocks:
        if block_type in tools:
            answer = ""
        elif block_type in texts:
            answer += text
    return answer
