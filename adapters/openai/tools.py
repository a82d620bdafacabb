"""Tools as OpenAI Responses wants them declared, and which of them a turn may or must call."""

from collections.abc import Mapping

from pydantic import JsonValue

from holdfast.adapters import strict_schema
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest, Prefix, ToolSchema

_HOSTED: Mapping[str, JsonObject] = {
    "web_search": {"type": "web_search"},
    "file_search": {"type": "file_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
}


def declare(prefix: Prefix) -> list[JsonValue]:
    """Declare the tools, ours first, in the order of the prefix."""
    hosted = (_HOSTED[tool.name] | tool.options for tool in prefix.hosted if tool.name in _HOSTED)
    return [*map(_function, prefix.tools), *hosted]


def choice(request: ModelRequest) -> JsonValue:
    """Say what the first turn must call, or that none may be called; null leaves it free."""
    if request.forbids_tool_calls:
        return "none"
    wanted = request.prefix.settings.tool_choice
    if request.turn != 1 or wanted == "auto":
        return None
    if wanted in ("required", "none"):
        return wanted
    if any(tool.name == wanted for tool in request.prefix.tools):
        return {"type": "function", "name": wanted}
    hosted = _HOSTED.get(wanted)
    return None if hosted is None else {"type": hosted["type"]}


def has_hosted_tools(prefix: Prefix) -> bool:
    """Whether any tool runs at OpenAI, where only the request bounds how often."""
    return any(tool.name in _HOSTED for tool in prefix.hosted)


def notes(prefix: Prefix) -> tuple[str, ...]:
    """Say which hosted tools are left out."""
    return tuple(
        f"openai has no hosted tool {tool.name!r}: it is left out"
        for tool in prefix.hosted
        if tool.name not in _HOSTED
    )


def _function(tool: ToolSchema) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        # Strict takes a part of JSON Schema only; beyond it, it would change the tool's promise.
        "strict": strict_schema.conforms(tool.input_schema),
    }
