"""From what a function returned to what the model reads: structured, and never too large."""

from pydantic import JsonValue
from pydantic_core import from_json

from contracts.errors import ToolDenied, ToolError
from contracts.tools import LONGEST_REASON, ToolFailure, ToolInvocation, ToolSuccess
from tools.artifacts import ArtifactStore

SUMMARY_CHARS = 60
MOST_ACTIONS = 10


def success(
    invocation: ToolInvocation, name: str, content: bytes, limit: int, artifacts: ArtifactStore
) -> ToolSuccess:
    """Build the result of a call from its JSON; what exceeds *limit* characters is kept apart."""
    text = content.decode()
    if len(text) <= limit:
        return ToolSuccess(
            call_id=invocation.call_id,
            name=name,
            summary=_summary(text),
            data=from_json(content),
        )
    excerpt: JsonValue = {
        "excerpt": text[:limit],
        "truncated": True,
        "characters": len(text),
    }
    return ToolSuccess(
        call_id=invocation.call_id,
        name=name,
        summary=f"the first {limit} of {len(text)} characters; ask for less to see the rest",
        data=excerpt,
        artifact=artifacts.keep(invocation, content),
    )


def failure(invocation: ToolInvocation, name: str, error: ToolError) -> ToolFailure:
    """Build the result of a call that the tool itself refused, or that its worker didn't run."""
    return ToolFailure(
        status="denied" if isinstance(error, ToolDenied) else "error",
        call_id=invocation.call_id,
        name=name,
        type=error.type,
        reason=error.reason[:LONGEST_REASON],
        next_valid_actions=tuple(
            action[:LONGEST_REASON] for action in error.next_valid_actions[:MOST_ACTIONS]
        ),
    )


def _summary(text: str) -> str:
    return text if len(text) <= SUMMARY_CHARS else f"{text[: SUMMARY_CHARS - 1]}…"
