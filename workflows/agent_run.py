"""The main path: one agent run, from its goal to its result."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError, FailureError, is_cancelled_exception

from activities.model import ModelActivities
from activities.opening import OpeningActivities
from activities.policy import PolicyActivities
from contracts.approvals import (
    Disposition,
    Request,
)
from contracts.decisions import AuthorizeCalls
from contracts.errors import HoldfastError, InvalidInput
from contracts.model import Prefix
from contracts.run import (
    WORKFLOW_TYPE,
    AgentSnapshot,
    OpenRun,
    RunResult,
    StatusReport,
    UsageReport,
)
from contracts.state import CallState
from contracts.transcript import TranscriptPage
from workflows import (
    attributes,
    failures,
    messages,
    options,
    replies,
    requests,
    rulings,
    steps,
    summaries,
    views,
)
from workflows.hearing import Ear
from workflows.inbox import Inbox, Letter
from workflows.live import LiveRun
from workflows.tool_call import run_tool
from workflows.transcript import carried, halted, pruned

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
        await self._open(arguments)
        self._inbox.open()
        attributes.show(self._run.state)
        try:
            return await self._go_on()
        except (asyncio.CancelledError, FailureError) as error:
            if is_cancelled_exception(error):
                self._run.state = requests.withdrawn(self._run.state, workflow.now())
                attributes.show(self._run.state)
            raise

    async def _go_on(self) -> RunResult:
        while True:
            match self._next_step():
                case steps.CallModel(model):
                    await self._call_model(model)
                case steps.Authorize(calls):
                    await self._authorize(calls)
                case steps.AwaitPeople(until):
                    await self._wait_for_people(until)
                case steps.AwaitResume():
                    await self._wait_for_resume()
                case steps.RunTools(batch):
                    await self._run_tools(batch)
                case steps.Prune(before):
                    await self._prune(before)
                case steps.ContinueAsNew():
                    self._inbox.hurry()
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    workflow.continue_as_new(carried(self._run.state))
                case steps.Halt(stop):
                    await self._run.record("stopped", stop.reason)
                    self._run.state = halted(self._run.state, stop)
                case steps.Finish():
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    attributes.show(self._run.state)
                    return steps.result(self._run.state)

    def _next_step(self) -> steps.Step:
        long = options.history_is_long(self._run.state.agent.max_history_events)
        return steps.next_step(
            self._run.state,
            workflow.now(),
            history_is_long=long,
            flooded=self._inbox.is_full(history_is_long=long),
        )

    async def _open(self, arguments: tuple[JsonValue, ...]) -> None:
        info, now = workflow.info(), workflow.now()
        run_id = info.workflow_id
        if info.retry_policy is not None or info.cron_schedule:
            # What they start again looks like a run that goes on, and would take a stranger's
            # input for a state: one that could have approvals in it.
            raise failures.refused("start AgentRun without retry policy and without cron schedule")
        if info.continued_run_id is not None:
            self._run.state = messages.run_state(arguments)
            return
        given = messages.run_input(arguments)
        self._run.state = steps.opened(run_id, given, AgentSnapshot.unopened(given.agent), now)
        try:
            agent = await workflow.execute_local_activity_method(
                OpeningActivities.open_run,
                OpenRun(agent=given.agent),
                **options.decision(f"open agent {given.agent}"),
            )
        except FailureError as error:
            if is_cancelled_exception(error) or not failures.is_refusal(error):
                raise
            raise InvalidInput(failures.message(error)) from error
        self._run.state = steps.opened(run_id, given, agent, now)

    async def _call_model(self, model: str) -> None:
        self._run.state = steps.before_model(self._run.state)
        try:
            reply = await workflow.execute_activity_method(
                ModelActivities.call_model,
                steps.model_call(self._run.state, model),
                **options.model_call(
                    f"turn {self._run.state.ledger.steps + 1} · {model}", self._run.seconds_left()
                ),
            )
        except ActivityError as error:
            if is_cancelled_exception(error) or not failures.is_the_models(error):
                raise
            said, used = failures.message(error), failures.usage(error)
            if self._run.seconds_left() == 0:
                self._run.state = replies.billed_failure(self._run.state, used)
                return
            await self._run.record("model failed", f"{model}: {said}")
            self._run.state = replies.after_failure(self._run.state, said, used)
            return
        for line in replies.audited(self._run.state, reply):
            await self._run.record(*line)
        # Read the state only now: a message may have changed it during the await.
        self._run.state = replies.after_model(self._run.state, reply, workflow.now())
        if (stop := self._run.state.stop) is not None:
            await self._run.record("stopped", stop.reason)

    async def _authorize(self, calls: tuple[CallState, ...]) -> None:
        asked = tuple(call.call for call in calls)
        answer = await workflow.execute_local_activity_method(
            PolicyActivities.authorize,
            AuthorizeCalls(
                run_id=self._run.state.run_id,
                agent=self._run.state.agent.name,
                tenant=self._run.state.brief.tenant,
                actor=self._run.state.brief.actor,
                calls=asked,
                approvals=tuple(given for call in calls for given in call.approvals),
                drafts=tuple(call.draft for call in calls if call.draft is not None),
                unresolved=self._run.state.unresolved,
                visible_tools=tuple(tool.name for tool in self._run.state.agent.tools),
                now=workflow.now(),
            ),
            **options.decision(summaries.calls_line(asked)),
        )
        for ruling in answer.rulings:
            if rulings.is_notable(ruling):
                await self._run.record("ruled", summaries.ruling_line(ruling))
        now = workflow.now()
        self._run.state = steps.settled(rulings.after_rulings(self._run.state, answer, now), now)

    async def _wait_for_people(self, until: datetime) -> None:
        waiting, began = self._run.state.requests, workflow.now()
        attributes.show(self._run.state)
        try:
            await workflow.wait_condition(
                lambda: (
                    self._run.state.requests != waiting
                    or not isinstance(self._next_step(), steps.AwaitPeople)
                ),
                timeout=max(until - began, timedelta(0)),
                timeout_summary=summaries.requests_line(waiting),
            )
        except TimeoutError:
            now = workflow.now()
            for request in requests.passed_on(self._run.state, now):
                await self._run.record("escalated", summaries.escalation_line(request))
            self._run.state = steps.settled(requests.overdue(self._run.state, now), now)
        self._run.state = rulings.undecided(steps.waited(self._run.state, workflow.now() - began))
        attributes.show(self._run.state)

    async def _wait_for_resume(self) -> None:
        began = workflow.now()
        attributes.show(self._run.state)
        await workflow.wait_condition(lambda: not isinstance(self._next_step(), steps.AwaitResume))
        self._run.state = rulings.undecided(steps.waited(self._run.state, workflow.now() - began))
        attributes.show(self._run.state)

    async def _run_tools(self, batch: tuple[CallState, ...]) -> None:
        left = self._run.seconds_left()
        results = await asyncio.gather(*(run_tool(self._run.state, call, left) for call in batch))
        self._run.state = steps.after_tools(self._run.state, tuple(results), workflow.now())
        undecided = rulings.undecided(self._run.state)
        if undecided.calls != self._run.state.calls and workflow.patched(BETWEEN_CALLS):
            self._run.state = undecided
        if (stop := self._run.state.stop) is not None:
            await self._run.record("stopped", stop.reason)

    async def _prune(self, before: int) -> None:
        fresh = pruned(self._run.state, before)
        sizes = f"{self._run.state.context_bytes} → {fresh.context_bytes} bytes"
        await self._run.record("context pruned", f"turns before item {before}: {sizes}")
        self._run.state = pruned(self._run.state, before)

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
