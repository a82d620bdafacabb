"""What the two APIs take: every field is checked, and that each call has its one result."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contracts.base import JsonObject


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


NonBlank = Annotated[str, Field(pattern=r"\S")]


class Text(_Strict):
    type: Literal["text"]
    text: NonBlank


class ToolUse(_Strict):
    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: str
    input: JsonObject


class ToolResult(_Strict):
    type: Literal["tool_result"]
    tool_use_id: str
    content: str
    is_error: Literal[True] | None = None


class User(_Strict):
    role: Literal["user"]
    content: Annotated[list[Text | ToolResult], Field(min_length=1)]


class Assistant(_Strict):
    role: Literal["assistant"]
    content: Annotated[list[Text | ToolUse], Field(min_length=1)]


class Tool(_Strict):
    name: str
    description: str
    input_schema: JsonObject


class Messages(_Strict):
    """A request of Anthropic Messages that isn't streamed."""

    model: str
    max_tokens: Annotated[int, Field(ge=1, le=21_333)]
    system: NonBlank | None = None
    tools: Annotated[list[Tool], Field(min_length=1)] | None = None
    messages: Annotated[list[User | Assistant], Field(min_length=1)]


class Said(_Strict):
    role: Literal["user", "assistant"]
    content: str


class FunctionCall(_Strict):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str


class FunctionCallOutput(_Strict):
    type: Literal["function_call_output"]
    call_id: str
    output: str


class FunctionTool(_Strict):
    type: Literal["function"]
    name: str
    description: str
    parameters: JsonObject
    strict: bool


class Responses(_Strict):
    """A request of OpenAI Responses that leaves nothing behind."""

    model: str
    store: Literal[False]
    instructions: str | None = None
    tools: list[FunctionTool] | None = None
    input: Annotated[list[Said | FunctionCall | FunctionCallOutput], Field(min_length=1)]


def problem(path: str, headers: Mapping[str, str], body: JsonObject) -> str | None:
    """Say why the provider would refuse a request."""
    if not headers.get("authorization", "").startswith("Bearer "):
        return "no key"
    if headers.get("content-type") != "application/json":
        return "not JSON"
    try:
        match path:
            case "/v1/messages" if headers.get("anthropic-version") == "2026-10-21":
                return _unpaired(Messages.model_validate(body).messages)
            case "/v1/responses":
                return _unanswered(Responses.model_validate(body).input)
            case _:
                return f"no such endpoint, or another version of it: {path}"
    except ValidationError as error:
        return str(error)


def _unpaired(messages: Sequence[User | Assistant]) -> str | None:
    asked: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, User) is (place % 2 == 1):
            return f"messages.{place}: roles must alternate, beginning with user"
        if isinstance(message, Assistant):
            asked = [block.id for block in message.content if isinstance(block, ToolUse)]
            continue
        first = takewhile(lambda block: isinstance(block, ToolResult), message.content)
        answered = [
            block.tool_use_id for block in message.content if isinstance(block, ToolResult)
        ]
        if len(list(first)) != len(answered) or sorted(answered) != sorted(asked):
            return f"messages.{place}: asked {asked}, answered {answered}; results come first"
    return None if isinstance(messages[-1], User) else "the last message must be the user's"


def _unanswered(entries: Sequence[Said | FunctionCall | FunctionCallOutput]) -> str | None:
    waiting: set[str] = set()
    for entry in entries:
        match entry:
            case FunctionCall(call_id=call_id):
                waiting.add(call_id)
            case FunctionCallOutput(call_id=call_id) if call_id in waiting:
                waiting.remove(call_id)
            case FunctionCallOutput(call_id=call_id):
                return f"No tool call found for function call output with call_id {call_id}."
            case Said() if waiting:
                return f"No tool output found for function calls {waiting}."
            case Said():
                pass
    return f"No tool output found for function calls {waiting}." if waiting else None
