"""What a request of OpenAI Responses may look like, field by field."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Discriminator, Field, JsonValue, Tag

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Strict

Identity = Annotated[str, Field(pattern=r"^.{1,64}$")]
Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]
Status = Literal["in_progress", "completed", "incomplete"]


class Said(Strict):
    """The short form of a message."""

    role: Literal["user", "assistant"]
    content: str
    phase: Literal["commentary", "final_answer"] | None = None


class OutputText(Strict):
    type: Literal["output_text"]
    text: str
    annotations: list[JsonObject]
    logprobs: list[JsonObject] | None = None


class Refusal(Strict):
    type: Literal["refusal"]
    refusal: str


class Message(Strict):
    """A message of the model, as it came."""

    type: Literal["message"]
    id: Annotated[str, Field(pattern="^msg_")]
    role: Literal["assistant"]
    status: Status
    content: list[OutputText | Refusal]
    phase: Literal["commentary", "final_answer"] | None = None


class Caller(Strict):
    type: Literal["program", "direct"]
    caller_id: str | None = None


class FunctionCall(Strict):
    type: Literal["function_call"]
    call_id: Identity
    name: Name
    arguments: str
    id: Annotated[str, Field(pattern="^fc_")] | None = None
    status: Status | None = None
    namespace: str | None = None
    caller: Caller | None = None
    asynchronous: Annotated[bool | None, Field(alias="async")] = None


class CallOutput(Strict):
    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: Identity
    output: str
    caller: Caller | None = None


class ApprovalResponse(Strict):
    type: Literal["mcp_approval_response"]
    approval_request_id: str
    approve: bool
    reason: str | None = None


def _form(item: JsonValue) -> str:
    match item:
        case {"type": "message" | "function_call" as kind}:
            return kind
        case {"type": "function_call_output" | "custom_tool_call_output"}:
            return "output"
        case {"type": "mcp_approval_response"}:
            return "approval"
        case {"type": str()}:
            return "issued"
        case _:
            return "said"


Item: TypeAlias = Annotated[
    Annotated[Said, Tag("said")]
    | Annotated[Message, Tag("message")]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[CallOutput, Tag("output")]
    | Annotated[ApprovalResponse, Tag("approval")]
    | Annotated[JsonObject, Tag("issued")],
    Discriminator(_form),
]


class FunctionTool(Strict):
    type: Literal["function"]
    name: Name
    description: str
    parameters: JsonObject
    strict: bool


class Filters(Strict):
    allowed_domains: list[str]


class WebSearch(Strict):
    type: Literal["web_search"]
    filters: Filters | None = None
    search_context_size: Literal["low", "medium", "high"] | None = None


class Container(Strict):
    type: Literal["auto"]
    file_ids: list[str] | None = None


class CodeInterpreter(Strict):
    type: Literal["code_interpreter"]
    container: Container


class FileSearch(Strict):
    type: Literal["file_search"]
    vector_store_ids: Annotated[list[str], Field(min_length=1)]


class ImageGeneration(Strict):
    type: Literal["image_generation"]
    output_format: Literal["png", "webp", "jpeg"] | None = None
    output_compression: Annotated[int, Field(ge=0, le=100)] | None = None
    quality: Literal["low", "medium", "high", "auto"] | None = None


Tool: TypeAlias = Annotated[
    FunctionTool | WebSearch | CodeInterpreter | FileSearch | ImageGeneration,
    Field(discriminator="type"),
]


class ToolChoice(Strict):
    type: Literal["function", "web_search", "code_interpreter", "file_search", "image_generation"]
    name: str | None = None


class Reasoning(Strict):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
    summary: Literal["auto", "concise", "detailed"] | None = None


class JsonSchema(Strict):
    type: Literal["json_schema"]
    name: Name
    schema_: Annotated[JsonObject, Field(alias="schema")]
    strict: bool


class Text(Strict):
    format: JsonSchema


class StreamOptions(Strict):
    include_obfuscation: bool


class Request(Strict):
    """The body of a request for a response."""

    model: str
    input: list[Item]
    store: bool = True
    stream: bool = False
    stream_options: StreamOptions | None = None
    instructions: str | None = None
    tools: Annotated[list[Tool], Field(min_length=1)] | None = None
    tool_choice: Literal["none", "required", "auto"] | ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning: Reasoning | None = None
    max_tool_calls: Annotated[int, Field(ge=1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    text: Text | None = None
    include: list[Literal["reasoning.encrypted_content"]] | None = None
    prompt_cache_key: Annotated[str, Field(max_length=64)] | None = None
    previous_response_id: Annotated[str, Field(pattern="^resp_")] | None = None
    conversation: Annotated[str, Field(pattern="^conv_")] | None = None
