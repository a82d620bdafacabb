"""The trace while it is read: what is already known, and how one more fact changes it."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent

from holdfast.contracts.approvals import RequestOutcome
from holdfast.contracts.calls import AnyCall, ToolResult
from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.contracts.journal import HandoffRecord, MessageEnded, MessageTaken
from holdfast.contracts.run import AgentSnapshot
from holdfast.run import tool_results
from holdfast.run.approvals import describe_rejection
from holdfast.run.delegation.ceilings import bind_brief, find_ceiling
from holdfast.run.delegation.handoffs import limit_receiver
from holdfast.run.delegation.part_ids import find_commanding_guardrail, find_judging_guardrail
from holdfast.run.summaries import journal_line
from holdfast.trace.entries import AuditLine, Call, DecisionTrace, Entry, RunRequest, Turn
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace
from holdfast.trace.values import Trace, TraceStatus

Readers: TypeAlias = dict[EventType.ValueType, Callable[[HistoryEvent], None]]
"""What reads which type of event."""

MAX_REFUSAL_LINES = 100
"""How many refused messages have lines of their own; a flood of them buries nothing else."""


@dataclass(kw_only=True)
class TraceBuilder(Trace):
    """A trace that grows. Entries are only added; calls, requests and the last turn change."""

    unjudged: deque[MessageTrace] = field(default_factory=deque[MessageTrace], init=False)
    _asked_at: dict[str, int | None] = field(default_factory=dict[str, int | None], init=False)
    _receiver: AgentSnapshot | None = field(default=None, init=False)
    _refused: int = field(default=0, init=False)
    _turn_at: int | None = field(default=None, init=False)

    @property
    def turn(self) -> Turn | None:
        """The latest turn."""
        if self._turn_at is None:
            return None
        turn = self.entries[self._turn_at]
        return turn if isinstance(turn, Turn) else None

    def add(self, entry: Entry) -> int:
        """Add an entry, and say where; a turn becomes the latest."""
        if isinstance(entry, Turn):
            self._turn_at, self.provider_wait = len(self.entries), None
        self.entries.append(entry)
        self.changed.append(len(self.entries) - 1)
        return self.changed[-1]

    def put(self, place: int, entry: Entry) -> None:
        """Put a changed entry in the place of what it was."""
        self.entries[place] = entry
        self.changed.append(place)

    def change_turn(self, turn: Turn) -> None:
        """Put a changed turn in the place of the latest."""
        if self._turn_at is not None:
            self.put(self._turn_at, turn)

    def withhold_answer(self) -> None:
        """Keep that the answer of the latest turn, if that is one, doesn't go out."""
        if (turn := self.turn) is not None and turn.is_answer:
            self.change_turn(replace(turn, held_back=True))

    def find_call(self, call_id: str) -> Call | None:
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
            replace(call, call=call.call.with_(call_id=call_id))
            for call, call_id in zip(turn.calls, call_ids, strict=True)
        )
        self.change_turn(replace(turn, calls=calls))

    def put_call(self, fresh: Call) -> None:
        """Put a changed call in the place of what it was in the latest turn."""
        turn, known = self.turn, self.find_call(fresh.call.call_id)
        if turn is not None:
            calls = tuple(fresh if one is known else one for one in turn.calls)
            self.change_turn(replace(turn, calls=calls))

    def close_call(self, result: ToolResult, at: datetime) -> None:
        """Give a call that doesn't run, or no longer, its result."""
        if (call := self.find_call(result.call_id)) is not None:
            self.put_call(replace(call, result=result, ended_at=at))

    def add_audit_line(self, event: str, text: str, at: datetime) -> None:
        """Add an audit line."""
        self.add(AuditLine(event=event, text=text, at=at))

    def open_agent(self, opened: AgentSnapshot | None) -> None:
        """Take the agent of the run, or one that will go on with it once its handoff is made."""
        if self.agent is None:
            self.agent = opened
        else:
            self._receiver = opened

    def take_progress(self, event: HandoffRecord | MessageTaken | MessageEnded) -> None:
        """Note who goes on, or with which message of a session."""
        if isinstance(event, HandoffRecord):
            self._hand_over(event)
        at = event.timestamp if isinstance(event, HandoffRecord) else event.at
        name = event.type.rpartition(".")[2]
        self.add(AuditLine(event=name, text=journal_line(event), at=at, told=event))

    def _hand_over(self, made: HandoffRecord) -> None:
        """Let the receiver go on as the run does: bound by all that bound the sender."""
        sender, receiver, brief = self.agent, self._receiver, self.brief
        if made.return_expected or sender is None or brief is None:
            return
        self.agent = receiver and limit_receiver(sender, brief, receiver)
        self.brief = bind_brief(brief, find_ceiling(sender, brief))

    def put_message(self, place: int, judged: MessageTrace) -> None:
        """Put what became of a message in the place where it was taken to count."""
        self.put(place, judged)
        if not judged.accepted:
            self.holds.pop(place, None)

    def find_command_guardrail(self, call_id: str) -> GuardrailSpec | None:
        """Return the guardrail for which a command runs as this call: its name and a number."""
        return self.find_guardrail(find_commanding_guardrail(call_id))

    def find_judge(self, run_id: str) -> GuardrailSpec | None:
        """Return the guardrail for which another agent judges in this run."""
        spec = self.find_guardrail(find_judging_guardrail(run_id))
        return spec if spec is not None and spec.agent is not None else None

    def key(self, event: HistoryEvent) -> str:
        """Name an event so that no other of the run has the name."""
        return self.build_key(event.event_id)

    def build_key(self, event_id: int) -> str:
        """Name an event of the current execution: each counts its own."""
        return f"{self.executions}.{event_id}"

    def open_request(self, asked: RequestTrace) -> None:
        """Open a request, which a decision about its call led to, or the run itself."""
        if asked.request_id in self.requests:
            return  # as the state that was carried over has it
        self.requests[asked.request_id], place = asked, self._turn_at
        if asked.is_of_run:
            place = self.add(RunRequest(request_id=asked.request_id, at=asked.at))
        elif (call := self.find_call(asked.call_id)) is not None and call.rulings:
            *before, ruled = call.course
            if isinstance(ruled, DecisionTrace):
                ruled = replace(ruled, request_id=asked.request_id)
                self.put_call(replace(call, course=(*before, ruled)))
        self._asked_at[asked.request_id] = place

    def put_request(self, asked: RequestTrace) -> None:
        """Put a changed request in the place of what it was."""
        self.requests[asked.request_id] = asked
        if (place := self._asked_at[asked.request_id]) is not None:
            self.changed.append(place)

    def hear(self, request_id: str, heard: MessageTrace | EscalatedToGroup) -> bool:
        """Keep what happened while a request waits; false if none waits under this id."""
        asked = self.requests.get(request_id)
        if asked is None or asked.outcome is not None:
            return False
        self.put_request(replace(asked, heard=(*asked.heard, heard)))
        return True

    def refuse(self, said: MessageTrace) -> None:
        """Keep a message that changed nothing, with the request that it named while that waits."""
        self._refused += 1
        if self._refused > MAX_REFUSAL_LINES:
            self.flood.append(said)
        elif not self.hear(said.request_id, said):
            self.add(said)

    def close_request(
        self,
        asked: RequestTrace,
        outcome: RequestOutcome,
        at: datetime,
        said: MessageTrace | None = None,
    ) -> None:
        """Close a request, perhaps with the message that decided it; its call may be over."""
        closed = replace(asked, outcome=outcome, settled=said, closed_at=at)
        self.put_request(closed)
        if said is not None and said.budget is not None:
            self.budgets.append(said.budget)
        call = self.find_call(asked.call_id)
        result = call and self._build_result(closed, call.call, at)
        if result is not None:
            self.close_call(result, at)

    def _build_result(
        self, closed: RequestTrace, call: AnyCall, at: datetime
    ) -> ToolResult | None:
        """Build the result of a call that follows from what people said; null if it goes on."""
        said, is_review = closed.settled, closed.kind == "review"
        match closed.outcome:
            case "answered" if said is not None:
                contract = self.agent.find_tool(call.name) if self.agent else None
                return tool_results.build_answer(call, said.text, contract)
            case "rejected" if said is not None:
                watched = self.brief is not None and self.brief.words_watched
                why = describe_rejection(said.author, said.reason, watched=watched)
                if not is_review:
                    return tool_results.build_rejection(call, why)
            case "expired" if is_review:
                why = "nobody decided in time"
            case "expired":
                until = closed.expires_at or at
                return tool_results.build_expiry(call, closed.request_id, until)
            case _:
                return None
        by_person = said is not None
        return tool_results.build_review_denial(call, closed.reason, why, by_person=by_person)

    def end(self, ended: TraceStatus, at: datetime, failure: str | None = None) -> None:
        """Close the run: what nobody judged was too late, what has no result gets none."""
        self.ended, self.ended_at, self.failure = ended, at, failure
        self.provider_wait = None
        while self.unjudged:
            self.refuse(self.unjudged.popleft().refuse("the run was over first", "over"))
        if self.turn is None or self.result is None or self.result.stop is None:
            return
        for call in self.turn.calls:
            if call.result is None:
                self.close_call(tool_results.build_abort(call.call, self.result.stop.reason), at)
