"""From a response of OpenAI Responses to contracts."""

from collections.abc import Iterator
from typing import Annotated, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag, ValidationError

from adapters import failures, pricing, wire
from adapters.openai.errors import PROVIDER, ResponseError, failed
from contracts.base import Contract, JsonObject
from contracts.model import ModelReply, StopCause
from contracts.tools import AnyCall
from contracts.usage import UsageMetrics

Count: TypeAlias = Annotated[int, Field(ge=0)]

_INCOMPLETE: dict[str | None, StopCause] = {
    "max_output_tokens": "max_tokens",
    "content_filter": "content_filter",
}
_WITHOUT_END = ("queued", "in_progress", "cancelled")


class _Text(Contract):
    text: str


class _Refusal(Contract):
    refusal: str


class _Other(Contract):
    """An item or a part of one that this adapter has no use for."""


def _kind(value: JsonValue) -> str:
    match value:
        case {"type": "output_text" | "refusal" | "message" | "function_call" as kind}:
            return kind
        case _:
            return "other"


_Part: TypeAlias = Annotated[
    Annotated[_Text, Tag("output_text")]
    | Annotated[_Refusal, Tag("refusal")]
    | Annotated[_Other, Tag("other")],
    Discriminator(_kind),
]


class _Message(Contract):
    content: tuple[_Part, ...]


class _FunctionCall(Contract):
    call_id: str
    name: str
    arguments: str
    status: str | None = None


_Item: TypeAlias = Annotated[
    Annotated[_Message, Tag("message")]
    | Annotated[_FunctionCall, Tag("function_call")]
    | Annotated[_Other, Tag("other")],
    Discriminator(_kind),
]


class _IncompleteDetails(Contract):
    reason: str | None = None


class _InputDetails(Contract):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _Usage(Contract):
    """`input_tokens` are all of them, whatever a cache had to do with it."""

    input_tokens: Count
    output_tokens: Count
    input_tokens_details: _InputDetails | None = None


class _Response(Contract):
    model: str
    output: tuple[_Item, ...]
    status: str | None = None
    error: ResponseError | None = None
    incomplete_details: _IncompleteDetails | None = None
    usage: _Usage | None = None


def reply(raw: JsonObject) -> ModelReply:
    """Read a whole response. Raises ModelUnavailable when it is none, ModelError if it failed."""
    response = _response(raw)
    if response.status == "failed":
        raise failed(response.error or ResponseError())
    messages = [item for item in response.output if isinstance(item, _Message)]
    refused = any(isinstance(part, _Refusal) for item in messages for part in item.content)
    calls = () if refused else tuple(_calls(response))
    return ModelReply(
        text="\n\n".join(filter(None, map(_words, messages))),
        calls=calls,
        stop="refusal" if refused else _stop(response, calls),
        usage=_metrics(response),
        model=f"{PROVIDER.name}:{response.model}",
    )


def usage(raw: JsonObject) -> UsageMetrics:
    """Read what a response consumed. Raises ModelUnavailable when it is no response."""
    return _metrics(_response(raw))


def _response(raw: JsonObject) -> _Response:
    try:
        return _Response.model_validate(raw)
    except ValidationError:
        raise failures.unreadable(PROVIDER) from None


def _words(message: _Message) -> str:
    said = (
        part.text if isinstance(part, _Text) else part.refusal
        for part in message.content
        if isinstance(part, _Text | _Refusal)
    )
    return "".join(said)


def _calls(response: _Response) -> Iterator[AnyCall]:
    """Read the calls that are complete: a response that was cut short may end inside of one."""
    cut_short = response.status == "incomplete"
    for item in response.output:
        if not isinstance(item, _FunctionCall) or item.status in ("incomplete", "in_progress"):
            continue
        if item.status == "completed" or not cut_short:
            yield wire.call_from_text(item.call_id, item.name, item.arguments)


def _stop(response: _Response, calls: tuple[AnyCall, ...]) -> StopCause:
    if response.status == "incomplete":
        details = response.incomplete_details or _IncompleteDetails()
        return _INCOMPLETE.get(details.reason, "other")
    if response.status in _WITHOUT_END:
        return "other"
    return "tool_use" if calls else "end_turn"


def _metrics(response: _Response) -> UsageMetrics:
    if response.usage is None:
        return UsageMetrics(estimated_cost=None)
    details = response.usage.input_tokens_details or _InputDetails()
    tokens = pricing.Tokens(
        input=response.usage.input_tokens,
        cache_read=details.cached_tokens or 0,
        cache_write=details.cache_write_tokens or 0,
        output=response.usage.output_tokens,
    )
    return pricing.metrics(PROVIDER.name, response.model, tokens)
