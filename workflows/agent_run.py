"""The main path: one agent run, from its goal to its result."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import FailureError, is_cancelled_exception

from activities.policy import PolicyActivities
from contracts.approvals import Disposition, Request
from contracts.errors import HoldfastError
from contracts.model import Prefix
from contracts.run import WORKFLOW_TYPE, RunResult, StatusReport, UsageReport
from contracts.state import CallState
from contracts.transcript import TranscriptPage
from workflows import (
    answers,
    attributes,
    compaction,
    control,
    gates,
    options,
    requests,
    rulings,
    steps,
    summaries,
    views,
)
from workflows.asking import ask_model
from workflows.hearing import Ear
from workflows.inbox import Inbox, Letter
from workflows.live import LiveRun
from workflows.notifying import notify
from workflows.opening import open_run
from workflows.step import (
    Authorize,
    AwaitPeople,
    AwaitResume,
    CallModel,
    ContinueAsNew,
    Finish,
    Halt,
    Prune,
    Release,
    RunTools,
    Step,
)
from workflows.tool_call import run_tool
from workflows.transcript import carried, halted, pruned
from workflows.watching import watch_time

# What later releases do otherwise than histories of earlier ones, which must replay.
BETWEEN_CALLS = "decide-between-calls"


@workflow.defn(name=WORKFLOW_TYPE, failure_exception_types=[HoldfastError])
class AgentRun:
    """One run of one agent. Everything that decides what happens next is in its state."""

    def __init__(self) -> None:
        self._run = LiveRun()
        self._inbox = Inbox(Ear(self._run).hear)

    @workflow.run
    async def run(self, *arguments: JsonValue) -> RunResult:
        """Take steps until the run is over."""
        await open_run(self._run, arguments)
        self._inbox.open()
        attributes.show(self._run.state)
        background = self._background()
        try:
            return await self._go_on()
        except (asyncio.CancelledError, FailureError) as error:
            if is_cancelled_exception(error):
                self._run.state = requests.withdrawn(self._run.state, workflow.now())
                attributes.show(self._run.state)
            raise
        finally:
            for task in background:
                task.cancel()

    def _background(self) -> list[asyncio.Task[None]]:
        """Begin what goes on beside the steps, for agents that have it."""
        agent, tasks = self._run.state.agent, list[asyncio.Task[None]]()
        if agent.triggers is not None and agent.triggers.expected_time is not None:
            tasks.append(asyncio.create_task(watch_time(self._run)))
        if agent.notifies:
            tasks.append(asyncio.create_task(notify(self._run)))
        return tasks

    async def _go_on(self) -> RunResult:
        while True:
            match self._next_step():
                case CallModel() as step:
                    await ask_model(self._run, step)
                case Authorize(calls):
                    await self._authorize(calls)
                case AwaitPeople(until):
                    await self._wait_for_people(until)
                case AwaitResume():
                    await self._wait_for_resume()
                case RunTools(batch):
                    await self._run_tools(batch)
                case Prune(before):
                    await self._prune(before)
                case Release():
                    self._run.state = answers.advanced(self._run.state)
                case ContinueAsNew():
                    self._inbox.hurry()
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    workflow.continue_as_new(carried(self._run.state))
                case Halt(stop):
                    await self._run.record("stopped", stop.reason)
                    self._run.state = halted(self._run.state, stop)
                case Finish():
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    attributes.show(self._run.state)
                    return steps.result(self._run.state, has_parent=_has_parent())
                case step:
                    await control.take(self._run, step)

    def _next_step(self) -> Step:
        long = options.history_is_long(self._run.state.agent.max_history_events)
        return steps.next_step(
            self._run.state,
            workflow.now(),
            history_is_long=long,
            flooded=self._inbox.is_full(history_is_long=long),
        )

    async def _authorize(self, calls: tuple[CallState, ...]) -> None:
        visible = tuple(tool.name for tool in self._run.state.agent.tools)
        asked = rulings.asked(self._run.state, calls, visible, workflow.now())
        answer = await workflow.execute_local_activity_method(
            PolicyActivities.authorize,
            asked,
            **options.decision(summaries.calls_line(asked.calls)),
        )
        for ruling in answer.rulings:
            if rulings.is_notable(ruling):
                await self._run.record("ruled", summaries.ruling_line(ruling))
        now = workflow.now()
        self._run.state = steps.settled(rulings.after_rulings(self._run.state, answer, now), now)

    async def _wait_for_people(self, until: datetime) -> None:
        waiting, began = self._run.state.requests, workflow.now()
        self._run.resting = True
        attributes.show(self._run.state)
        try:
            await workflow.wait_condition(
                lambda: (
                    self._run.state.requests != waiting
                    or not isinstance(self._next_step(), AwaitPeople)
                ),
                timeout=max(until - began, timedelta(0)),
                timeout_summary=summaries.requests_line(waiting),
            )
        except TimeoutError:
            now = workflow.now()
            for request in requests.passed_on(self._run.state, now):
                await self._run.record("escalated", summaries.escalation_line(request))
            self._run.state = steps.settled(requests.overdue(self._run.state, now), now)
        self._rested(began)

    async def _wait_for_resume(self) -> None:
        began = workflow.now()
        self._run.resting = True
        attributes.show(self._run.state)
        await workflow.wait_condition(lambda: not isinstance(self._next_step(), AwaitResume))
        self._rested(began)

    def _rested(self, began: datetime) -> None:
        """Go on after a wait: it was no work, and what was allowed before it is decided anew."""
        waited = steps.waited(self._run.state, workflow.now() - began)
        self._run.state = gates.reopened(rulings.reopened(waited))
        self._run.resting = False
        attributes.show(self._run.state)

    async def _run_tools(self, batch: tuple[CallState, ...]) -> None:
        left = self._run.seconds_left()
        results = await asyncio.gather(*(run_tool(self._run.state, call, left) for call in batch))
        self._run.state = steps.after_tools(self._run.state, tuple(results), workflow.now())
        reopened = rulings.reopened(self._run.state)
        if reopened.calls != self._run.state.calls and workflow.patched(BETWEEN_CALLS):
            self._run.state = reopened
        if (stop := self._run.state.stop) is not None:
            await self._run.record("stopped", stop.reason)

    async def _prune(self, before: int) -> None:
        fresh = pruned(self._run.state, before)
        sizes = f"{self._run.state.context_bytes} → {fresh.context_bytes} bytes"
        await self._run.record("context pruned", f"turns before item {before}: {sizes}")
        self._run.state = compaction.measured_anew(pruned(self._run.state, before))

    @workflow.signal(dynamic=True)
    async def receive(self, name: str, payloads: Sequence[RawValue]) -> None:
        """
        Take any signal.

        One handler for all names: a handler of its own drops what it can't decode without a trace,
        and a wrong number of arguments fails the workflow task, for ever.
        """
        await self._inbox.deliver(Letter(name, payloads))

    @workflow.update(dynamic=True)
    async def decide(self, name: str, payloads: Sequence[RawValue]) -> Disposition:
        """Take the update `decide`: the signal `approval`, with an answer to what became of it."""
        return await self._inbox.answered(
            Letter("approval" if name == "decide" else name, payloads)
        )

    @workflow.query
    def status(self) -> StatusReport:
        """Say where the run stands."""
        return views.status(self._run.state)

    @workflow.query
    def pending(self) -> tuple[Request, ...]:
        """Return the requests that wait for a person."""
        return self._run.state.requests

    @workflow.query
    def usage(self) -> UsageReport:
        """Say what the run has used."""
        return views.usage(self._run.state)

    @workflow.query
    def transcript(self, page: views.PageQuery | None = None) -> TranscriptPage:
        """Return a part of the transcript, of less than 1 MB."""
        return views.transcript_page(self._run.state, page or views.PageQuery())

    @workflow.query
    def prefix(self) -> Prefix:
        """Return instructions and tool schemas, as this run began with them."""
        return self._run.state.agent.prefix


def _has_parent() -> bool:
    """Whether another run started this one, and wants to know all that it used."""
    return workflow.info().parent is not None
