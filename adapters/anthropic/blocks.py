"""The words that Anthropic Messages has for the pieces of a message."""

from holdfast.adapters import base
from holdfast.contracts.transcript import PartKind

HOSTED_CALLS = frozenset({"server_tool_use", "mcp_tool_use", "web_search_tool_use"})
HOSTED_RESULTS = frozenset(
    {
        "server_tool_result",
        "mcp_tool_result",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "advisor_tool_result",
    }
)
TOOL_BLOCK_TYPES = base.TOOL_BLOCK_TYPES | HOSTED_CALLS | HOSTED_RESULTS
TEXT_BLOCK_TYPES = base.TEXT_BLOCK_TYPES

_KINDS: dict[str, PartKind] = {
    "text": "text",
    "tool_use": "call",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
}
_OTHERS = frozenset({"container_upload", "compaction", "fallback", "mcp_tool_listing"})


def kind_of(block_type: str) -> PartKind:
    """Return what a block is to us; tools that are new here still bear names like the others."""
    if block_type in _KINDS:
        return _KINDS[block_type]
    if block_type.endswith("_tool_use"):
        return "hosted_call"
    return "hosted_result" if block_type.endswith("_tool_result") else "other"


def is_known(block_type: str) -> bool:
    """Whether this release knows what a block of a type means."""
    return block_type in _KINDS or block_type in TOOL_BLOCK_TYPES or block_type in _OTHERS
