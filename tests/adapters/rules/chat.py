"""What Chat Completions takes, at OpenAI's own server or a lesser one, and how it streams."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event, OpenAIHeaders, Page, Strict, Understood

Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")]

BASE = frozenset({"model", "messages", "stream", "tools", "max_tokens"})
"""The fields that every server takes."""

OPENAI = BASE - {"max_tokens"} | {
    "max_completion_tokens",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "stream_options",
    "strict",
    "tool_choice",
    "temperature",
    "top_p",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
}
"""The fields that OpenAI's own server takes, and where schemas may be strict."""

_SAMPLING = {
    *("temperature", "top_p", "top_k", "seed", "stop", "frequency_penalty", "presence_penalty")
}
_DONE = Event({}, text="[DONE]")
_SPLIT = re.compile(r"[\s\S]{1,5}")
_TEXTS = ("content", "refusal", "reasoning_content", "reasoning")
_GPT = re.compile(r"gpt-(\d+)\.?(\d*)")


class Instruction(Strict):
    role: Literal["system"]
    content: Annotated[str, Field(pattern=r"\S")]


class User(Strict):
    role: Literal["user"]
    content: str


class CalledFunction(Strict):
    name: Name
    arguments: str


class Call(Strict):
    id: Annotated[str, Field(min_length=1, max_length=40)]
    type: Literal["function"]
    function: CalledFunction
    extra_content: JsonObject | None = None


class Assistant(Strict):
    role: Literal["assistant"]
    content: str | list[JsonObject] | None = None
    tool_calls: Annotated[list[Call], Field(min_length=1)] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[JsonObject] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has nothing that only some servers know."""
        odd = self.reasoning_content or self.reasoning or self.reasoning_details
        extra = any(call.extra_content for call in self.tool_calls or ())
        return not odd and not extra and not isinstance(self.content, list)


class Result(Strict):
    role: Literal["tool"]
    tool_call_id: str
    content: str


Message: TypeAlias = Annotated[
    Instruction | User | Assistant | Result, Field(discriminator="role")
]


class Function(Strict):
    name: Name
    description: str
    parameters: JsonObject
    strict: bool | None = None


class Tool(Strict):
    type: Literal["function"]
    function: Function


class NamedFunction(Strict):
    name: Name


class Choice(Strict):
    type: Literal["function"]
    function: NamedFunction


class Shape(Strict):
    name: Name
    schema_: Annotated[JsonObject, Field(alias="schema")]
    strict: bool | None = None


class ResponseFormat(Strict):
    type: Literal["json_schema"]
    json_schema: Shape


class StreamOptions(Strict):
    include_usage: bool


class Completions(Strict):
    """A streamed request of Chat Completions."""

    model: str
    stream: Literal[True]
    stream_options: StreamOptions | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    parallel_tool_calls: bool | None = None
    prompt_cache_key: Annotated[str, Field(max_length=64)] | None = None
    reasoning_effort: (
        Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None
    ) = None
    response_format: ResponseFormat | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Count | None = None
    seed: int | None = None
    stop: Annotated[list[str], Field(min_length=1, max_length=4)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    tool_choice: Literal["required", "none"] | Choice | None = None
    tools: Annotated[list[Tool], Field(min_length=1)] | None = None
    messages: Annotated[list[Message], Field(min_length=1)]


class ChatRules(OpenAIHeaders):
    """
    Every field is checked, and that each call has its one result, at once.

    *takes* are the fields that the server knows; `strict` among them stands for strict schemas,
    `reasoning` for messages with more than words and calls.
    """

    path = "/chat/completions"

    def __init__(self, takes: frozenset[str] = OPENAI) -> None:
        self.models: list[JsonValue] = []
        self._takes = takes
        self._counts = False

    def page(self, method: str, path: str, body: JsonObject) -> Page | None:
        """List the models."""
        if (method, path) != ("GET", "/v1/models"):
            return None
        return Page({"object": "list", "data": self.models})

    def problem(self, path: str, headers: Mapping[str, str], body: JsonObject) -> str | None:
        """Say why the server would refuse a request."""
        if unknown := sorted(body.keys() - self._takes):
            return f"Unrecognized request argument supplied: {unknown[0]}"
        try:
            asked = Completions.model_validate(body)
        except ValidationError as error:
            return str(error)
        self._counts = asked.stream_options is not None and asked.stream_options.include_usage
        return (
            _without_tools(asked)
            or (_reasoning(asked) if self._takes >= OPENAI else None)
            or (None if "reasoning" in self._takes else _odd(asked.messages))
            or _loose(asked, allowed="strict" in self._takes)
            or _unpaired(asked.messages)
        )

    def understand(self, body: JsonObject) -> Understood:
        """Say what a request asks for."""
        asked = Completions.model_validate(body)
        names = frozenset(tool.function.name for tool in asked.tools or ())
        if isinstance(asked.tool_choice, Choice):
            names = frozenset({asked.tool_choice.function.name})
        return Understood(
            tools=frozenset() if asked.tool_choice == "none" else names,
            must_call=asked.tool_choice not in (None, "none"),
            parallel_calls=asked.parallel_tool_calls is not False,
            max_output_tokens=asked.max_completion_tokens or asked.max_tokens,
            effort=asked.reasoning_effort,
            sampling={
                "stop_sequences" if name == "stop" else name: value
                for name, value in asked.model_dump(
                    mode="json", include=_SAMPLING, exclude_none=True
                ).items()
            },
        )

    def issued(self, response: JsonObject) -> None:
        """Remember nothing: the API keeps nothing, and takes the calls of any other."""

    def events(self, response: JsonObject) -> Iterable[Event]:
        """Cut a whole response into the chunks that stream it."""
        frame: JsonObject = {
            **response,
            "object": "chat.completion.chunk",
            "choices": [],
            "usage": None,
            "obfuscation": "aB3",
        }
        for choice in _objects(response.get("choices")):
            for piece in _pieces(choice):
                yield Event({**frame, "choices": [piece]})
        if self._counts:
            yield Event({**frame, "usage": response.get("usage")})
        yield _DONE


def _without_tools(asked: Completions) -> str | None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if getattr(asked, name) is not None and not asked.tools:
            return f"'{name}' is only allowed when 'tools' are specified."
    names = [tool.function.name for tool in asked.tools or ()]
    if isinstance(asked.tool_choice, Choice) and asked.tool_choice.function.name not in names:
        return f"Tool choice {asked.tool_choice.function.name} not found in 'tools' parameter."
    return None


def _reasoning(asked: Completions) -> str | None:
    """The newest models reason beside tools in the Responses API alone."""
    version = _GPT.match(asked.model)
    if version is None or not asked.tools or asked.reasoning_effort == "none":
        return None
    if (int(version[1]), int(version[2] or 0)) < (5, 4):
        return None
    return f"Function tools with reasoning_effort are not supported for {asked.model}"


def _odd(messages: Sequence[Message]) -> str | None:
    for place, message in enumerate(messages):
        if isinstance(message, Assistant) and not message.is_plain:
            return f"Unrecognized field in messages[{place}]"
    return None


def _loose(asked: Completions, *, allowed: bool) -> str | None:
    """Strict schemas are closed, and require all that they name."""
    schemas = [tool.function.parameters for tool in asked.tools or () if tool.function.strict]
    shape = asked.response_format.json_schema if asked.response_format else None
    if shape is not None and shape.strict:
        schemas.append(shape.schema_)
    if schemas and not allowed:
        return "Unrecognized field: strict"
    for schema in schemas:
        if schema.get("additionalProperties") is not False:
            return "Invalid schema: 'additionalProperties' is required to be supplied and false"
        match schema:
            case {"properties": dict(named), "required": list(required)}:
                if {*named} == {*map(str, required)}:
                    continue
            case _:
                pass
        return "Invalid schema: 'required' must include every key in properties"
    return None


def _unpaired(messages: Sequence[Message]) -> str | None:
    waiting: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, Result):
            if message.tool_call_id not in waiting:
                return f"messages[{place}]: role 'tool' must be a response to 'tool_calls'"
            waiting.remove(message.tool_call_id)
            continue
        if waiting:
            break
        if isinstance(message, Instruction) and place:
            return f"messages[{place}]: the system message comes first"
        if isinstance(message, Assistant):
            if not message.content and not message.tool_calls:
                return f"messages[{place}]: an assistant message needs 'content' or 'tool_calls'"
            waiting = [call.id for call in message.tool_calls or ()]
    if waiting:
        return f"The following tool_call_ids did not have response messages: {waiting}"
    return "the last message is the model's" if isinstance(messages[-1], Assistant) else None


def _pieces(choice: JsonObject) -> Iterator[JsonObject]:
    """Cut a choice; only the last piece says why it ends."""
    piece: JsonObject = {"index": choice["index"], "logprobs": None, "finish_reason": None}
    for delta in _deltas(choice.get("message")):
        yield {**piece, "delta": delta}
    yield {**piece, "delta": {}, "finish_reason": choice.get("finish_reason")}


def _deltas(message: JsonValue) -> Iterator[JsonObject]:
    """Cut a message: the role first, texts anywhere, arguments in the middle of a word."""
    assert isinstance(message, dict)
    yield {"role": "assistant", "content": None, "refusal": None}
    for name, value in message.items():
        if name in _TEXTS and isinstance(value, str):
            for text in _SPLIT.findall(value):
                yield {name: text}
        elif name not in ("role", "tool_calls") and value is not None:
            yield {name: value}
    for place, call in enumerate(_objects(message.get("tool_calls"))):
        function = call.get("function")
        assert isinstance(function, dict)
        first: JsonObject = {**call, "index": place, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [first]}
        for text in _SPLIT.findall(str(function["arguments"])):
            yield {"tool_calls": [{"index": place, "function": {"arguments": text}}]}


def _objects(value: JsonValue) -> list[JsonObject]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
