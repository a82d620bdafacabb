"""One execution of a run: what it wants done, done, as a server does it."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from temporalio.api.common.v1 import Memo, Payload, SearchAttributes
from temporalio.api.failure.v1 import Failure
from temporalio.bridge.proto.activity_result import ActivityResolution
from temporalio.bridge.proto.child_workflow import (
    ParentClosePolicy,
)
from temporalio.bridge.proto.child_workflow import (
    StartChildWorkflowExecutionFailedCause as FailedCause,
)
from temporalio.bridge.proto.workflow_activation import WorkflowActivationJob
from temporalio.bridge.proto.workflow_commands import (
    ContinueAsNewWorkflowExecution,
    SignalExternalWorkflowExecution,
    StartChildWorkflowExecution,
    UpdateResponse,
    WorkflowCommand,
)

from tests.histories import Noted
from tests.memory.activities import ActivityTask, Order, Workers
from tests.memory.clock import SkippingLoop
from tests.memory.instances import Beginning
from tests.memory.tasks import Habits, Tasks

UNCOUNTED = {"request_cancel_local_activity", "set_patch_marker", "cancel_signal_workflow"}
"""Commands that leave no event of their own."""

LONGEST_PAUSE = 1.0
"""Seconds; the longest pause that a run makes without waiting for anything."""

TAKEN = FailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS


@dataclass(frozen=True)
class Closed:
    """How an execution ended: with neither it was cancelled, or goes on in another one."""

    result: Payload | None = None
    failure: Failure | None = None
    is_continued: bool = False


class Server(Protocol):
    """What an execution asks of its server."""

    @property
    def loop(self) -> SkippingLoop: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def habits(self) -> Habits: ...

    def start_child(
        self, parent: "Execution", asked: StartChildWorkflowExecution
    ) -> "Execution | None":
        """Start the child of an execution; null where its id is taken."""
        ...

    def continue_as_new(
        self, before: "Execution", asked: ContinueAsNewWorkflowExecution
    ) -> "Execution":
        """Start what goes on from an execution."""
        ...

    def find(self, workflow_id: str, run_id: str = "") -> "Execution | None":
        """Return an open execution."""
        ...

    def tell_parent(self, ended: "Execution", closed: Closed) -> None:
        """Tell whoever started an execution how it ended."""
        ...


class Execution:
    """What is under way for one execution, and how it ended."""

    def __init__(
        self, server: Server, beginning: Beginning, parent: "tuple[Execution, int] | None"
    ) -> None:
        self.beginning = beginning
        self.parent = parent
        self.closed: Closed | None = None
        self.end = asyncio.Event()
        self.scheduled: list[Noted] = []
        self.search_attributes = SearchAttributes()
        self.search_attributes.CopyFrom(beginning.init.search_attributes)
        self.memo = Memo()
        self.memo.CopyFrom(beginning.init.memo)
        self.responses: dict[str, asyncio.Future[UpdateResponse]] = {}
        self._server = server
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._pauses: set[int] = set()
        self._activities: dict[int, ActivityTask] = {}
        self._children: dict[int, Execution] = {}
        self._asked_for: list[str] = []
        self._recalled: set[int] = set()
        self._is_cancelled = False
        self.tasks = Tasks(server.loop, server.workers, beginning, server.habits, self._apply)
        self.tasks.tell(WorkflowActivationJob(initialize_workflow=beginning.init))

    @property
    def workflow_id(self) -> str:
        return self.beginning.init.workflow_id

    @property
    def run_id(self) -> str:
        return self.beginning.run_id

    @property
    def is_at_rest(self) -> bool:
        """
        Whether nothing moves in it before somebody says something, or much time has passed.

        Nor in the runs that work for it, whose ends it would hear of.
        """
        moves = self._activities or self._pauses or not self.tasks.is_at_rest
        newest = (self._server.find(child.workflow_id) for child in self._children.values())
        parts = [one for one in newest if one is not None]
        return self.closed is not None or not (moves or any(not one.is_at_rest for one in parts))

    @property
    def activities(self) -> Sequence[ActivityTask]:
        """What is under way for it at workers, or waits for one."""
        return tuple(self._activities.values())

    @property
    def parts(self) -> list[str]:
        """The ids of the runs that it asked for, in their order, without that of this one."""
        return [name.partition(".")[2] for name in self._asked_for]

    def signal(self, name: str, payloads: Sequence[Payload]) -> None:
        """Have it hear a signal."""
        job = WorkflowActivationJob()
        job.signal_workflow.signal_name = name
        job.signal_workflow.input.extend(payloads)
        job.signal_workflow.originating_event_id = self.tasks.length + 1
        self.tasks.tell(job)

    def update(self, name: str, payloads: Sequence[Payload]) -> asyncio.Future[UpdateResponse]:
        """Have it hear an update; the answer comes when it has it."""
        protocol = f"{name}-{len(self.responses) + 1}"
        job = WorkflowActivationJob()
        job.do_update.id = job.do_update.protocol_instance_id = protocol
        job.do_update.name = name
        job.do_update.input.extend(payloads)
        job.do_update.run_validator = True
        self.responses[protocol] = answer = self._server.loop.create_future()
        self.tasks.tell(job, events=0)
        return answer

    def cancel(self) -> None:
        """Ask it to end."""
        if not self._is_cancelled:
            self._is_cancelled = True
            job = WorkflowActivationJob()
            job.cancel_workflow.SetInParent()
            self.tasks.tell(job)

    def close(self, closed: Closed) -> None:
        """End it; what was under way for it is told nobody any more."""
        if self.closed is not None:
            return
        self.closed = closed
        for timer in self._timers.values():
            timer.cancel()
        for task in self._activities.values():
            task.abandon()
        self.tasks.close()
        for answer in self.responses.values():
            answer.cancel()
        if not closed.is_continued:
            self._cancel_children()
            self._server.tell_parent(self, closed)
        self.end.set()

    def _cancel_children(self) -> None:
        for child in self._children.values():
            if newest := self._server.find(child.workflow_id):
                newest.cancel()

    def _apply(self, commands: Sequence[WorkflowCommand]) -> None:
        self._recalled = {one.cancel_signal_workflow.seq for one in commands}
        for command in commands:
            kind = command.WhichOneof("variant") or ""
            self.tasks.length += kind not in UNCOUNTED
            match kind:
                case "schedule_local_activity":
                    self._note(command, command.schedule_local_activity.activity_type, local=True)
                case "schedule_activity":
                    self._note(command, command.schedule_activity.activity_type, local=False)
                    self._start_activity(command)
                case "request_cancel_activity":
                    if found := self._activities.get(command.request_cancel_activity.seq):
                        found.cancel()
                case "start_timer" | "cancel_timer":
                    self._apply_timer(command)
                case "upsert_workflow_search_attributes":
                    found = command.upsert_workflow_search_attributes.search_attributes
                    self.search_attributes.MergeFrom(found)
                case "modify_workflow_properties":
                    self.memo.MergeFrom(command.modify_workflow_properties.upserted_memo)
                case "update_response":
                    self._respond(command.update_response)
                case _:
                    self._apply_outwards(command)

    def _apply_outwards(self, command: WorkflowCommand) -> None:
        """Do what others see: start, end or tell another run, or end this one."""
        match command.WhichOneof("variant"):
            case "start_child_workflow_execution":
                self._start_child(command.start_child_workflow_execution)
            case "cancel_child_workflow_execution":
                asked = command.cancel_child_workflow_execution.child_workflow_seq
                if found := self._server.find(self._children[asked].workflow_id):
                    found.cancel()
            case "signal_external_workflow_execution":
                self._signal(command.signal_external_workflow_execution)
            case "cancel_signal_workflow" | "set_patch_marker":
                pass  # what an earlier task has sent can't be recalled
            case "complete_workflow_execution":
                self.close(Closed(result=command.complete_workflow_execution.result))
            case "fail_workflow_execution":
                self.close(Closed(failure=command.fail_workflow_execution.failure))
            case "cancel_workflow_execution":
                self.close(Closed())
            case "continue_as_new_workflow_execution":
                self.close(Closed(is_continued=True))
                self._server.continue_as_new(self, command.continue_as_new_workflow_execution)
            case other:
                raise NotImplementedError(other)

    def _note(self, command: WorkflowCommand, name: str, *, local: bool) -> None:
        summary = command.user_metadata.summary.data
        self.scheduled.append(Noted(name, json.loads(summary) if summary else "", local))

    def _apply_timer(self, command: WorkflowCommand) -> None:
        if command.HasField("cancel_timer"):
            self._pauses.discard(command.cancel_timer.seq)
            if timer := self._timers.pop(command.cancel_timer.seq, None):
                timer.cancel()
            return
        asked = command.start_timer
        seconds = asked.start_to_fire_timeout.ToTimedelta().total_seconds()
        if seconds <= LONGEST_PAUSE:
            self._pauses.add(asked.seq)
        self._timers[asked.seq] = self._server.loop.call_later(seconds, self._fire, asked.seq)

    def _fire(self, seq: int) -> None:
        del self._timers[seq]
        self._pauses.discard(seq)
        job = WorkflowActivationJob()
        job.fire_timer.seq = seq
        self.tasks.tell(job)

    def _start_activity(self, command: WorkflowCommand) -> None:
        asked = command.schedule_activity
        order = Order(
            asked,
            asked.task_queue or self.beginning.queue,
            self.workflow_id,
            self.run_id,
            self.beginning.init.workflow_type,
            self._server.loop.now(),
        )
        task = ActivityTask(
            self._server.loop, self._server.workers, order, partial(self._end_activity, asked.seq)
        )
        self._activities[asked.seq] = task
        task.start()

    def _end_activity(self, seq: int, resolution: ActivityResolution) -> None:
        del self._activities[seq]
        job = WorkflowActivationJob()
        job.resolve_activity.seq = seq
        job.resolve_activity.result.CopyFrom(resolution)
        self.tasks.tell(job, events=2)

    def _start_child(self, asked: StartChildWorkflowExecution) -> None:
        job = WorkflowActivationJob()
        told = job.resolve_child_workflow_execution_start
        told.seq = asked.seq
        assert asked.parent_close_policy == ParentClosePolicy.PARENT_CLOSE_POLICY_REQUEST_CANCEL
        self._asked_for.append(asked.workflow_id)
        child = self._server.start_child(self, asked)
        if child is None:
            told.failed.workflow_id = asked.workflow_id
            told.failed.workflow_type = asked.workflow_type
            told.failed.cause = TAKEN
        else:
            self._children[asked.seq] = child
            told.succeeded.run_id = child.run_id
        self.tasks.tell(job)

    def _signal(self, asked: SignalExternalWorkflowExecution) -> None:
        about = asked.workflow_execution
        found = self._server.find(
            asked.child_workflow_id or about.workflow_id,
            "" if asked.child_workflow_id else about.run_id,
        )
        job = WorkflowActivationJob()
        told = job.resolve_signal_external_workflow
        told.seq = asked.seq
        if asked.seq in self._recalled:
            told.failure.message = "Signal was cancelled before being sent"
            told.failure.canceled_failure_info.SetInParent()
        elif found is None:
            told.failure.message = "Unable to signal external workflow because it was not found"
            told.failure.application_failure_info.SetInParent()
        else:
            found.signal(asked.signal_name, asked.args)
        self.tasks.tell(job)

    def _respond(self, response: UpdateResponse) -> None:
        if response.HasField("accepted"):
            return
        answer = self.responses[response.protocol_instance_id]
        if not answer.done():
            answer.set_result(response)
