"""What a run tells those who watch it (docs/events.md)."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from holdfast.client.event_data import AnswerReleased, TurnStarted
from holdfast.client.events import DATA_TYPES, EventType, RunEvent

VOCABULARY = (
    "run.started turn.started text.delta text.reset turn.completed decision tool.started "
    "tool.progress tool.completed guardrail request.opened request.closed handoff "
    "subagent.started subagent.completed plan checkpoint rollback usage note answer "
    "run.suspended run.resumed run.completed session.message session.outcome"
)

ANSWER = {
    "id": "0a1b2c3d4e5f.9.0",
    "type": "answer",
    "run_id": "00000000-0000-4000-8000-0a1b2c3d4e5f",
    "at": "2026-11-26T08:00:00Z",
    "agent": "support",
    "path": ["support"],
    "data": {"text": "It cost 20.", "output": None, "confidence": 1.0, "model": "scripted:a"},
}


def test_the_vocabulary_is_closed() -> None:
    """Every type has its data, and no other type exists."""
    assert [*EventType] == VOCABULARY.split()
    assert set(DATA_TYPES) == set(EventType)
    assert {kind for kind in EventType if kind.is_live} == {
        "text.delta",
        "text.reset",
        "tool.progress",
    }


def test_an_event_is_json_there_and_back() -> None:
    """Its type says what its data are, for whoever reads it too."""
    event = RunEvent.model_validate(ANSWER)

    assert event.type == "answer"
    assert event.at == datetime(2026, 11, 26, 8, tzinfo=UTC)
    match event.data:
        case AnswerReleased(text=text):
            assert text == "It cost 20."
        case other:
            pytest.fail(f"an answer has {other!r}")
    assert event.model_dump(mode="json") == ANSWER


def test_data_of_another_type_are_refused() -> None:
    """Nothing is an event whose data aren't those of its type."""
    with pytest.raises(ValidationError):
        RunEvent.model_validate(
            ANSWER | {"data": TurnStarted(turn=1, purpose="turn", model="scripted:a")}
        )
