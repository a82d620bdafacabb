"""What a history says, event by event: for tests that look at what an auditor sees."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple, TypeAlias

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory


class Noted(NamedTuple):
    """An activity, local or not, as it stands in the order of a history."""

    name: str
    summary: str
    local: bool


Story: TypeAlias = WorkflowHistory | Sequence[Noted]
"""What an execution did: its history, or what a run in memory has noted."""


class Scheduled(NamedTuple):
    """An activity in history, local or not."""

    name: str
    summary: str
    local: bool
    event: HistoryEvent


def activities(history: WorkflowHistory) -> list[Scheduled]:
    """All activities in the order in which history has them."""
    found: list[Scheduled] = []
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            found.append(Scheduled(name, summary(event), local=False, event=event))
        elif event.marker_recorded_event_attributes.marker_name == "core_local_activity":
            data = event.marker_recorded_event_attributes.details["data"].payloads[0].data
            name = json.loads(data)["activity_type"]
            found.append(Scheduled(name, summary(event), local=True, event=event))
    return found


def noted(story: Story) -> list[Noted]:
    """All activities in order, as far as every story tells of them."""
    if isinstance(story, WorkflowHistory):
        return [Noted(one.name, one.summary, one.local) for one in activities(story)]
    return list(story)


def names(story: Story) -> list[str]:
    """The names of all activities in order."""
    return [activity.name for activity in noted(story)]


def summary(event: HistoryEvent) -> str:
    """The summary that the UI shows for an event, or the empty string."""
    data = event.user_metadata.summary.data
    return json.loads(data) if data else ""


def children(history: WorkflowHistory) -> list[str]:
    """The ids of the runs that a run started, in their order, without its own id."""
    started = (
        event.start_child_workflow_execution_initiated_event_attributes.workflow_id
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
    )
    return [name.partition(".")[2] for name in started]


def last_attempt(history: WorkflowHistory) -> tuple[int, timedelta]:
    """Which attempt of the first activity brought its end, and how long after it was asked for."""
    asked = next(
        event
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
    )
    began = next(
        event
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED
    )
    attempt = began.activity_task_started_event_attributes.attempt
    return attempt, began.event_time.ToDatetime() - asked.event_time.ToDatetime()
