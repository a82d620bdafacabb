"""What the contract suite needs of each provider; a new one joins by one line."""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple, Protocol

from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.registry import PROVIDERS, Setup
from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event
from tests.adapters.samples import anthropic, openai, openai_chat

PATIENCE = timedelta(minutes=5)
"""Longer than anything takes that isn't meant to be silent, on any machine."""


class Samples(Protocol):
    """
    The same replies in every dialect, whole, and a few things that only a stream can bring.

    WORDS say "In Köln.". TWO_CALLS say "Let me see." and ask for order 2**53 + 1 with a `max` of
    0.1, then for nothing in particular. REASONING asks for order 4 after a thought, of which
    REASONED must go back as it is,
    where the API takes thoughts back. CACHED used 1000 tokens of input, 200 of them read from a
    cache and 50 written to it, and 100 of output, 40 of them for reasoning; CACHE_COUNTERS are
    the provider's own. UNCOUNTED doesn't say what it used. REFUSAL is one. CUT_SHORT hit its
    limit inside of the one call. STRANGE holds UNKNOWN, of a kind that nobody knows, and "ok".

    OVERLOADED is an error event. HALVES is a stream whose only call gets its arguments, an
    `amount` of 100, in two pieces, of which the first would be JSON with one more brace.
    """

    MODEL: str
    WORDS: JsonObject
    TWO_CALLS: JsonObject
    REASONING: JsonObject
    REASONED: JsonObject | None
    CACHED: JsonObject
    CACHE_COUNTERS: dict[str, int]
    UNCOUNTED: JsonObject
    REFUSAL: JsonObject
    CUT_SHORT: JsonObject
    STRANGE: JsonObject
    UNKNOWN: JsonObject
    OVERLOADED: Event
    HALVES: str


class Dialect(NamedTuple):
    """
    A provider in the contract suite.

    `variables` is what the names of the environment variables for its key and address begin with,
    `root` what the address ends with.
    """

    name: str
    variables: str
    samples: Samples
    root: str = ""

    @property
    def key_variable(self) -> str:
        return f"{self.variables}_API_KEY"

    @property
    def address_variable(self) -> str:
        return f"{self.variables}_BASE_URL"

    def adapter(self, idle: timedelta) -> ProviderAdapter:
        """Make one that bears silence for so long."""
        return PROVIDERS[self.name](Setup(idle=idle))


_KNOWN = (
    Dialect("anthropic", "ANTHROPIC", anthropic),
    Dialect("openai", "OPENAI", openai, "/v1"),
    Dialect("openai-chat", "OPENAI", openai_chat, "/v1"),
)
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in _KNOWN}
