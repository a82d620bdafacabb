"""Tools as OpenAI Responses wants them declared, and which of them a turn may or must call."""

from collections.abc import Mapping

from pydantic import JsonValue

from holdfast.adapters import strict_schema
from holdfast.adapters.base import resolve_tool_choice
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest, Prefix, ToolSchema
from holdfast.contracts.tools import HostedTool

HOSTED_TOOLS: Mapping[str, str] = {
    "web_search": "web_search",
    "file_search": "file_search",
    "code_execution": "code_interpreter",
    "image_generation": "image_generation",
}
_MORE_FIELDS: Mapping[str, JsonObject] = {
    "code_execution": {"container": {"type": "auto"}},
    # A picture stands in the reply, which history holds: a PNG would be too large for it.
    "image_generation": {"output_format": "jpeg", "output_compression": 50},
}


def declare(prefix: Prefix) -> list[JsonValue]:
    """Declare the tools, ours first, in the order of the prefix."""
    hosted = (_declare_hosted_tool(tool) for tool in prefix.hosted if tool.name in HOSTED_TOOLS)
    return [*map(_function, prefix.tools), *hosted]


def choice(request: ModelRequest) -> JsonValue:
    """Say what the first turn must call, or that none may be called; null leaves it free."""
    match resolve_tool_choice(request, HOSTED_TOOLS):
        case "auto":
            return None
        case "required" | "none" as wanted:
            return wanted
        case name if any(tool.name == name for tool in request.prefix.tools):
            return {"type": "function", "name": name}
        case name:
            return {"type": HOSTED_TOOLS[name]}


def has_hosted_tools(prefix: Prefix) -> bool:
    """Whether any tool runs at OpenAI, where only the request bounds how often."""
    return any(tool.name in HOSTED_TOOLS for tool in prefix.hosted)


def notes(prefix: Prefix) -> tuple[str, ...]:
    """Say which hosted tools are left out."""
    return tuple(
        f"openai has no hosted tool {tool.name!r}: it is left out"
        for tool in prefix.hosted
        if tool.name not in HOSTED_TOOLS
    )


def _declare_hosted_tool(tool: HostedTool) -> JsonObject:
    return {"type": HOSTED_TOOLS[tool.name], **_MORE_FIELDS.get(tool.name, {}), **tool.options}


def _function(tool: ToolSchema) -> JsonObject:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        # Strict takes a part of JSON Schema only; beyond it, it would change the tool's promise.
        "strict": strict_schema.conforms(tool.input_schema),
    }
