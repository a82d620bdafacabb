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
    EmptySignal,
    Hearing,
    Request,
    SteerSignal,
    Verdicts,
)
from contracts.decisions import AuthorizeCalls
from contracts.errors import HoldfastError, InvalidInput
from contracts.model import Prefix
from contracts.run import (
    WORKFLOW_TYPE,
    AgentSnapshot,
    AuditEvent,
    OpenRun,
    RunResult,
    StatusReport,
    UsageReport,
)
from contracts.state import CallState, RunState
from contracts.transcript import TranscriptPage, UserTurn
from policy import budgets
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
from workflows.inbox import Inbox, Letter
from workflows.tool_call import run_tool
from workflows.transcript import carried, halted, pruned

# What later releases do otherwise than histories of earlier ones, which must replay.
HEARINGS = "hearings-are-activities"
BETWEEN_CALLS = "decide-between-calls"


@workflow.defn(name=WORKFLOW_TYPE, failure_exception_types=[HoldfastError])
class AgentRun:
    """One run of one agent. Everything that decides what happens next is in its state."""

    def __init__(self) -> None:
        self._state: RunState | None = None
        self._inbox = Inbox(self._hear)

    @property
    def state(self) -> RunState:
        """The state; a run without one had no input that it could begin with."""
        if self._state is None:
            raise InvalidInput("this run never began: its input can't be used")
        return self._state

    @workflow.run
    async def run(self, *arguments: JsonValue) -> RunResult:
        """Take steps until the run is over."""
        await self._open(arguments)
        self._inbox.open()
        attributes.show(self.state)
        try:
            return await self._go_on()
        except (asyncio.CancelledError, FailureError) as error:
            if is_cancelled_exception(error):
                self._state = requests.withdrawn(self.state, workflow.now())
                attributes.show(self.state)
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
                    workflow.continue_as_new(carried(self.state))
                case steps.Halt(stop):
                    await self._record("stopped", stop.reason)
                    self._state = halted(self.state, stop)
                case steps.Finish():
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    attributes.show(self.state)
                    return steps.result(self.state)

    def _next_step(self) -> steps.Step:
        long = options.history_is_long(self.state.agent.max_history_events)
        return steps.next_step(
            self.state,
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
            self._state = messages.run_state(arguments)
            return
        given = messages.run_input(arguments)
        self._state = steps.opened(run_id, given, AgentSnapshot.unopened(given.agent), now)
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
        self._state = steps.opened(run_id, given, agent, now)

    async def _call_model(self, model: str) -> None:
        self._state = steps.before_model(self.state)
        try:
            reply = await workflow.execute_activity_method(
                ModelActivities.call_model,
                steps.model_call(self.state, model),
                **options.model_call(
                    f"turn {self.state.ledger.steps + 1} · {model}", self._seconds_left()
                ),
            )
        except ActivityError as error:
            if is_cancelled_exception(error) or not failures.is_the_models(error):
                raise
            said, used = failures.message(error), failures.usage(error)
            if self._seconds_left() == 0:
                self._state = replies.billed_failure(self.state, used)
                return
            await self._record("model failed", f"{model}: {said}")
            self._state = replies.after_failure(self.state, said, used)
            return
        for line in replies.audited(self.state, reply):
            await self._record(*line)
        # Read the state only now: a message may have changed it during the await.
        self._state = replies.after_model(self.state, reply, workflow.now())
        if (stop := self.state.stop) is not None:
            await self._record("stopped", stop.reason)

    async def _authorize(self, calls: tuple[CallState, ...]) -> None:
        asked = tuple(call.call for call in calls)
        answer = await workflow.execute_local_activity_method(
            PolicyActivities.authorize,
            AuthorizeCalls(
                run_id=self.state.run_id,
                agent=self.state.agent.name,
                tenant=self.state.brief.tenant,
                actor=self.state.brief.actor,
                calls=asked,
                approvals=tuple(given for call in calls for given in call.approvals),
                drafts=tuple(call.draft for call in calls if call.draft is not None),
                unresolved=self.state.unresolved,
                visible_tools=tuple(tool.name for tool in self.state.agent.tools),
                now=workflow.now(),
            ),
            **options.decision(summaries.calls_line(asked)),
        )
        for ruling in answer.rulings:
            if rulings.is_notable(ruling):
                await self._record("ruled", summaries.ruling_line(ruling))
        now = workflow.now()
        self._state = steps.settled(rulings.after_rulings(self.state, answer, now), now)

    async def _wait_for_people(self, until: datetime) -> None:
        waiting, began = self.state.requests, workflow.now()
        attributes.show(self.state)
        try:
            await workflow.wait_condition(
                lambda: (
                    self.state.requests != waiting
                    or not isinstance(self._next_step(), steps.AwaitPeople)
                ),
                timeout=max(until - began, timedelta(0)),
                timeout_summary=summaries.requests_line(waiting),
            )
        except TimeoutError:
            now = workflow.now()
            for request in requests.passed_on(self.state, now):
                await self._record("escalated", summaries.escalation_line(request))
            self._state = steps.settled(requests.overdue(self.state, now), now)
        self._state = rulings.undecided(steps.waited(self.state, workflow.now() - began))
        attributes.show(self.state)

    async def _wait_for_resume(self) -> None:
        began = workflow.now()
        attributes.show(self.state)
        await workflow.wait_condition(lambda: not isinstance(self._next_step(), steps.AwaitResume))
        self._state = rulings.undecided(steps.waited(self.state, workflow.now() - began))
        attributes.show(self.state)

    async def _run_tools(self, batch: tuple[CallState, ...]) -> None:
        left = self._seconds_left()
        results = await asyncio.gather(*(run_tool(self.state, call, left) for call in batch))
        self._state = steps.after_tools(self.state, tuple(results), workflow.now())
        undecided = rulings.undecided(self.state)
        if undecided.calls != self.state.calls and workflow.patched(BETWEEN_CALLS):
            self._state = undecided
        if (stop := self.state.stop) is not None:
            await self._record("stopped", stop.reason)

    async def _prune(self, before: int) -> None:
        fresh = pruned(self.state, before)
        sizes = f"{self.state.context_bytes} → {fresh.context_bytes} bytes"
        await self._record("context pruned", f"turns before item {before}: {sizes}")
        self._state = pruned(self.state, before)

    async def _record(self, event: str, text: str) -> None:
        """Leave a line in history that people find at a glance."""
        await workflow.execute_local_activity_method(
            PolicyActivities.record,
            AuditEvent(run_id=self.state.run_id, event=event, text=text),
            **options.decision(summaries.shortened(f"{event}: {text}", summaries.LIMIT)),
        )

    def _seconds_left(self) -> float | None:
        elapsed = workflow.now() - self.state.started_at
        return budgets.seconds_left(
            self.state.agent.budget, self.state.ledger, elapsed.total_seconds()
        )

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

    async def _hear(self, letters: Sequence[Letter]) -> None:
        """Read messages and let them take effect, or refuse them."""
        judged: list[tuple[Letter, summaries.Message]] = []
        refused: list[str] = []
        for letter in letters:
            match messages.read(letter.signal, letter.payloads):
                case messages.Garbage(reason):
                    refused.append(self._refuse(letter, reason))
                case SteerSignal() if not requests.hears(self.state):
                    deaf = "the run is over, or has heard too much"
                    refused.append(self._refuse(letter, deaf))
                case SteerSignal(text=text):
                    words = UserTurn(text=text, origin="steer")
                    self._accept(letter, requests.said(self.state, words))
                case EmptySignal():
                    on = letter.signal == "suspend"
                    self._accept(letter, steps.suspended(self.state, on=on))
                case message:
                    judged.append((letter, message))
        if refused:
            await self._record_refusals(refused)
        if judged:
            await self._judge(judged)

    async def _judge(self, heard: Sequence[tuple[Letter, summaries.Message]]) -> None:
        """Judge messages in their order; what the first of them changes counts for the next."""
        said = tuple(message for _, message in heard)
        answer = await self._judged(
            Hearing(
                run_id=self.state.run_id,
                agent=self.state.agent.name,
                requester=self.state.brief.actor,
                messages=said,
                requests=self.state.requests,
                closed=self.state.closed,
                now=workflow.now(),
            ),
            summaries.messages_line(said),
        )
        now = workflow.now()
        for (letter, message), verdict in zip(heard, answer.verdicts, strict=True):
            state, letter.disposition = requests.after_verdict(self.state, message, verdict, now)
            self._state = state
        self._state = steps.settled(self.state, now)

    async def _judged(self, hearing: Hearing, summary: str) -> Verdicts:
        if workflow.patched(HEARINGS):
            return await workflow.execute_activity_method(
                PolicyActivities.judge, hearing, **options.hearing(summary)
            )
        return await workflow.execute_local_activity_method(
            PolicyActivities.judge, hearing, **options.decision(summary)
        )

    async def _record_refusals(self, reasons: list[str]) -> None:
        line = summaries.refusals_line(reasons)
        if not workflow.patched(HEARINGS):
            return await self._record("message refused", line)
        await workflow.execute_activity_method(
            PolicyActivities.record,
            AuditEvent(run_id=self.state.run_id, event="message refused", text=line),
            **options.hearing(summaries.shortened(f"message refused: {line}", summaries.LIMIT)),
        )
        return None

    def _accept(self, letter: Letter, state: RunState) -> None:
        letter.disposition = Disposition(accepted=True, request_id="", reason="accepted")
        self._state = state

    def _refuse(self, letter: Letter, reason: str) -> str:
        refusal = Disposition(accepted=False, request_id="", reason=reason, code="unreadable")
        letter.disposition = refusal
        self._state = requests.refused(self.state, letter.signal, refusal, workflow.now())
        return reason

    @workflow.query
    def status(self) -> StatusReport:
        """Say where the run stands."""
        return views.status(self.state)

    @workflow.query
    def pending(self) -> tuple[Request, ...]:
        """Return the requests that wait for a person."""
        return self.state.requests

    @workflow.query
    def usage(self) -> UsageReport:
        """Say what the run has used."""
        return views.usage(self.state)

    @workflow.query
    def transcript(self, page: views.PageQuery | None = None) -> TranscriptPage:
        """Return a part of the transcript, of less than 1 MB."""
        return views.transcript_page(self.state, page or views.PageQuery())

    @workflow.query
    def prefix(self) -> Prefix:
        """Return instructions and tool schemas, as this run began with them."""
        return self.state.agent.prefix
