"""From what a function returned to what the model reads: structured, and never too large."""

from typing import NamedTuple

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
from holdfast.contracts.calls import (
    NEXT_VALID_ACTIONS,
    ArtifactRef,
    ToolFailure,
    ToolInvocation,
    ToolSuccess,
)
from holdfast.contracts.errors import ToolDenied, ToolError
from holdfast.contracts.texts import clip_chars, cut_with_note
from holdfast.contracts.tools import ToolContract
from holdfast.event_log import log
from holdfast.tools.artifacts import ArtifactStore, Part
from holdfast.tools.values.cursors import Cursor
from holdfast.tools.values.excerpts import Excerpt, cut_excerpt
from holdfast.tools.views import MAX_PIECES


class Results(NamedTuple):
    """Builds the results of one call."""

    invocation: ToolInvocation
    contract: ToolContract
    artifacts: ArtifactStore

    def fits(self, content: bytes) -> bool:
        """Whether a model reads all of what was returned, so that nothing of it is kept."""
        if len(content) > MAX_RESULT_BYTES:
            return False
        return cut_excerpt(self.contract, from_json(content), content.decode()) is None

    def build(self, content: bytes) -> ToolSuccess:
        """Build it from the JSON of what was returned; what a model doesn't read is kept apart."""
        text, data = content.decode(), from_json(content)
        excerpt = cut_excerpt(self.contract, data, text)
        if excerpt is None:
            return ToolSuccess(
                call_id=self.invocation.call_id,
                name=self.contract.name,
                summary=clip_chars(text, MAX_RESULT_SUMMARY_CHARS),
                data=data,
            )
        artifact, note = self._keep(content, "whole")
        cursor = Cursor.to(artifact, excerpt.rest) if artifact and self._is_read_on() else None
        further = (
            "read_result with its cursor reads on" if cursor else "ask for less to see the rest"
        )
        return ToolSuccess(
            call_id=self.invocation.call_id,
            name=self.contract.name,
            summary=f"{excerpt.part}; {further}{note}",
            data=_tell(excerpt, len(text), cursor),
            artifact=artifact,
            cut=True,
        )

    def _is_read_on(self) -> bool:
        # Who reads what is loaded for a handoff isn't the agent of this call.
        handed = self.invocation.purpose == "prepare"
        return handed or self.artifacts.is_read_by(self.invocation.agent)

    def build_two_parts(self, content: bytes) -> ToolSuccess:
        """Build it of two parts: a model reads the short one, and the full one is kept apart."""
        both: JsonValue = from_json(content)
        if not isinstance(both, dict) or not both.keys() >= {"short", "full"}:
            # It was done, whatever has become of its words.
            return unreadable(self.invocation, self.contract.name)
        result = self.build(to_json(both["short"]))
        artifact, note = self._keep(to_json(both["full"]), "full part")
        return result.with_(artifact=artifact or result.artifact, summary=result.summary + note)

    def build_finding(self, content: bytes) -> ToolSuccess:
        """Build it of what was found out about a call: of that its answer alone is cut."""
        found: JsonValue = from_json(content)
        if not isinstance(found, dict) or "happened" not in found:
            return self.build(content)
        answer = self.build(to_json(found.get("result")))
        return answer.with_(data={"happened": found["happened"], "result": answer.data})

    def _keep(self, content: bytes, part: Part) -> tuple[ArtifactRef | None, str]:
        """Keep a part of a result; or say, behind its summary, that it can't be."""
        try:
            return self.artifacts.keep(self.invocation, content, part), ""
        except OSError as error:
            # The call has done what it did: that its result can't be kept must not hide it.
            why = error.strerror or type(error).__name__
            log.warning("artifact.not_kept", tool=self.contract.name, reason=why)
            return None, f"; the {part} could not be kept ({why})"


def _tell(excerpt: Excerpt, characters: int, cursor: Cursor | None) -> JsonValue:
    return {
        "excerpt": excerpt.shown,
        "truncated": True,
        "characters": characters,
        **({} if excerpt.items is None else {"items": excerpt.items}),
        **({} if cursor is None else {"cursor": str(cursor)}),
    }


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
    """Build the result of a call that was done, and whose answer had no room, or no time."""
    return ToolSuccess(
        call_id=invocation.call_id,
        name=name,
        summary="done; what it returned is left out: its worker was too busy to clear it of "
        "secrets, or had no room for it; ask for less",
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
            for action in (error.next_valid_actions or NEXT_VALID_ACTIONS[error.type])[
                :MAX_NEXT_ACTIONS
            ]
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
