"""From a request of OpenAI Responses to our items."""

import json
from collections.abc import Iterator
from itertools import groupby

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, TranscriptItem, UserTurn
from tests.adapters.recordings import expected, results
from tests.adapters.recordings.fields import Fields, Unread, choice
from tests.adapters.recordings.turns import Kept, Saying, asking, leading, says_anything
from tests.adapters.recordings.values import Body, Value, entries, is_object

PROVIDER = "openai"
NO_ARGUMENTS: Body = {"type": "object", "properties": {}}
RESULTS = {"function_call_output", "custom_tool_call_output", "mcp_approval_response"}
HOSTED = {"web_search": "web_search", "code_interpreter": "code_execution"}

_BEFORE = (UserTurn(text="A goal."), AssistantTurn(model=f"{PROVIDER}:before", text="A reply."))
"""Stands for what the provider keeps of a conversation: a request names it by its id."""


def arranged(request: Body) -> Body:
    """Set the words of the system apart which come before the conversation."""
    said = request["input"]
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    system, rest = leading([_by_role(item) for item in items])
    return request | {"system": system, "input": rest}


def _by_role(item: Body) -> Body:
    """Leave the role of a message to say what it is."""
    if item.get("type") != "message":
        return item
    return {name: value for name, value in item.items() if name != "type"}


def read(request: Body) -> ModelRequest:
    """Take a request in. Raises Unread for what our items have no place for."""
    fields = Fields(request)
    model: str = fields.take("model")
    kept = _kept(fields)
    instructions = [text for item in fields.take("system") for text in _message(item)]
    before = _BEFORE if kept.known else ()
    asked = asking(
        model,
        prefix=Prefix(
            instructions="\n\n".join(
                filter(None, [fields.take("instructions"), *instructions])
            ).strip(),
            tools=tuple(_tools(request)),
            hosted=tuple(_hosted(request)),
            output_schema=_output_schema(fields.take("text", {})),
            settings=_settings(fields, with_tools=bool(fields.take("tools"))),
        ),
        transcript=(*before, *_transcript(f"{PROVIDER}:{model}", fields.take("input"))),
        kept=kept,
    )
    fields.close("request")
    return asked


def _kept(fields: Fields) -> Kept:
    """What the provider keeps of the conversation, by its id."""
    chain: str | None = fields.take("previous_response_id")
    conversation: Value = fields.take("conversation")
    if is_object(conversation):
        conversation = conversation["id"]
    if conversation:
        return Kept("conversation", {"conversation_id": conversation, "_pruned_before": 0})
    if chain:
        state: Body = {"previous_response_id": chain, "_pruned_before": 0}
        return Kept("previous_response_id", state)
    return Kept()


def _settings(fields: Fields, *, with_tools: bool) -> ModelSettings:
    reasoning = Fields(fields.take("reasoning", {}))
    settings = ModelSettings(
        reasoning=reasoning.take("effort"),
        max_output_tokens=fields.take("max_output_tokens"),
        temperature=fields.take("temperature"),
        **choice(fields, _named, with_tools=with_tools),
    )
    reasoning.close("reasoning")
    return settings


def _named(choice: Body) -> str:
    fields = Fields(choice)
    kind: str = fields.take("type")
    name: str = fields.take("name") if kind == "function" else HOSTED[kind]
    fields.close("tool_choice")
    return name


def _output_schema(text: Body) -> Body | None:
    fields = Fields(text)
    shape = Fields(fields.take("format", {"type": "text"}))
    kind = shape.take("type")
    schema = shape.take("schema")
    if kind != "text" and schema is None:
        raise Unread(kind)
    shape.close("format")
    fields.close("text")
    return schema


def _tools(request: Body) -> Iterator[ToolSchema]:
    for tool in request.get("tools", []):
        fields = Fields(tool)
        if fields.take("type") == "function":
            yield ToolSchema(
                name=fields.take("name"),
                description=fields.take("description", ""),
                input_schema=fields.take("parameters", NO_ARGUMENTS),
            )
            fields.close("tool")


def _hosted(request: Body) -> Iterator[HostedTool]:
    for tool in request.get("tools", []):
        fields = Fields(tool)
        kind: str = fields.take("type")
        if kind != "function":
            yield HostedTool(name=HOSTED.get(kind, kind), options=fields.rest())


def _transcript(model: str, items: list[Body]) -> Iterator[TranscriptItem]:
    for side, group in groupby(items, key=_side):
        match side:
            case "user":
                for item in group:
                    yield from (UserTurn(text=text) for text in _message(item))
            case "tool":
                yield ToolTurn(results=tuple(map(_result, group)))
            case "assistant":
                turn = assistant(model, list(group))
                yield from [turn] if says_anything(turn) else []
            case _:
                raise Unread(side)


def _side(item: Body) -> str:
    """Who an item comes from: what is neither a message nor a result is the model's."""
    if item.get("type") in RESULTS:
        return "tool"
    return item.get("role", "assistant")


def _message(item: Body) -> list[str]:
    fields = Fields(item)
    fields.take("role")
    content = fields.take("content")
    fields.close("message")
    if isinstance(content, str):
        return [content]
    return [_text(part, "input_text") for part in content]


def _text(part: Body, kind: str) -> str:
    fields = Fields(part)
    fields.need("type", kind)
    text: str = fields.take("text")
    fields.close(kind)
    return text


def _result(item: Body) -> ToolResult:
    fields = Fields(item)
    if fields.take("type") == "mcp_approval_response":
        asked = fields.take("approval_request_id")
        said = {"approve": fields.take("approve"), "reason": fields.take("reason", "")}
        result = results.approved(asked, **said)
    else:
        output = fields.take("output")
        if not isinstance(output, str):
            output = "".join(_text(part, "input_text") for part in output)
        caller = json.dumps(fields.take("caller"))
        result = results.taken(fields.take("call_id"), output, of=caller)
    fields.close("result")
    return result


def assistant(model: str, items: list[Body]) -> AssistantTurn:
    saying = Saying(model)
    for item in map(_by_role, items):
        match item.get("type", "message"):
            case "message":
                _say(saying, item)
            case "function_call" | "custom_tool_call" | "mcp_approval_request":
                _ask(saying, item)
            case "reasoning":
                said = entries(item.get("summary")) + entries(item.get("content"))
                text = "\n\n".join(piece["text"] for piece in said)
                saying.add(Part(kind="reasoning", text=text, native=item))
            case kind if kind.endswith("_call"):
                saying.add(Part(kind="hosted_call", name=item.get("name", kind), native=item))
            case kind:
                saying.add(Part(kind="other", name=kind, native=item))
    return saying.turn


def _ask(saying: Saying, item: Body) -> None:
    """Read a call. Of the rarer kinds the whole item goes back."""
    fields = Fields(item)
    match fields.take("type"):
        case "custom_tool_call":
            whole = {"input": "", **item}
            saying.call(item["call_id"], item["name"], {"input": whole["input"]}, whole)
        case "mcp_approval_request":
            name = f"mcp.{item['server_label']}.{item['name']}"
            saying.call(item["id"], name, expected.arguments(item["arguments"]), item)
        case _:
            call_id, name = fields.take("call_id"), fields.take("name")
            arguments = expected.arguments(fields.take("arguments"))
            fields.drop("status", "completed")
            saying.call(call_id, name, arguments, fields.rest())


def _say(saying: Saying, item: Body) -> None:
    """Read a message; pieces other than one text stay as they are, if it can go back by its id."""
    fields = Fields(item)
    fields.take("role")
    fields.drop("status", "completed")
    match fields.take("content"):
        case str(text):
            extras: Body = {}
        case [{"type": "output_text", "text": text, **rest}] if not rest.get("logprobs"):
            extras = {"annotations": rest["annotations"]} if rest.get("annotations") else {}
        case pieces:
            text = "".join(piece.get("text") or piece.get("refusal") or "" for piece in pieces)
            extras = {"content": pieces} if "id" in item else {}
    saying.text(text, fields.rest() | extras)
