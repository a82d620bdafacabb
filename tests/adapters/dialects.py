"""What the contract suite needs of each provider; a new one joins by one line."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple, Protocol

from holdfast import settings
from holdfast.adapters.base import ProviderAdapter
from holdfast.adapters.registry import PROVIDERS, Setup
from holdfast.contracts.base import JsonObject
from tests.adapters.conversations import KEY
from tests.adapters.rules.anthropic import AnthropicRules
from tests.adapters.rules.chat import ChatRules
from tests.adapters.rules.responses import ResponsesRules
from tests.adapters.rules.strict import Event, Page, Rules
from tests.adapters.samples import anthropic, openai, openai_chat

PATIENCE = timedelta(minutes=5)
"""Longer than anything takes that isn't meant to be silent, on any machine."""


class Samples(Protocol):
    """
    The same replies in every dialect, whole, and a few things that only a stream can bring.

    MODEL makes them all; REASONER can be told how hard to think.

    WORDS say "In Köln.". TWO_CALLS say "Let me see." and ask for order 2**53 + 1 with a `max` of
    0.1, then for nothing in particular. The one call of MALFORMED has the list [4] for arguments;
    `many_calls` makes as many as it is told. REASONING asks for order 4 after a thought, of which
    REASONED must go back as it is,
    where the API takes thoughts back. MARKED has something of the provider's own beside its words
    or its call, of which MARK must go back as it is. STRANGE holds UNKNOWN, of a kind that nobody
    knows, and "ok".

    REFUSAL, FILTERED, PAUSED and OVERFULL say something and end as their names say. CUT_SHORT hit
    its limit inside of the one call.

    CACHED used 1000 tokens of input, 200 of them read from a cache and CACHE_WRITTEN written to
    it, and 100 of output, 40 of them for reasoning; CACHE_COUNTERS are the provider's own.
    UNCOUNTED doesn't say what it used, which the others do in the field USAGE, with the COUNTERS
    of input and output. SEARCHED says "In Köln." after one search of the provider's own; it used
    as many tokens as WORDS, and SEARCH_PRICE dollars more.

    WRONG_KEY, NO_MONEY, TOO_FAST (wait 34 seconds), TOO_LONG and FORBIDDEN (by a filter) are
    errors in place of a reply, with the headers WAIT. OVERLOADED is an error event. HALVES is a
    stream whose only call gets its arguments, an `amount` of 100, in two pieces, of which the
    first would be JSON with one more brace, if the provider ever sends pieces. OPTIONS are what
    its own tools can't do without.

    What a provider has no word for is null.
    """

    MODEL: str
    REASONER: str
    WORDS: JsonObject
    TWO_CALLS: JsonObject
    MALFORMED: JsonObject
    REASONING: JsonObject
    REASONED: JsonObject | None
    MARKED: JsonObject
    MARK: JsonObject
    STRANGE: JsonObject
    UNKNOWN: JsonObject
    REFUSAL: JsonObject | None
    FILTERED: JsonObject | None
    PAUSED: JsonObject | None
    OVERFULL: JsonObject | None
    CUT_SHORT: JsonObject
    CACHED: JsonObject
    CACHE_WRITTEN: int
    CACHE_COUNTERS: dict[str, int]
    UNCOUNTED: JsonObject
    USAGE: str
    COUNTERS: tuple[str, str]
    SEARCHED: JsonObject | None
    SEARCH_PRICE: Decimal
    WRONG_KEY: Page
    NO_MONEY: Page
    TOO_FAST: Page
    WAIT: dict[str, str]
    TOO_LONG: Page
    FORBIDDEN: Page
    OVERLOADED: Event
    HALVES: str
    OPTIONS: dict[str, JsonObject]

    def many_calls(self, count: int) -> JsonObject: ...


class Dialect(NamedTuple):
    """
    A provider in the contract suite.

    `variables` is what the names of the environment variables for its key and address begin with,
    `root` what the address ends with. `more_variables` are read by its SDK too, and are none of
    its credentials.
    """

    name: str
    variables: str
    samples: Samples
    rules: Callable[[], Rules]
    root: str = ""
    more_variables: tuple[str, ...] = ()

    @property
    def key_variable(self) -> str:
        return f"{self.variables}_API_KEY"

    @property
    def key(self) -> str:
        """A key that counts for this provider alone."""
        return f"{KEY}-{self.variables.lower()}"

    @property
    def address_variable(self) -> str:
        return f"{self.variables}_BASE_URL"

    @property
    def model(self) -> str:
        """A model of its own, as an agent names it."""
        return f"{self.name}:{self.samples.MODEL}"

    def adapter(self, idle: timedelta = PATIENCE) -> ProviderAdapter:
        """Make one that bears silence for so long."""
        return PROVIDERS[self.name](Setup(variable=settings.variable, idle=idle))


_KNOWN = (
    Dialect(
        "anthropic",
        "ANTHROPIC",
        anthropic,
        AnthropicRules,
        more_variables=("ANTHROPIC_PROFILE", "ANTHROPIC_CONFIG_DIR"),
    ),
    Dialect("openai", "OPENAI", openai, ResponsesRules, "/v1"),
    Dialect("openai-chat", "OPENAI", openai_chat, ChatRules, "/v1"),
)
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in _KNOWN}
