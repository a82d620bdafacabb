"""The trace while it is read: what is already known, and how one more fact changes it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeAlias, TypedDict, Unpack

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.exceptions import ActivityError

from contracts.budget import Budget, Limits
from contracts.run import AgentSnapshot, Brief, RunResult
from contracts.tools import ToolFailure, ToolResult
from holdfast.trace.values import (
    Asked,
    Call,
    Entry,
    Escalated,
    Noted,
    Outcome,
    Ruled,
    Said,
    Standing,
    Trace,
    Turn,
)
from workflows import failures

Readers: TypeAlias = dict[EventType.ValueType, Callable[[HistoryEvent], None]]
"""What reads which type of event."""

# Requests of one turn are opened within moments of each other, and expire so.
_MOMENT = timedelta(seconds=1)


class CallChange(TypedDict, total=False):
    """What may become known of a call."""

    rulings: tuple[Ruled, ...]
    started_at: datetime | None
    ended_at: datetime | None
    attempts: int
    result: ToolResult | None


class Draft:
    """A trace that grows. Entries are only added; calls, requests and the last turn change."""

    def __init__(self) -> None:
        self.run_id = ""
        self.first_execution = ""
        self.executions = 0
        self.started_at: datetime | None = None
        self.ended_at: datetime | None = None
        self.ended: Standing | None = None
        self.suspended = False
        self.goal = ""
        self.brief: Brief | None = None
        self.budgets: list[Budget] = []
        self.agent: AgentSnapshot | None = None
        self.result: RunResult | None = None
        self.failure: str | None = None
        self.entries: list[Entry] = []
        self.requests: dict[str, Asked] = {}
        self.requests_made = 0
        self.unjudged: deque[Said] = deque()
        self._turn_at: int | None = None

    def trace(self) -> Trace:
        """Return what is known now. Raises ValueError before the first event was read."""
        if self.started_at is None:
            raise ValueError("the history doesn't begin with the start of a run")
        return Trace(
            run_id=self.run_id,
            first_execution=self.first_execution,
            executions=self.executions,
            started_at=self.started_at,
            ended_at=self.ended_at,
            status=self.standing,
            goal=self.goal,
            brief=self.brief,
            agent=self.agent,
            limits=self._limits(),
            result=self.result,
            failure=self.failure,
            entries=tuple(self.entries),
            requests=dict(self.requests),
        )

    def _limits(self) -> Limits | None:
        if self.agent is None:
            return None
        limits = self.agent.budget
        for budget in self.budgets:
            limits = limits.changed_by(budget)
        return limits

    @property
    def standing(self) -> Standing:
        """Where the run stands, in one word."""
        if self.ended is not None:
            return self.ended
        if self.suspended:
            return "suspended"
        return "waiting" if self.open_requests() else "running"

    @property
    def turn(self) -> Turn | None:
        """The latest turn."""
        if self._turn_at is None:
            return None
        turn = self.entries[self._turn_at]
        return turn if isinstance(turn, Turn) else None

    def begin_turn(self, turn: Turn) -> None:
        """Add a turn, which becomes the latest."""
        self._turn_at = len(self.entries)
        self.entries.append(turn)

    def change_turn(self, turn: Turn) -> None:
        """Put a changed turn in the place of the latest."""
        if self._turn_at is not None:
            self.entries[self._turn_at] = turn

    def call(self, call_id: str) -> Call | None:
        """Return a call of the latest turn: each turn ends before the next begins."""
        calls = self.turn.calls if self.turn is not None else ()
        return next((call for call in calls if call.call.call_id == call_id), None)

    def name_calls(self, call_ids: Sequence[str]) -> None:
        """
        Take the ids under which all calls of the latest turn were ruled upon, in their order.

        A run gives a call whose id it has seen before an id of its own.
        """
        turn = self.turn
        if turn is None or len(turn.calls) != len(call_ids):
            return
        calls = tuple(
            replace(call, call=call.call.model_copy(update={"call_id": call_id}))
            for call, call_id in zip(turn.calls, call_ids, strict=True)
        )
        self.change_turn(replace(turn, calls=calls))

    def change_call(self, call_id: str, **changes: Unpack[CallChange]) -> None:
        """Change a call of the latest turn, if it has one with this id."""
        if self.turn is None:
            return
        calls = tuple(
            replace(call, **changes) if call.call.call_id == call_id else call
            for call in self.turn.calls
        )
        self.change_turn(replace(self.turn, calls=calls))

    def close_call(self, result: ToolResult, at: datetime) -> None:
        """Give a call that doesn't run, or no longer, its result."""
        self.change_call(result.call_id, result=result, ended_at=at)

    def fail_call(self, call_id: str, error: ActivityError, at: datetime) -> None:
        """Give a call that failed the result that the run gives it."""
        call = self.call(call_id)
        contract = self.agent.tool(call.call.name) if call and self.agent else None
        if call is not None and contract is not None:
            self.close_call(failures.tool_failure(call.call, contract, error), at)
        elif call is not None:
            failure = ToolFailure(
                status="error",
                call_id=call_id,
                name=call.call.name,
                type="internal_error",
                reason=failures.message(error),
            )
            self.close_call(failure, at)

    def note(self, event: str, text: str, at: datetime) -> None:
        """Add an audit line."""
        self.entries.append(Noted(event=event, text=text, at=at))

    def hear(self, said: Said) -> None:
        """Add a message that needs no judgement, or belongs to no open request."""
        self.entries.append(said)

    def key(self, event: HistoryEvent) -> str:
        """Name an event so that no other of the run has the name."""
        return f"{self.executions}.{event.event_id}"

    def next_request_id(self) -> str:
        """Return the id that the run gives its next request: it counts them."""
        return f"req-{self.requests_made + 1}"

    def ask(self, asked: Asked) -> None:
        """Open a request."""
        self.requests_made += 1
        self.requests[asked.request_id] = asked
        if asked.kind == "escalation":
            self.entries.append(Escalated(request_id=asked.request_id))

    def open_requests(self) -> tuple[Asked, ...]:
        """Return the requests that wait."""
        return tuple(asked for asked in self.requests.values() if asked.outcome is None)

    def settle(self, asked: Asked, outcome: Outcome, said: Said, at: datetime) -> None:
        """Close a request with the message that decided it."""
        if said.budget is not None:
            self.budgets.append(said.budget)
        self.requests[asked.request_id] = replace(
            asked, outcome=outcome, settled=said, closed_at=at
        )

    def refuse(self, said: Said) -> None:
        """Keep a message that changed nothing, with the request that it named while that waits."""
        asked = self.requests.get(said.request_id)
        if asked is None or asked.outcome is not None:
            self.hear(said)
            return
        self.requests[said.request_id] = replace(asked, refused=(*asked.refused, said))

    def expire(self, at: datetime) -> None:
        """Close the requests whose time is over: a wait ended by its timer."""
        limit = timedelta(seconds=self.agent.approval_timeout) if self.agent else timedelta(0)
        for asked in self.open_requests():
            if asked.at + limit > at + _MOMENT:
                continue
            self.requests[asked.request_id] = replace(asked, outcome="expired", closed_at=at)
            if (call := self.call(asked.call_id)) is not None:
                reason = f"nobody decided {asked.request_id} in time"
                failure = ToolFailure(
                    status="denied",
                    call_id=asked.call_id,
                    name=call.call.name,
                    type="approval_required",
                    reason=reason,
                )
                self.close_call(failure, at)

    def end(self, ended: Standing, at: datetime, failure: str | None = None) -> None:
        """Close the run: what nobody judged was too late, what has no result gets none."""
        self.ended, self.ended_at, self.failure = ended, at, failure
        while self.unjudged:
            said = self.unjudged.popleft()
            self.refuse(replace(said, accepted=False, refusal="the run was over first"))
        if self.turn is None or self.result is None or self.result.stop is None:
            return
        for call in self.turn.calls:
            if call.result is None:
                aborted = ToolFailure(
                    status="aborted",
                    call_id=call.call.call_id,
                    name=call.call.name,
                    type="aborted",
                    reason=self.result.stop.reason,
                )
                self.close_call(aborted, at)
