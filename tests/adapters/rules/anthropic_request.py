"""The fields of a request of Anthropic Messages: no other, and none of another type."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Discriminator, Field, JsonValue, RootModel, Tag

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Strict

NonBlank = Annotated[str, Field(pattern=r"\S")]
ToolName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
CallId = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
Effort = Literal["low", "medium", "high", "xhigh", "max"]


class CacheControl(Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Cacheable(Strict):
    cache_control: CacheControl | None = None


class Text(Cacheable):
    type: Literal["text"]
    text: NonBlank


class SaidText(Text):
    citations: Annotated[list[JsonObject], Field(min_length=1)] | None = None


class Caller(Strict):
    type: Literal["direct", "code_execution_20250825", "code_execution_20260120"]
    tool_id: str | None = None


class ToolUse(Cacheable):
    type: Literal["tool_use"]
    id: CallId
    name: ToolName
    input: JsonObject
    caller: Caller | None = None
    toolset_name: str | None = None

    @property
    def is_programmatic(self) -> bool:
        return self.caller is not None and self.caller.type != "direct"


class ToolResult(Cacheable):
    type: Literal["tool_result"]
    tool_use_id: CallId
    content: str
    is_error: bool = False
    toolset_name: str | None = None


class Thinking(Strict):
    type: Literal["thinking"]
    thinking: str
    signature: NonBlank


class RedactedThinking(Strict):
    type: Literal["redacted_thinking"]
    data: NonBlank


class ServerBlock(RootModel[JsonObject]):
    """A block that only the server makes; it must come back as it was issued."""

    @property
    def type(self) -> JsonValue:
        return self.root.get("type")


def _kind(block: JsonObject) -> str:
    kind = block.get("type")
    ours = {"text", "tool_use", "tool_result", "thinking", "redacted_thinking"}
    return str(kind) if kind in ours else "server"


UserBlock = Annotated[Text | ToolResult, Field(discriminator="type")]
SaidBlock = Annotated[
    Annotated[SaidText, Tag("text")]
    | Annotated[ToolUse, Tag("tool_use")]
    | Annotated[Thinking, Tag("thinking")]
    | Annotated[RedactedThinking, Tag("redacted_thinking")]
    | Annotated[ServerBlock, Tag("server")],
    Discriminator(_kind),
]


class User(Strict):
    role: Literal["user"]
    content: Annotated[list[UserBlock], Field(min_length=1)]


class Assistant(Strict):
    role: Literal["assistant"]
    content: Annotated[list[SaidBlock], Field(min_length=1)]


class Schema(Strict):
    """An object's schema; what else stands in it is looked at by the rules."""

    model_config = ConfigDict(extra="allow")

    type: Literal["object"]


class Tool(Cacheable):
    name: ToolName
    description: str
    input_schema: Schema
    strict: bool = False


class WebSearch(Cacheable):
    name: Literal["web_search"]
    type: Literal["web_search_20250305", "web_search_20260209", "web_search_20260318"]
    max_uses: Annotated[int, Field(ge=1)] | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: JsonObject | None = None


class WebFetch(Cacheable):
    name: Literal["web_fetch"]
    type: Literal["web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260318"]
    max_uses: Annotated[int, Field(ge=1)] | None = None
    max_content_tokens: Annotated[int, Field(ge=1)] | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None


class CodeExecution(Cacheable):
    name: Literal["code_execution"]
    type: Literal["code_execution_20250825", "code_execution_20260120", "code_execution_20260521"]


class Adaptive(Strict):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class Enabled(Strict):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=1024)]


class Disabled(Strict):
    type: Literal["disabled"]


class Format(Strict):
    type: Literal["json_schema"]
    json_schema: Annotated[Schema, Field(alias="schema")]


class OutputConfig(Strict):
    effort: Effort | None = None
    format: Format | None = None


class FreeChoice(Strict):
    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool = False


class NoChoice(Strict):
    type: Literal["none"]


class NamedChoice(Strict):
    type: Literal["tool"]
    name: ToolName
    disable_parallel_tool_use: bool = False


class Messages(Strict):
    model: NonBlank
    max_tokens: Annotated[int, Field(ge=1)]
    stop_sequences: list[Annotated[str, Field(pattern=r"\S")]] | None = None
    stream: bool
    system: Annotated[list[Text], Field(min_length=1)] | None = None
    tools: (
        Annotated[list[Tool | WebSearch | WebFetch | CodeExecution], Field(min_length=1)] | None
    ) = None
    tool_choice: (
        Annotated[FreeChoice | NoChoice | NamedChoice, Field(discriminator="type")] | None
    ) = None
    thinking: Annotated[Adaptive | Enabled | Disabled, Field(discriminator="type")] | None = None
    output_config: OutputConfig | None = None
    container: NonBlank | None = None
    messages: Annotated[
        list[Annotated[User | Assistant, Field(discriminator="role")]], Field(min_length=1)
    ]
