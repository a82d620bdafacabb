"""Our adapters, and how each names the model of a recording."""

from typing import get_args

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import ChatServer, Feature
from tests.adapters.recordings.exchanges import Exchange, Format

SERVER = "recorded"
"""The name of any server but OpenAI's own, in the configuration of these tests."""


def speaker(format_: Format, address: str = "http://127.0.0.1") -> ProviderAdapter:
    """Make the adapter of a format; *address* is that of the server with the name above."""
    match format_:
        case "anthropic":
            return AnthropicAdapter()
        case "openai":
            return OpenAIAdapter()
        case "openai-chat":
            able = frozenset[Feature](get_args(Feature))
            server = ChatServer(base_url=f"{address}/v1", supports=able)
            return OpenAIChatAdapter({SERVER: server})


def own_name(exchange: Exchange, model: str) -> str:
    """What an adapter calls a model: behind the name of its server, if that isn't OpenAI's own."""
    own = exchange.format != "openai-chat" or exchange.host == "api.openai.com"
    return model if own else f"{SERVER}/{model}"
