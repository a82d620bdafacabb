"""From a response of Anthropic Messages to contracts."""

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, ValidationError

from adapters import failures, pricing, wire
from adapters.anthropic.errors import PROVIDER
from contracts.base import Contract, JsonObject
from contracts.model import ModelReply, StopCause
from contracts.tools import AnyCall
from contracts.usage import UsageMetrics

Count: TypeAlias = Annotated[int, Field(ge=0)]

_STOPS: dict[str | None, StopCause] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_overflow",
}
_CUT_SHORT = ("max_tokens", "context_overflow")


class _Text(Contract):
    text: str


class _ToolUse(Contract):
    id: str
    name: str
    input: JsonValue = None


class _Other(Contract):
    """A block that this adapter has no use for."""


def _kind(block: JsonValue) -> str:
    match block:
        case {"type": "text" | "tool_use" as kind}:
            return kind
        case _:
            return "other"


_Block: TypeAlias = Annotated[
    Annotated[_Text, Tag("text")]
    | Annotated[_ToolUse, Tag("tool_use")]
    | Annotated[_Other, Tag("other")],
    Discriminator(_kind),
]


class _StopDetails(Contract):
    explanation: str | None = None


class _Usage(Contract):
    """`input_tokens` are only those for which no cache was read or written."""

    input_tokens: Count
    output_tokens: Count
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class _Message(Contract):
    model: str
    content: tuple[_Block, ...]
    stop_reason: str | None = None
    stop_details: _StopDetails | None = None
    usage: _Usage | None = None


def reply(raw: JsonObject) -> ModelReply:
    """Read a whole message. Raises ModelUnavailable when it is none."""
    message = _message(raw)
    stop = _STOPS.get(message.stop_reason, "other")
    text = _text(message.content)
    if stop == "refusal" and message.stop_details:
        text = text or message.stop_details.explanation or ""
    return ModelReply(
        text=text,
        calls=tuple(_calls(message.content, stop)),
        stop=stop,
        usage=_metrics(message),
        model=f"{PROVIDER.name}:{message.model}",
    )


def usage(raw: JsonObject) -> UsageMetrics:
    """Read what a message consumed. Raises ModelUnavailable when it is no message."""
    return _metrics(_message(raw))


def _message(raw: JsonObject) -> _Message:
    try:
        return _Message.model_validate(raw)
    except ValidationError:
        raise failures.unreadable(PROVIDER) from None


def _text(content: tuple[_Block, ...]) -> str:
    """Join neighbours as they are, a citation splits a sentence; all else are paragraphs."""
    runs = groupby(content, key=type)
    pieces = ("".join(b.text for b in run if isinstance(b, _Text)) for _, run in runs)
    return "\n\n".join(filter(None, pieces))


def _calls(content: tuple[_Block, ...], stop: StopCause) -> Iterator[AnyCall]:
    """Read the calls that are complete: a reply that was cut short may end inside of one."""
    if stop == "refusal":
        return
    for block in content[:-1] if stop in _CUT_SHORT else content:
        if isinstance(block, _ToolUse):
            yield wire.call(block.id, block.name, block.input)


def _metrics(message: _Message) -> UsageMetrics:
    if message.usage is None:
        return UsageMetrics(estimated_cost=None)
    read = message.usage.cache_read_input_tokens or 0
    written = message.usage.cache_creation_input_tokens or 0
    tokens = pricing.Tokens(
        input=message.usage.input_tokens + read + written,
        cache_read=read,
        cache_write=written,
        output=message.usage.output_tokens,
    )
    return pricing.metrics(PROVIDER.name, message.model, tokens)
