"""What a run knows of its models, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract, JsonObject
from holdfast.contracts.control import ModelAttempt, ProviderWait


class ModelChainChange(TypedDict, total=False):
    """What may change of it."""

    model_index: int
    provider_state: JsonObject
    unheard: bool
    sent_tools: tuple[str, ...]
    paused: bool
    notes: tuple[str, ...]
    attempts: tuple[ModelAttempt, ...]
    provider_wait: ProviderWait | None


class ModelChain(Contract):
    """
    How far the run is in the chain of its models, and what it knows of them.

    While a model is `paused` its turn isn't done, and people's words wait until it is. `unheard`
    from each question to a model until the run has taken the reply: what the provider keeps may be
    ahead. `sent_tools` are those that it was sent, none for all. `notes` are what the models'
    adapters reported, each once. `attempts` are the calls that failed. With a `provider_wait` the
    run waits for its last model.
    """

    model_index: int = 0
    provider_state: JsonObject = Field(default_factory=dict)
    unheard: bool = False
    sent_tools: tuple[str, ...] = Field(default=(), exclude_if=not_)
    paused: bool = False
    notes: tuple[str, ...] = ()
    attempts: tuple[ModelAttempt, ...] = ()
    provider_wait: ProviderWait | None = None

    def with_(self, **changes: Unpack[ModelChainChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
