"""What guardrails look at once the work is over: what it came to, and its course. Pure."""

from typing import Literal

from pydantic import JsonValue

from holdfast.contracts.guardrails import Subject
from holdfast.contracts.state.phase import Closing, Ended, Stopping, Working
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from holdfast.run import turns
from holdfast.run.gates import GuardrailCheck


def select_run_checks(state: RunState) -> tuple[GuardrailCheck, ...]:
    """Say who looks, once, at work that is over; whom a person has stopped waits for nobody."""
    ended = state.phase
    if not isinstance(ended, Ended) or ended.grading or ended.by_person or state.is_idle:
        return ()
    specs = [one for one in state.agent.guardrails if one.layer == "after_run"]
    if not specs:
        return ()
    subject = _build_subject(state)
    return tuple(GuardrailCheck(spec, (subject,)) for spec in specs)


def set_grading(state: RunState, how_far: Literal["under_way", "done"]) -> RunState:
    """Say how far guardrails are that look at work that is over."""
    match state.phase:
        case Ended() as ended:
            return state.with_(phase=ended.with_grading(how_far))
        case Working() | Closing() | Stopping():
            raise AssertionError("a run that goes on is not graded")


def _build_subject(state: RunState) -> Subject:
    """Return the work on a goal; in a session that on its latest message."""
    ends = range(len(state.conversation.items), 0, -1)
    begin = next((end - 1 for end in ends if _is_message(state.conversation.items[end - 1])), 0)
    items = state.conversation.items[begin:]
    said = [item for item in items if isinstance(item, AssistantTurn)]
    return Subject(
        kind="run",
        text="\n\n".join(filter(None, (turn.words for turn in said))),
        data={
            "result": turns.build_result(state).model_dump(mode="json"),
            "transcript": [_dump(item) for item in items],
        },
        whole=len(said) >= state.ledger.turns,
    )


def _is_message(item: TranscriptItem) -> bool:
    return isinstance(item, UserTurn) and item.origin == "message"


def _dump(item: TranscriptItem) -> JsonValue:
    """Return an item without what only its provider can read."""
    return item.model_dump(mode="json", exclude={"parts"})
