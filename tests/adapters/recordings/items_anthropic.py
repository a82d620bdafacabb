"""From a request of Anthropic Messages to our items."""

from collections.abc import Iterator
from itertools import groupby

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, TranscriptItem, UserTurn
from tests.adapters.recordings import results
from tests.adapters.recordings.fields import Fields, Unread, texts_of
from tests.adapters.recordings.turns import Kept, Saying, asking, says_anything
from tests.adapters.recordings.values import Body, entries

PROVIDER = "anthropic"


def arranged(request: Body) -> Body:
    """Name the kind of every tool, and set apart a reply that was begun for the model."""
    tools = [{"type": "custom", **tool} for tool in entries(request.get("tools"))]
    messages: list[Body] = request["messages"]
    spoken = [message for message in messages if message["role"] != "system"]
    begun = spoken[-1:] if spoken and _is_begun(spoken[-1]) else []
    kept = [message for message in messages if message not in begun]
    return request | {"tools": tools, "messages": kept} | ({"begun": begun} if begun else {})


def read(request: Body) -> ModelRequest:
    """Take a request in. Raises Unread for what our items have no place for."""
    fields = Fields(request)
    model: str = fields.take("model")
    container: str | None = fields.take("container")
    asked = asking(
        model,
        prefix=Prefix(
            instructions="\n\n".join(texts_of(fields.take("system", []))).strip(),
            tools=tuple(_tools(request)),
            hosted=tuple(_hosted(request)),
            output_schema=_output_schema(request),
            settings=_settings(fields, with_tools=bool(fields.take("tools"))),
        ),
        transcript=tuple(_transcript(f"{PROVIDER}:{model}", fields.take("messages"))),
        kept=Kept(state={"container_id": container} if container else {}),
    )
    fields.close("request")
    return asked


def _is_begun(message: Body) -> bool:
    return message["role"] == "assistant" and {b["type"] for b in _blocks(message)} <= {"text"}


def _settings(fields: Fields, *, with_tools: bool) -> ModelSettings:
    thinking = Fields(fields.take("thinking", {}))
    wanted = Fields(fields.take("output_config", {}))
    wanted.take("format")
    kind = thinking.take("type")
    effort = wanted.take("effort") or ("high" if kind == "adaptive" else None)
    settings = ModelSettings(
        reasoning="none" if kind == "disabled" else effort,
        reasoning_tokens=thinking.take("budget_tokens"),
        max_output_tokens=fields.take("max_tokens"),
        **_choice(fields.take("tool_choice", {"type": "auto"}), with_tools=with_tools),
    )
    thinking.close("thinking")
    wanted.close("output_config")
    return settings


def _choice(choice: Body, *, with_tools: bool) -> Body:
    """Read which tools may be called, which is something to say only where there are any."""
    fields = Fields(choice)
    kind = fields.take("type")
    wanted = fields.take("name") if kind == "tool" else "required" if kind == "any" else kind
    alone = fields.take("disable_parallel_tool_use", default=False)
    fields.close("tool_choice")
    return {"tool_choice": wanted, "parallel_calls": not alone} if with_tools else {}


def _output_schema(request: Body) -> Body | None:
    shape = Fields(request.get("output_config", {}).get("format") or {"type": "json_schema"})
    shape.need("type", "json_schema")
    schema: Body | None = shape.take("schema")
    shape.close("format")
    return schema


def _tools(request: Body) -> Iterator[ToolSchema]:
    for tool in request.get("tools", []):
        fields = Fields(tool)
        if fields.take("type") == "custom":
            yield ToolSchema(
                name=fields.take("name"),
                description=fields.take("description", ""),
                input_schema=fields.take("input_schema"),
            )
            fields.close("tool")


def _hosted(request: Body) -> Iterator[HostedTool]:
    for tool in request.get("tools", []):
        if tool["type"] != "custom":
            fields = Fields(tool)
            yield HostedTool(name=fields.take("name"), options=fields.rest())


def _transcript(model: str, messages: list[Body]) -> Iterator[TranscriptItem]:
    for role, group in groupby(messages, key=lambda message: message["role"]):
        blocks = [block for message in group for block in _blocks(message)]
        if role == "assistant":
            turn = assistant(model, blocks)
            yield from [turn] if says_anything(turn) else []
        elif role == "user":
            yield from _user(blocks)
        else:
            raise Unread(role)


def _blocks(message: Body) -> list[Body]:
    fields = Fields(message)
    fields.take("role")
    content = fields.take("content")
    fields.close("message")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _user(blocks: list[Body]) -> Iterator[TranscriptItem]:
    for kind, group in groupby(blocks, key=lambda block: block["type"]):
        match kind:
            case "text":
                yield from (UserTurn(text=text) for text in texts_of(list(group)) if text.strip())
            case "tool_result":
                yield ToolTurn(results=tuple(map(_result, group)))
            case _:
                raise Unread(kind)


def _result(block: Body) -> ToolResult:
    fields = Fields(block)
    fields.take("type")
    content = fields.take("content", "")
    result = results.taken(
        fields.take("tool_use_id"),
        content if isinstance(content, str) else "".join(texts_of(content)),
        failed=fields.take("is_error", default=False),
        of=fields.take("toolset_name", ""),
    )
    fields.close("tool_result")
    return result


def assistant(model: str, blocks: list[Body]) -> AssistantTurn:
    saying = Saying(model)
    for block in _joined(blocks):
        fields = Fields(block)
        match fields.take("type"):
            case "text":
                saying.text(fields.take("text"), fields.rest())
            case "tool_use":
                call = (fields.take("id"), fields.take("name"), fields.take("input"))
                saying.call(*call, fields.rest())
            case "thinking" | "redacted_thinking":
                text = block.get("thinking", "")
                saying.add(Part(kind="reasoning", text=text, native=block))
            case "server_tool_use" | "mcp_tool_use":
                saying.add(Part(kind="hosted_call", name=block["name"], native=block))
            case kind if kind.endswith("_tool_result"):
                saying.add(Part(kind="hosted_result", name=kind, native=block))
            case kind:
                saying.add(Part(kind="other", name=kind, native=block))
    return saying.turn


def _joined(blocks: list[Body]) -> Iterator[Body]:
    """Neighbours of nothing but text are one; the API takes no text back that is all blank."""
    for plain, group in groupby(blocks, key=lambda block: block.keys() == {"type", "text"}):
        if not plain:
            yield from group
        elif text := "".join(block["text"] for block in group).strip():
            yield {"type": "text", "text": text}
