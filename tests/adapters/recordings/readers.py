"""What any recorded answer says, and which of them are replies."""

from collections.abc import Iterable, Mapping
from types import ModuleType

from tests.adapters.recordings import read_anthropic, read_chat, read_responses
from tests.adapters.recordings.exchanges import Exchange, Format
from tests.adapters.recordings.expected import Failed, Outcome, Said
from tests.adapters.recordings.values import Body

READERS: Mapping[Format, ModuleType] = {
    "anthropic": read_anthropic,
    "openai": read_responses,
    "openai-chat": read_chat,
}


def outcome(exchange: Exchange) -> Outcome:
    return READERS[exchange.format].outcome(exchange)


def said(exchange: Exchange) -> Said:
    reply = outcome(exchange)
    assert isinstance(reply, Said)
    return reply


def failed(exchange: Exchange) -> Failed:
    failure = outcome(exchange)
    assert isinstance(failure, Failed)
    return failure


def whole(exchange: Exchange) -> Body:
    """The answer as it would have come unstreamed."""
    return READERS[exchange.format].whole(exchange)


def answered(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Those with a reply of a model."""
    return [exchange for exchange in exchanges if isinstance(outcome(exchange), Said)]
