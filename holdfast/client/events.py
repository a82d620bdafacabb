"""What those who watch a run are told: a closed vocabulary of events."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum, unique
from typing import Self

from pydantic import ValidationInfo, field_validator

from holdfast.client.event_data import (
    AnswerReleased,
    CheckpointTaken,
    DecisionMade,
    EventData,
    GuardrailDone,
    HandoffMade,
    HoldChanged,
    Noted,
    PlanMade,
    RequestDone,
    RequestWaits,
    RolledBack,
    RunCompleted,
    RunStarted,
    SessionMessage,
    SessionOutcome,
    SubagentCompleted,
    SubagentStarted,
    TextDelta,
    TextReset,
    ToolCompleted,
    ToolProgress,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
    UsageCounted,
)
from holdfast.contracts.base import Contract


@unique
class EventType(StrEnum):
    """Every type of event. `*.started` means scheduled: what nobody takes up is started, too."""

    RUN_STARTED = "run.started"
    TURN_STARTED = "turn.started"
    TEXT_DELTA = "text.delta"
    TEXT_RESET = "text.reset"
    TURN_COMPLETED = "turn.completed"
    DECISION = "decision"
    TOOL_STARTED = "tool.started"
    TOOL_PROGRESS = "tool.progress"
    TOOL_COMPLETED = "tool.completed"
    GUARDRAIL = "guardrail"
    REQUEST_OPENED = "request.opened"
    REQUEST_CLOSED = "request.closed"
    HANDOFF = "handoff"
    SUBAGENT_STARTED = "subagent.started"
    SUBAGENT_COMPLETED = "subagent.completed"
    PLAN = "plan"
    CHECKPOINT = "checkpoint"
    ROLLBACK = "rollback"
    USAGE = "usage"
    NOTE = "note"
    ANSWER = "answer"
    RUN_SUSPENDED = "run.suspended"
    RUN_RESUMED = "run.resumed"
    RUN_COMPLETED = "run.completed"
    SESSION_MESSAGE = "session.message"
    SESSION_OUTCOME = "session.outcome"

    @property
    def is_live(self) -> bool:
        """Whether it passes: no history keeps it, and who wasn't there has not seen it."""
        return self in _LIVE


_LIVE = {EventType.TEXT_DELTA, EventType.TEXT_RESET, EventType.TOOL_PROGRESS}


DATA_TYPES: Mapping[EventType, type[EventData]] = {
    EventType.RUN_STARTED: RunStarted,
    EventType.TURN_STARTED: TurnStarted,
    EventType.TEXT_DELTA: TextDelta,
    EventType.TEXT_RESET: TextReset,
    EventType.TURN_COMPLETED: TurnCompleted,
    EventType.DECISION: DecisionMade,
    EventType.TOOL_STARTED: ToolStarted,
    EventType.TOOL_PROGRESS: ToolProgress,
    EventType.TOOL_COMPLETED: ToolCompleted,
    EventType.GUARDRAIL: GuardrailDone,
    EventType.REQUEST_OPENED: RequestWaits,
    EventType.REQUEST_CLOSED: RequestDone,
    EventType.HANDOFF: HandoffMade,
    EventType.SUBAGENT_STARTED: SubagentStarted,
    EventType.SUBAGENT_COMPLETED: SubagentCompleted,
    EventType.PLAN: PlanMade,
    EventType.CHECKPOINT: CheckpointTaken,
    EventType.ROLLBACK: RolledBack,
    EventType.USAGE: UsageCounted,
    EventType.NOTE: Noted,
    EventType.ANSWER: AnswerReleased,
    EventType.RUN_SUSPENDED: HoldChanged,
    EventType.RUN_RESUMED: HoldChanged,
    EventType.RUN_COMPLETED: RunCompleted,
    EventType.SESSION_MESSAGE: SessionMessage,
    EventType.SESSION_OUTCOME: SessionOutcome,
}
"""What the data of each type of event are."""


class RunEvent(Contract):
    """
    Something that happened in a run, or in one that does a part of it.

    `id` is a cursor: who comes back with it is told what came after. `run_id` is the server's id
    of the run's first execution, which no other run has. `path` are the agents from the root to
    the `agent` to whom it happened.
    """

    id: str
    type: EventType
    run_id: str
    at: datetime
    agent: str
    path: tuple[str, ...]
    data: EventData

    @field_validator("data", mode="before")
    @classmethod
    def _read_by_type(cls, given: object, info: ValidationInfo) -> object:
        kind: EventType | None = info.data.get("type")
        if kind is None or isinstance(given, DATA_TYPES[kind]):
            return given
        return DATA_TYPES[kind].model_validate(given)

    def with_(self, *, id: str) -> Self:
        """Return a copy with another id."""
        return self.copy_with({"id": id})
