"""The servers that speak Chat Completions, and what each of them can do."""

from collections.abc import Mapping
from typing import Literal, NamedTuple, Self, TypeAlias, TypedDict, Unpack

from holdfast.adapters import failures
from holdfast.adapters.lazy_client import Environment
from holdfast.adapters.pricing import ModelPrice
from holdfast.contracts.base import Inbound
from holdfast.contracts.errors import AppError, FailureKind, ModelNotHere
from holdfast.contracts.model import SamplingSetting
from holdfast.contracts.patterns import Pattern

OPENAI_CHAT = "openai-chat"

GATEWAY_VARIABLE = "HOLDFAST_OPENAI_GATEWAY"
"""Set where OPENAI_BASE_URL is a gateway that hands everything on to OpenAI."""

_OPENAI_ADDRESS = Pattern(r"https://(?:[a-z0-9-]+\.)?api\.openai\.com(?:[:/]|$)", any_case=True)

Feature: TypeAlias = Literal[
    "strict",  # schemas of tools and answers that are enforced while the model writes
    "json_schema",  # answers in a declared shape
    "tool_choice",
    "parallel_tool_calls",  # the switch that turns them off
    "reasoning_effort",
    "reasoning_history",  # takes the reasoning of earlier turns back
    "stream_usage",
    "max_completion_tokens",  # the newer name of max_tokens
    "prompt_cache_key",
    SamplingSetting,
]

_SERVER_NAME = Pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FIRST_WITHOUT_REASONING = (5, 4)
_GPT = Pattern(r"(?:ft:)?gpt-(\d+)(?:\.(\d+))?")

_CODES: Mapping[str, FailureKind] = {
    "billing_hard_limit_reached": "quota",
    "billing_not_active": "quota",
    "exceeded_current_quota_error": "quota",
    "content_policy_violation": "content_filtered",
    "model_decommissioned": "not_found",
    # The model wrote a call or an answer that its server refuses: it may do better next time.
    "tool_use_failed": "unavailable",
    "json_validate_failed": "unavailable",
}


class ChatServerChange(TypedDict, total=False):
    """What may change of it."""

    base_url: str
    key_variable: str | None
    supports: frozenset[Feature]
    price: ModelPrice | Mapping[str, ModelPrice] | None


class ChatServer(Inbound):
    """
    A server that speaks Chat Completions: its address, its key and what it can do.

    `key_variable` names the environment variable of the worker that holds the key; null for a
    server without keys. Nothing that isn't in `supports` is ever asked of the server: it is left
    out, and the run reports it. `call_ids` is the pattern of the ids that it takes for calls which
    another server was asked for. `price` is what its models cost, one price for all of them or
    one for each name, where the price library doesn't know that or is wrong.
    """

    base_url: str
    key_variable: str | None = None
    supports: frozenset[Feature] = frozenset()
    call_ids: str = r"[A-Za-z0-9_-]{1,40}"
    price: ModelPrice | Mapping[str, ModelPrice] | None = None

    def find_price(self, model: str) -> ModelPrice | None:
        """Return what the app says that a model costs."""
        return self.price.get(model) if isinstance(self.price, Mapping) else self.price

    def with_(self, **changes: Unpack[ChatServerChange]) -> Self:
        """Return a server that differs in these fields, as from one of the well-known."""
        return type(self).model_validate({**dict(self), **changes})


OPENAI = ChatServer(
    base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    supports=frozenset(
        {
            "strict",
            "json_schema",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning_effort",
            "stream_usage",
            "max_completion_tokens",
            "prompt_cache_key",
            "temperature",
            "top_p",
            "seed",
            "stop_sequences",
            "frequency_penalty",
            "presence_penalty",
        }
    ),
)
"""OpenAI's own; address and key are what the SDK finds in the environment."""

KNOWN_CHAT_SERVERS: Mapping[str, ChatServer] = {
    "cerebras": ChatServer(
        base_url="https://api.cerebras.ai/v1",
        key_variable="CEREBRAS_API_KEY",
        supports=frozenset({"reasoning_effort", "tool_choice"}),
    ),
    "deepseek": ChatServer(
        base_url="https://api.deepseek.com",
        key_variable="DEEPSEEK_API_KEY",
        supports=frozenset({"stream_usage"}),
    ),
    "groq": ChatServer(
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        supports=frozenset({"json_schema", "reasoning_effort", "tool_choice"}),
    ),
    "mistral": ChatServer(
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        supports=frozenset(
            {"reasoning_effort", "reasoning_history", "stop_sequences", "tool_choice", "top_p"}
        ),
        call_ids=r"[A-Za-z0-9]{9}",
    ),
    "ollama": ChatServer(
        base_url="https://ollama.com/v1",
        key_variable="OLLAMA_API_KEY",
        supports=frozenset({"reasoning_history", "tool_choice"}),
    ),
    "openrouter": ChatServer(
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        supports=frozenset({"strict", "stream_usage", "tool_choice"}),
    ),
    "zai": ChatServer(
        base_url="https://api.z.ai/api/paas/v4",
        key_variable="ZAI_API_KEY",
        supports=frozenset({"reasoning_effort", "reasoning_history"}),
    ),
}
"""Well-known servers, with what each was seen to take. To use one, name it in the app."""


class Target(NamedTuple):
    """Whom a call goes to: a server, by its name in the app, and one of its models."""

    name: str
    server: ChatServer
    model: str

    @property
    def label(self) -> str:
        """How the server is called in sentences."""
        return self.name or OPENAI_CHAT

    @property
    def prefix(self) -> str:
        """What stands before the names of its models."""
        return f"{OPENAI_CHAT}:{self.name}/" if self.name else f"{OPENAI_CHAT}:"

    def has(self, feature: Feature) -> bool:
        """Whether the server can do this."""
        return feature in self.server.supports

    @property
    def is_openai(self) -> bool:
        """Whether the server is OpenAI's own, by whatever name."""
        return self.server.base_url.rstrip("/") == OPENAI.base_url

    @property
    def reasons_only_without_tools(self) -> bool:
        """Whether this is one of OpenAI's models that don't reason beside tools in this API."""
        version = _GPT.match(self.model)
        if version is None or not self.is_openai:
            return False
        _, major, minor = version.groups
        return (int(major), int(minor or 0)) >= _FIRST_WITHOUT_REASONING

    @property
    def provider(self) -> failures.Provider:
        """The server in words."""
        configured = f"of chat server {self.name!r}"
        return failures.Provider(
            name=self.label,
            key_variable=self.server.key_variable or f"a key_variable {configured}",
            address_variable=f"the base_url {configured}" if self.name else "OPENAI_BASE_URL",
            codes=_CODES,
        )


DEFAULT = Target("", OPENAI, "")


def validate(servers: Mapping[str, ChatServer]) -> Mapping[str, ChatServer]:
    """Return the servers. Raises AppError where a model can't be named by the server's name."""
    for name in servers:
        if not _SERVER_NAME.fits(name):
            raise AppError(f"chat server {name!r}: use letters, digits and . _ - in its name")
    return dict(servers)


def find_own(environment: Environment) -> ChatServer:
    """
    Return the server of models without one: OpenAI's own, or what the SDK asks in its place.

    Of that nothing is known, unless the worker says that it is a gateway to OpenAI.
    """
    address = environment("OPENAI_BASE_URL")
    if not address or _OPENAI_ADDRESS.beginning(address) or environment(GATEWAY_VARIABLE):
        return OPENAI
    return ChatServer(base_url=address, key_variable=OPENAI.key_variable)


def target(servers: Mapping[str, ChatServer], model: str, own: ChatServer) -> Target:
    """Find the server of `SERVER/NAME`; a name alone is a model of its *own*."""
    name, slash, rest = model.partition("/")
    if not slash:
        return Target("", own, model)
    if name not in servers:
        known = ", ".join(sorted(servers)) or "none"
        raise ModelNotHere(
            f"no chat server {name!r} for model {OPENAI_CHAT}:{model} (known servers: {known}): "
            f"name it in the app's chat_servers"
        )
    return Target(name, servers[name], rest)
