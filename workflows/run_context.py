"""One run: its state, what is under way, what the Temporal UI shows of it, and its rests."""

import asyncio
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import is_cancelled_exception

from holdfast.activities.policy import PolicyActivities
from holdfast.contracts.approvals import Request
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import ToolInvocation, ToolResult
from holdfast.contracts.control import Waiting
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.journal import AuditEvent
from holdfast.contracts.sessions.archive import OPENED, RUN_NEVER_BEGAN
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import UserTurn
from holdfast.run import gates, requests, tool_calls, turns, verdicts
from holdfast.run.delegation.handoffs import PreparedHandoff
from holdfast.run.limits import budgets, reservations
from holdfast.run.limits.regulation import label_requests
from holdfast.run.summaries import journal_line, summarise_run
from holdfast.run.texts.requests import escalation_line, requests_line, run_details
from holdfast.workflows import options
from holdfast.workflows.execution.patches import invalidate_rulings
from holdfast.workflows.execution.recorded import RecordedContent
from holdfast.workflows.execution.search_attributes import (
    NAME,
    PENDING,
    RESOURCES,
    SESSION,
    STATUS,
    SUMMARY,
    TENANT,
)
from holdfast.workflows.inbound.inbox import HEARD_FIRST, hear_before_more
from holdfast.workflows.log import describe_wait, log_event, log_warning
from holdfast.workflows.views import find_status

MAX_EVENTS_TOGETHER = 50
"""Events of the journal that one line carries: what it holds is one payload."""


def raise_on_cancellation() -> None:
    """
    Raise CancelledError where the run has been cancelled, whatever its task has heard of it.

    The SDK tells the activity that is under way, and nobody else: one that ends by itself before
    it hears of it swallows the cancellation.
    """
    if workflow.cancellation_reason() is not None:
        raise asyncio.CancelledError


def is_cancellation(error: BaseException) -> bool:
    """Whether this run, or this task of it, is being cancelled, and not an activity alone."""
    task = asyncio.current_task()
    inner = task is not None and task.cancelling() > 0
    ours = inner or workflow.cancellation_reason() is not None
    return ours and is_cancelled_exception(error)


class SentCall(NamedTuple):
    """
    A call that was sent to a queue. One without state was ruled on with another.

    That takes it back, or loads what it needs. One may be sent though the run is `suspended`: a
    command of a guardrail that comes to its end with a model, or before a new execution.
    """

    invocation: ToolInvocation
    call: CallState | None = None
    of_model: bool = False
    suspended: bool = False


class RunContext:
    """
    Holds the state of one run. Whoever changes it reads it after the last await, never before.

    A message may change the state during any await. A run that is `resting` waits for people or
    is suspended, and how long is not in its ledger yet. `parts` are the runs that work for it
    now, each with whether it is known to be held, `executions` what the server calls each, and
    `late_parts` those that it has stopped because their time was up.
    Calls that have `begun`, as they were then, and `begun_parts` with their agents, stay there
    until it is known what they came to, though the run closes their turn meanwhile; `relayed` is
    what waits for people in those. `parts_bytes` is what all of this execution were told and
    came to, `asked_bytes` what they told of that. `hurried` counts the words of people that
    couldn't wait, `suspensions` those that suspend, and one from before this execution. An agent
    is `prepared` that goes on with the run when its turn closes. What is `recorded` no later
    input has to say again, and what calls have `handed` over no later line. What was `loaded`
    for the receivers of open calls, and by which invocation, is there for them however often
    they are decided. It has `advanced` where in this execution others worked for it, or the work
    on a message ended. Calls that are `sent` wait in a queue, or run. It `looks_anew` where words
    have broken off those that look at what a model would read.
    """

    def __init__(self) -> None:
        self._state: RunState | None = None
        self._under_way: list[str] = []
        self._waits: list[Waiting] = []
        self.parts: dict[str, bool] = {}
        self.executions: dict[str, str] = {}
        self.late_parts: set[str] = set()
        self.begun: dict[str, CallState] = {}
        self.begun_parts: dict[str, str] = {}
        self.parts_bytes = self.asked_bytes = 0
        self.relayed: dict[str, tuple[Request, ...]] = {}
        self.timers: list[asyncio.Task[None]] = []
        self.resting = False
        self.hurried = 0
        self.looks_anew = False
        self.suspensions = 1
        self.prepared: PreparedHandoff | None = None
        self.advanced = False
        self.handed = set[str]()
        self.loaded: dict[str, tuple[ToolInvocation, ToolResult]] = {}
        self.recorded = RecordedContent()
        self.sent: list[SentCall] = []

    @property
    def state(self) -> RunState:
        """The state; a run without one had no input that it could begin with."""
        if self._state is None:
            raise InvalidInput(RUN_NEVER_BEGAN)
        return self._state

    @state.setter
    def state(self, fresh: RunState) -> None:
        self._state = fresh

    @property
    def names_ids_only(self) -> bool:
        """Whether it is regulated; one that has no state yet may be."""
        return self._state is None or self._state.brief.regulated

    @property
    def requests(self) -> tuple[Request, ...]:
        """What waits for people, here and in the runs that work for this one."""
        parts = (one for theirs in self.relayed.values() for one in theirs)
        return (*self.state.oversight.requests, *parts)

    def end_part(self, part: str) -> None:
        """Forget a run that worked for this one, and what it waited for."""
        self.advanced = True
        del self.begun_parts[part]
        self.relayed.pop(part, None)

    def drop_loads(self, calls: Collection[str] = ()) -> None:
        """Forget what was loaded for *calls*, and for those that have their results."""
        waiting = {call.call.call_id for call in self.state.calls if call.result is None}
        waiting.difference_update(calls)
        self.loaded = {name: one for name, one in self.loaded.items() if name in waiting}

    @property
    def in_flight(self) -> tuple[str, ...]:
        """What has begun and may still do something, whatever has been said meanwhile."""
        parts = (f"run {part}" for part, held in self.parts.items() if not held)
        return (*self._under_way, *parts)

    @property
    def suspension(self) -> int:
        """Which suspension holds the run now: 0 where none does."""
        return self.suspensions if self.state.suspended else 0

    @property
    def is_held(self) -> bool:
        """Whether what a step would begin waits: what a run that is over takes back doesn't."""
        return self.state.suspended and not self.state.is_ending

    def is_broken_off(self, since: int) -> bool:
        """Whether what changes nothing ends: the run is stopped, or was hurried *since*."""
        return self.state.outside_stop is not None or self.hurried != since

    def confirm_suspension(self, part: str) -> None:
        """Note that a part says that it is held, if it is to be."""
        if part in self.parts and self.state.suspended:
            self.parts[part] = True

    @contextmanager
    def track_in_flight(self, what: str) -> Generator[None]:
        """Say what is under way while the block lasts."""
        self._under_way.append(what)
        try:
            yield
        finally:
            self._under_way.remove(what)

    @contextmanager
    def track_sent(self, call: SentCall) -> Generator[None]:
        """Know a call while the block lasts: its activity may ask whether it may begin late."""
        self.sent.append(call)
        try:
            yield
        finally:
            self.sent.remove(call)

    @property
    def longest_wait(self) -> Waiting | None:
        """What is waited for longest of all that no message can hurry."""
        return max(self._waits, key=lambda one: one.until, default=None)

    @contextmanager
    def track_wait(self, reason: str, until: datetime) -> Generator[None]:
        """Say what is waited for, and until when, while the block lasts."""
        wait = Waiting(reason=reason, until=until)
        self._waits.append(wait)
        try:
            yield
        finally:
            self._waits.remove(wait)

    async def record(self, event: str, text: str) -> None:
        """
        Leave a line in history that people find at a glance; its summary is the first line.

        What the journal holds goes with it.
        """
        line, told = text.strip().partition("\n")[0], self.state.journal[:MAX_EVENTS_TOGETHER]
        if told:
            self.state = self.state.with_(journal=self.state.journal[len(told) :])
        await workflow.execute_local_activity_method(
            PolicyActivities.record,
            AuditEvent(
                run_id=self.state.run_id,
                event=event,
                text=text,
                regulated=self.state.brief.regulated,
                journal=told,
            ),
            **options.record(shorten(f"{event}: {line}")),
        )

    async def write_journal(self) -> None:
        """Put on record what happened and no line has carried."""
        while self.state.journal:
            first = self.state.journal[0]
            await self.record(first.type, journal_line(first))

    async def record_switch(self, before: RunState, why: str) -> None:
        """Leave a line about a change of model, if there was one, and warn of it in the log."""
        model = self.state.model
        if self.state.chain.model_index > before.chain.model_index:
            await self.record("model switched", f"{before.model} → {model}: {why}")
            log_warning("model.switched", self.state, model=model, left=before.model, why=why)

    async def record_end(self) -> None:
        """Leave a line about the end of the run, if it has one with a reason."""
        if self.state.outcome is not None and self.state.stop is not None:
            await self.record(self.state.outcome, self.state.stop.reason)

    def elapsed_seconds(self) -> float:
        """Return the seconds since the run began, waiting for people included."""
        return (workflow.now() - self.state.started_at).total_seconds()

    def is_late(self, ruled_at: float) -> bool:
        """Whether what was decided then, in seconds after it began, was decided too long ago."""
        return self.elapsed_seconds() - ruled_at > tool_calls.MAX_RULING_AGE.total_seconds()

    def remaining(self) -> Budget | Stop:
        """Return what a run that this one starts may use, or why none may be."""
        return budgets.remaining(
            self.state.agent.budget,
            reservations.add_reservations(self.state),
            self.elapsed_seconds(),
        )

    def seconds_left(self) -> float | None:
        """Return what is left of the wall time, which doesn't count waits for people."""
        return budgets.seconds_left(
            self.state.agent.budget, self.state.ledger, self.elapsed_seconds()
        )


async def wait_for_people(run: RunContext, until: datetime, is_over: Callable[[], bool]) -> None:
    """Wait until it is over; where time is up first, escalate requests, or let them expire."""
    waiting, regulated = run.state.oversight.requests, run.state.brief.regulated
    try:
        await workflow.wait_condition(
            is_over,
            timeout=options.at_least(until - workflow.now()),
            timeout_summary=label_requests(waiting) if regulated else requests_line(waiting),
        )
    except TimeoutError:
        now = workflow.now()
        late = verdicts.select_for_escalation(run.state, now)
        run.state = turns.close_turn_if_complete(verdicts.after_timeout(run.state, now), now)
        for request in late:
            await run.record("escalated", escalation_line(request))


def publish_status(run: RunContext) -> None:
    """Show where the run stands, if that has changed; each change is one event."""
    state, regulated = run.state, run.state.brief.regulated
    details = run_details(_summarise(state), state.oversight.requests, regulated=regulated)
    workflow.set_current_details(details)
    if not state.agent.search_attributes:
        return
    shown = workflow.info().typed_search_attributes
    waiting = list(requests.pending_keywords(state.oversight.requests, regulated=regulated))
    wanted = (
        *(
            key.value_set(value)
            for key, value in (
                (NAME, state.agent.name),
                (TENANT, state.brief.tenant),
                (STATUS, find_status(state, run.in_flight)),
                (SESSION, state.brief.session_id),
            )
            if value is not None and shown.get(key) != value
        ),
        *([PENDING.value_set(waiting)] if list(shown.get(PENDING) or ()) != waiting else []),
    )
    if wanted:
        workflow.upsert_search_attributes(wanted)  # pyright: ignore[reportUnknownMemberType] -- the SDK leaves a type argument out


def publish_summary(state: RunState) -> None:
    """Say what the run is where runs are listed, and how often a session was opened."""
    wanted: dict[str, str | int] = {SUMMARY: _summarise(state)}
    if state.session is not None:
        wanted[OPENED] = state.session.opened
    said, converter = workflow.info().raw_memo, workflow.payload_converter()
    fresh = {
        name: value
        for name, value in wanted.items()
        if name not in said or said[name].data != converter.to_payload(value).data
    }
    if fresh:
        workflow.upsert_memo(fresh)


def _summarise(state: RunState) -> str:
    """Say what the run is; the goal of a part may be an answer that nobody may read yet."""
    if state.session is not None:
        return summarise_run(state.agent.name, f"session {state.run_id}")
    match state.conversation.items[0]:
        case UserTurn(text=goal) if not (state.brief.withheld or state.brief.regulated):
            return summarise_run(state.agent.name, goal)
        case _:
            return summarise_run(state.agent.name, state.run_id)


def publish_claims(state: RunState) -> None:
    """Say which resources the run is at, so that others find it by them."""
    if state.agent.resources_searchable:
        workflow.upsert_search_attributes(  # pyright: ignore[reportUnknownMemberType] -- as above
            [RESOURCES.value_set(list(state.guarding.held))]
        )


@contextmanager
def at_rest(run: RunContext) -> Generator[None]:
    """Rest while the block lasts: that is no work, and what was allowed before is decided anew."""
    began = workflow.now()
    run.resting = True
    publish_status(run)
    log_event("run.waiting", run.state, waits_for=describe_wait(run.state))
    yield
    waited = turns.add_waiting_time(run.state, workflow.now() - began)
    run.state = gates.invalidate_call_checks(invalidate_rulings(waited))
    run.resting = False
    publish_status(run)
    seconds = (workflow.now() - began).total_seconds()
    log_event("run.goes_on", run.state, waited_seconds=round(seconds, 1))


async def wait_for_resume(run: RunContext) -> None:
    """
    Hold what a step is about to begin while the run is suspended, and for good if it is cancelled.

    A run that is over isn't held: what it has to take back it still takes back.
    """
    await hear_before_more()
    if run.is_held:
        with at_rest(run):
            await workflow.wait_condition(lambda: not run.is_held)
    raise_on_cancellation()


def watch_suspension(run: RunContext, *, beside_model: bool) -> Callable[[], bool]:
    """
    Return what says whether guardrails that have yet to look wait: the run is suspended by now.

    What looks beside a model comes to its end with it, and so does what looks in a run that is
    suspended, before that goes on in a new execution. An earlier release held nothing.
    """
    exempt = beside_model or run.state.suspended
    return lambda: not exempt and run.is_held and workflow.patched(HEARD_FIRST)
