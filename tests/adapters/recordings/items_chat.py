"""From a request of Chat Completions to our items."""

from collections.abc import Iterator
from itertools import groupby

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix, ToolSchema
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, TranscriptItem, UserTurn
from tests.adapters.recordings import expected, results
from tests.adapters.recordings.fields import Fields, Unread, choice, texts_of
from tests.adapters.recordings.speakers import SERVER
from tests.adapters.recordings.turns import Saying, asking, leading, says_anything
from tests.adapters.recordings.values import Body, entries

PROVIDER = "openai-chat"
NO_ARGUMENTS: Body = {"type": "object", "properties": {}}
THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details")


def arranged(request: Body) -> Body:
    """Set the instructions apart, which come before the conversation; name each tool's kind."""
    instructions, messages = leading(request["messages"])
    tools = [{"type": "function", **tool} for tool in entries(request.get("tools"))]
    return request | {"instructions": instructions, "messages": messages, "tools": tools}


def read(request: Body) -> ModelRequest:
    """Take a request in. Raises Unread for what our items have no place for."""
    fields = Fields(request)
    model = f"{SERVER}/{fields.take('model')}"
    tools = tuple(map(_tool, fields.take("tools", [])))
    asked = asking(
        model,
        prefix=Prefix(
            instructions="\n\n".join(
                text for m in fields.take("instructions") for text in _message(m)
            ).strip(),
            tools=tools,
            output_schema=_output_schema(fields.take("response_format", {"type": "text"})),
            settings=_settings(fields, with_tools=bool(tools)),
        ),
        transcript=tuple(_transcript(f"{PROVIDER}:{model}", fields.take("messages"))),
    )
    fields.close("request")
    return asked


def _settings(fields: Fields, *, with_tools: bool) -> ModelSettings:
    older: int | None = fields.take("max_tokens")
    return ModelSettings(
        reasoning=fields.take("reasoning_effort"),
        max_output_tokens=fields.take("max_completion_tokens", older),
        temperature=fields.take("temperature"),
        top_p=fields.take("top_p"),
        stop_sequences=_stops(fields.take("stop", [])),
        **choice(fields, _named, with_tools=with_tools),
    )


def _stops(stop: str | list[str]) -> tuple[str, ...]:
    return (stop,) if isinstance(stop, str) else tuple(stop)


def _named(choice: Body) -> str:
    fields = Fields(choice)
    fields.need("type", "function")
    name: str = fields.take("function")["name"]
    fields.close("tool_choice")
    return name


def _output_schema(shape: Body) -> Body | None:
    fields = Fields(shape)
    kind = fields.take("type")
    declared = Fields(fields.take("json_schema", {}))
    schema: Body | None = declared.take("schema")
    declared.close("json_schema")
    fields.close("response_format")
    if kind != "text" and schema is None:
        raise Unread(kind)
    return schema


def _tool(tool: Body) -> ToolSchema:
    fields = Fields(tool)
    fields.need("type", "function")
    function = Fields(fields.take("function"))
    schema = ToolSchema(
        name=function.take("name"),
        description=function.take("description", ""),
        input_schema=function.take("parameters", NO_ARGUMENTS),
    )
    function.close("function")
    fields.close("tool")
    return schema


def _transcript(model: str, messages: list[Body]) -> Iterator[TranscriptItem]:
    for role, group in groupby(messages, key=lambda message: message["role"]):
        match role:
            case "user":
                for message in group:
                    yield from (UserTurn(text=text) for text in _message(message))
            case "tool":
                yield ToolTurn(results=tuple(map(_result, group)))
            case "assistant":
                turns = (assistant(model, message) for message in group)
                yield from (turn for turn in turns if says_anything(turn))
            case _:
                raise Unread(role)


def _message(message: Body) -> list[str]:
    fields = Fields(message)
    fields.take("role")
    texts = list(texts_of(fields.take("content")))
    fields.close("message")
    return texts


def _result(message: Body) -> ToolResult:
    fields = Fields(message)
    fields.take("role")
    text = "".join(texts_of(fields.take("content", "")))
    result = results.taken(fields.take("tool_call_id"), text)
    fields.close("tool message")
    return result


def assistant(model: str, message: Body) -> AssistantTurn:
    saying = Saying(model)
    fields = Fields(message)
    fields.take("role")
    for name in THOUGHTS:
        if thought := fields.take(name):
            text = thought if isinstance(thought, str) else ""
            saying.add(Part(kind="reasoning", text=text, native={name: thought}))
    _say(saying, fields.take("content", ""))
    for call in fields.take("tool_calls", []):
        _call(saying, call)
    fields.close("assistant message")
    return saying.turn


def _say(saying: Saying, content: str | list[Body]) -> None:
    """Content is text, or blocks: neighbours of text are one text, thoughts stand in between."""
    if isinstance(content, str):
        saying.text(content, {})
        return
    for kind, group in groupby(content, key=lambda block: block["type"]):
        if kind == "text":
            saying.text("".join(texts_of(list(group))), {})
        elif kind == "thinking":
            for block in group:
                text = "".join(piece["text"] for piece in block["thinking"])
                saying.add(Part(kind="reasoning", text=text, native=block))
        else:
            raise Unread(kind)


def _call(saying: Saying, call: Body) -> None:
    fields = Fields(call)
    fields.need("type", "function")
    fields.take("index")
    function = Fields(fields.take("function"))
    arguments = function.take("arguments")
    saying.call(
        fields.take("id"),
        function.take("name"),
        expected.arguments(arguments) if isinstance(arguments, str) else arguments,
        fields.rest(),
    )
    function.close("function")
