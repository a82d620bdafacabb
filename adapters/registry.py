"""The providers, one line for each: what else is asked of one, its adapter says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from holdfast.adapters.anthropic import AnthropicAdapter
from holdfast.adapters.base import ModelAdapter, ProviderAdapter
from holdfast.adapters.lazy_client import IDLE_TIMEOUT, Environment
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.adapters.openai_chat import OpenAIChatAdapter
from holdfast.adapters.openai_chat.servers import ChatServer
from holdfast.adapters.scripted import Script, ScriptedAdapter


@dataclass(frozen=True)
class Setup:
    """
    What adapters are made with: the words of an app, and the worker's environment.

    A server that says nothing for as long as `idle` is given up. `plugged` are adapters of the
    app's own.
    """

    scripts: Mapping[str, Script] = field(default_factory=dict[str, Script])
    chat_servers: Mapping[str, ChatServer] = field(default_factory=dict[str, ChatServer])
    variable: Environment = lambda _: None
    idle: timedelta = IDLE_TIMEOUT
    plugged: Sequence[ModelAdapter] = ()


PROVIDERS: Mapping[str, Callable[[Setup], ProviderAdapter]] = {
    "anthropic": lambda setup: AnthropicAdapter(setup.idle),
    "openai": lambda setup: OpenAIAdapter(setup.idle),
    "openai-chat": lambda setup: OpenAIChatAdapter(setup.chat_servers, setup.variable, setup.idle),
}
"""By the word before the colon in the names of their models."""


def build_adapters(setup: Setup) -> dict[str, ModelAdapter]:
    """Return the adapters of all providers, the app's own too, and the one that asks nobody."""
    scripted = ScriptedAdapter(setup.scripts)
    asking = {name: build(setup) for name, build in PROVIDERS.items()}
    plugged = {adapter.provider: adapter for adapter in setup.plugged}
    return {scripted.provider: scripted, **asking, **plugged}
