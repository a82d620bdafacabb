"""From what a function returned to what the model reads: structured, and never too large."""

from pydantic import JsonValue
from pydantic_core import from_json, to_json

from holdfast.contracts.bounds import (
    MAX_FAILURE_BYTES,
    MAX_JSON_DEPTH,
    MAX_JSON_VALUES,
    MAX_NEXT_ACTIONS,
    MAX_RESULT_BYTES,
    MAX_RESULT_SUMMARY_CHARS,
    MAX_TOOL_REASON_CHARS,
)
from holdfast.contracts.calls import ArtifactRef, ToolFailure, ToolInvocation, ToolSuccess
from holdfast.contracts.errors import ToolDenied, ToolError
from holdfast.contracts.texts import clip_bytes, clip_chars, cut_with_note
from holdfast.event_log import log
from holdfast.tools.artifacts import ArtifactStore
from holdfast.tools.views import MAX_PIECES


def success(
    invocation: ToolInvocation, name: str, content: bytes, limit: int, artifacts: ArtifactStore
) -> ToolSuccess:
    """Build the result of a call from its JSON; what exceeds *limit* characters is kept apart."""
    text = content.decode()
    if len(text) <= limit and len(content) <= MAX_RESULT_BYTES:
        return ToolSuccess(
            call_id=invocation.call_id,
            name=name,
            summary=clip_chars(text, MAX_RESULT_SUMMARY_CHARS),
            data=from_json(content),
        )
    shown = clip_bytes(text[:limit], MAX_RESULT_BYTES)
    excerpt: JsonValue = {
        "excerpt": shown,
        "truncated": True,
        "characters": len(text),
    }
    summary = f"the first {len(shown)} of {len(text)} characters; ask for less to see the rest"
    artifact, note = _keep(invocation, name, content, "whole", artifacts)
    return ToolSuccess(
        call_id=invocation.call_id,
        name=name,
        summary=summary + note,
        data=excerpt,
        artifact=artifact,
        cut=True,
    )


def success_in_two_parts(
    invocation: ToolInvocation, name: str, content: bytes, limit: int, artifacts: ArtifactStore
) -> ToolSuccess:
    """Build the result of a call whose short part a model reads; the full one is kept apart."""
    both: JsonValue = from_json(content)
    if not isinstance(both, dict) or not both.keys() >= {"short", "full"}:
        return unreadable(invocation, name)  # it was done, whatever has become of its words
    result = success(invocation, name, to_json(both["short"]), limit, artifacts)
    artifact, note = _keep(invocation, name, to_json(both["full"]), "full part", artifacts)
    return result.with_(artifact=artifact or result.artifact, summary=result.summary + note)


def _keep(
    invocation: ToolInvocation, name: str, content: bytes, part: str, artifacts: ArtifactStore
) -> tuple[ArtifactRef | None, str]:
    """Keep a part of a result; or say, behind its summary, that it can't be."""
    try:
        return artifacts.keep(invocation, content), ""
    except OSError as error:
        # The call has done what it did: that its result can't be kept must not hide it.
        why = error.strerror or type(error).__name__
        log.warning("artifact.not_kept", tool=name, reason=why)
        return None, f"; the {part} could not be kept ({why})"


def unreadable(invocation: ToolInvocation, name: str) -> ToolSuccess:
    """Build the result of a call that was done, and whose answer nobody could read again."""
    return ToolSuccess(
        call_id=invocation.call_id,
        name=name,
        summary="done; what it returned is left out: it is nested more than "
        f"{MAX_JSON_DEPTH} deep, has more than {MAX_JSON_VALUES:,} values or 16 MB, "
        f"{MAX_PIECES:,} escapes, or a number that can't be read; ask for less",
        cut=True,
    )


def success_without_content(invocation: ToolInvocation, name: str) -> ToolSuccess:
    """Build the result of a call that was done, and whose answer had no time to be looked at."""
    return ToolSuccess(
        call_id=invocation.call_id,
        name=name,
        summary="done; what it returned is left out: its worker was too busy to clear it of "
        "secrets; ask for less",
        cut=True,
    )


def failure(invocation: ToolInvocation, name: str, error: ToolError) -> ToolFailure:
    """Build the result of a call that the tool itself refused, or that its worker didn't run."""
    return ToolFailure(
        status="denied" if isinstance(error, ToolDenied) else "error",
        call_id=invocation.call_id,
        name=name,
        type=error.type,
        reason=cut_with_note(error.reason[:MAX_TOOL_REASON_CHARS], MAX_FAILURE_BYTES // 2),
        next_valid_actions=tuple(
            cut_with_note(action, MAX_FAILURE_BYTES // 2 // MAX_NEXT_ACTIONS)
            for action in error.next_valid_actions[:MAX_NEXT_ACTIONS]
        ),
    )


def unknown_outcome(invocation: ToolInvocation, name: str) -> ToolFailure:
    """Build the result of a call that another worker tried as a read, and that is a write here."""
    return ToolFailure(
        status="outcome_unknown",
        call_id=invocation.call_id,
        name=name,
        type="conflict",
        reason="tried by a worker for which it only read, and here it changes something: workers "
        "of two releases disagree; it may have happened",
        next_valid_actions=("find out whether it happened before you ask for it again",),
    )
