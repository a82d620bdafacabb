"""What history holds already, and how the next model call names it."""

from collections.abc import Mapping
from typing import cast

from temporalio import workflow

from holdfast.activities.transcripts import HOLD_TRANSCRIPT, HoldTranscript
from holdfast.contracts.base import Contract, digest
from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.contracts.model import ModelCall, ModelReply
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import (
    REFERENCE_DIGITS,
    AssistantTurn,
    NewItem,
    ReplyReference,
    ResultReference,
    ToolTurn,
    ToolTurnReference,
    TranscriptDigest,
    TranscriptItem,
)


class RecordedContent:
    """
    What activities of this execution have answered since a model replied.

    The transcript mostly takes it as it came; then it stands in history where it came from, and
    the next call names it by its digest. What the run made of it, or said itself, stands in the
    call: a denial, a failure, the words of a person, a result that was cut.
    """

    def __init__(self) -> None:
        self._turn: AssistantTurn | None = None
        self._results: dict[str, ToolSuccess] = {}

    def keep_reply(self, reply: ModelReply) -> None:
        """Keep what a model has said; what was answered before has been told."""
        self._turn = reply.build_turn(reply.calls)
        self._results = {}

    def keep_result(self, result: ToolResult) -> None:
        """Keep what an activity returned; a failure is what the run makes of one."""
        if isinstance(result, ToolSuccess):
            self._results[result.call_id] = result

    def shorten(self, call: ModelCall, state: RunState) -> ModelCall:
        """
        Name what history has, where the activity finds the transcript in this process.

        One that runs elsewhere asks the run for it. A replay leaves nothing there: it may be that
        of an execution that is over, while the next one is asking a model.
        """
        ours = cast("Mapping[str, HoldTranscript]", workflow.extern_functions())  # pyright: ignore[reportUnknownMemberType] -- of any functions
        if HOLD_TRANSCRIPT not in ours:
            return call
        if not workflow.unsafe.is_replaying():
            ours[HOLD_TRANSCRIPT](
                state.run_id,
                workflow.info().run_id,
                state.conversation.head,
                state.conversation.items,
            )
        new = state.conversation.items[state.conversation.sent.length :]
        named = tuple(map(self._refer, new))
        return call if named == new else call.with_(base=TranscriptDigest(), items=named)

    def _refer(self, item: TranscriptItem) -> NewItem:
        match item:
            case AssistantTurn() if item == self._turn:
                return ReplyReference(digest=_digest(item))
            case ToolTurn(results=results, filled=filled) if any(map(self._has, results)):
                return ToolTurnReference(
                    results=tuple(
                        ResultReference(call_id=one.call_id, digest=_digest(one))
                        if self._has(one)
                        else one
                        for one in results
                    ),
                    filled=filled,
                )
            case _:
                return item

    def _has(self, result: ToolResult) -> bool:
        return self._results.get(result.call_id) == result


def _digest(content: Contract) -> str:
    """Return what names a content; that it is this one the rolling digest of the call proves."""
    return digest(content.model_dump(mode="json"))[:REFERENCE_DIGITS]
