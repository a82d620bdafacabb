"""What workflow code asks for while it is replayed, and what a history says it asked for."""

import json
from typing import NamedTuple, NoReturn

from pydantic import JsonValue
from temporalio.api.common.v1 import Payload
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import WorkflowHistory
from temporalio.worker import (
    ContinueAsNewInput,
    ExecuteWorkflowInput,
    Interceptor,
    StartActivityInput,
    StartChildWorkflowInput,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
    WorkflowOutboundInterceptor,
)
from temporalio.workflow import ActivityHandle, ChildWorkflowHandle

from holdfast.activities.transcripts import TranscriptInterceptor, Transcripts
from holdfast.contracts.model import Prefix
from holdfast.contracts.transcript import TranscriptPage
from holdfast.workflows.payloads import data_converter

GOES_ON = "continue as new"
RESULT = "result"


class Asked(NamedTuple):
    """An activity or a run that was asked for, that the run goes on, or its result: with what."""

    name: str
    input: tuple[JsonValue, ...]


class Listener(Interceptor):
    """
    Keeps what workflow code asks for.

    The SDK's replay compares names and ids with history, and no input: of two calls of a tool it
    doesn't see which comes first, nor a wrong amount.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def workflow_interceptor_class(
        self, input: WorkflowInterceptorClassInput
    ) -> type[WorkflowInboundInterceptor]:
        TranscriptInterceptor(Transcripts(_Nobody())).workflow_interceptor_class(input)
        return _listening(self.asked)


class _Nobody:
    """Answers nobody: while a run is replayed no activity asks it."""

    async def prefix(self) -> Prefix:
        raise AssertionError("a replayed run has no activities")

    async def transcript_page(self, offset: int, limit: int, digest: str) -> TranscriptPage:
        raise AssertionError("a replayed run has no activities")


def _listening(asked: list[Asked]) -> type[WorkflowInboundInterceptor]:
    def keep(name: str, arguments: tuple[object, ...]) -> None:
        payloads = data_converter.payload_converter.to_payloads(arguments)
        asked.append(Asked(name, tuple(map(_read, payloads))))

    class Outbound(WorkflowOutboundInterceptor):
        def start_activity(self, input: StartActivityInput) -> ActivityHandle[object]:
            keep(input.activity, tuple(input.args))
            return super().start_activity(input)

        async def start_child_workflow(
            self, input: StartChildWorkflowInput
        ) -> ChildWorkflowHandle[object, object]:
            keep(input.workflow, tuple(input.args))
            return await super().start_child_workflow(input)

        def continue_as_new(self, input: ContinueAsNewInput) -> NoReturn:
            keep(GOES_ON, tuple(input.args))
            super().continue_as_new(input)

    class Inbound(WorkflowInboundInterceptor):
        def init(self, outbound: WorkflowOutboundInterceptor) -> None:
            super().init(Outbound(outbound))

        async def execute_workflow(self, input: ExecuteWorkflowInput) -> object:
            result: object = await super().execute_workflow(input)
            keep(RESULT, (result,))
            return result

    return Inbound


def recorded(history: WorkflowHistory) -> list[Asked]:
    """What a history says that the run asked for, in its order."""
    return [asked for event in history.events if (asked := _asked(event)) is not None]


def _asked(event: HistoryEvent) -> Asked | None:
    match event.event_type:
        case EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            activity = event.activity_task_scheduled_event_attributes
            name, given = activity.activity_type.name, activity.input
        case EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
            child = event.start_child_workflow_execution_initiated_event_attributes
            name, given = child.workflow_type.name, child.input
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
            continued = event.workflow_execution_continued_as_new_event_attributes
            name, given = GOES_ON, continued.input
        case EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
            name, given = RESULT, event.workflow_execution_completed_event_attributes.result
        case _:
            return None
    return Asked(name, tuple(map(_read, given.payloads)))


def _read(payload: Payload) -> JsonValue:
    return json.loads(payload.data)
