"""What the turns of a trace tell those who watch the run."""

from collections.abc import Iterator
from typing import TypeAlias

from holdfast.client.disclosure import find_arguments, serves_guarded_run, show_result
from holdfast.client.event_data import (
    DecisionMade,
    EventData,
    PlanMade,
    RequestedCall,
    ToolCompleted,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from holdfast.client.events import EventType
from holdfast.contracts.calls import Purpose, ToolResult
from holdfast.contracts.decisions import Decided
from holdfast.contracts.guardrails import WITHHELD
from holdfast.trace.entries import AuxiliaryCall, Call, DecisionTrace, Turn
from holdfast.trace.values import Trace

Told: TypeAlias = tuple[EventType, EventData]


def tell_turn(run: Trace, before: Turn | None, turn: Turn) -> Iterator[Told]:
    """Tell that a model was asked, and what came of it; *turn* is without what isn't told."""
    if before is None:
        started = TurnStarted(turn=turn.number, purpose=turn.purpose, model=turn.model)
        yield EventType.TURN_STARTED, started
    if turn.ended_at is None or (before is not None and before.ended_at is not None):
        return
    yield (
        EventType.TURN_COMPLETED,
        TurnCompleted(
            turn=turn.number,
            purpose=turn.purpose,
            model=turn.model,
            attempts=turn.attempts,
            text=turn.text if turn.calls else "",
            calls=tuple(
                RequestedCall(
                    index=index,
                    call_id=call.call.call_id,
                    name=call.call.name,
                    arguments=find_arguments(run, call.call),
                )
                for index, call in enumerate(turn.calls)
            ),
            stop=turn.stop,
            objections=turn.objections,
            error=turn.error,
            latency_ms=turn.latency_ms,
            first_token_ms=turn.first_token_ms,
        ),
    )
    if turn.purpose == "plan" and turn.text.strip():
        yield EventType.PLAN, PlanMade(text=turn.text)


def tell_calls(run: Trace, before: Turn | None, turn: Turn) -> Iterator[Told]:
    """Tell what became known of the calls of a turn."""
    earlier = before.calls if before is not None else ()
    for index, call in enumerate(turn.calls):
        known = earlier[index] if index < len(earlier) else None
        if call is not known:
            yield from _CallNews(run, turn, index, known, call)


class _CallNews:
    """What is new of one call."""

    def __init__(
        self, run: Trace, turn: Turn, index: int, before: Call | None, call: Call
    ) -> None:
        self._run = run
        self._turn = turn
        self._index = index
        self._before = before
        self._call = call

    def __iter__(self) -> Iterator[Told]:
        """Yield it in the order in which it happened."""
        earlier = self._before.course if self._before is not None else ()
        for place, step in enumerate(self._call.course):
            known = earlier[place] if place < len(earlier) else None
            match known, step:
                case None, DecisionTrace():
                    yield self._tell_decision(step)
                case None | AuxiliaryCall(), AuxiliaryCall():
                    yield from self._tell_auxiliary(known, step)
                case _:
                    pass
        call, before = self._call, self._before
        if _has_begun(call) and (before is None or not _has_begun(before)):
            yield self._tell_beginning(call.call.name, "call", call.draft_id)
        if call.result is not None and (before is None or before.result is None):
            yield self._tell_result(call, call.call.name, "call", call.result)

    def _tell_decision(self, ruled: DecisionTrace) -> Told:
        ruling, hidden = ruled.ruling, serves_guarded_run(self._run)
        decided = ruling if isinstance(ruling, Decided) and not hidden else None
        decision = DecisionMade(
            turn=self._turn.number,
            index=self._index,
            call_id=self._call.call.call_id,
            name=self._call.call.name,
            verdict=ruled.verdict,
            rule=ruled.rule,
            policy=ruled.policy,
            reason=WITHHELD if hidden else ruled.reason,
            risk=ruled.risk,
            scope=decided and decided.scope,
            arguments_digest=decided and decided.arguments_digest,
        )
        return EventType.DECISION, decision

    def _tell_auxiliary(self, before: AuxiliaryCall | None, ran: AuxiliaryCall) -> Iterator[Told]:
        if before is None:
            yield self._tell_beginning(ran.tool, ran.purpose, ran.draft_id)
        if ran.result is not None and (before is None or before.result is None):
            yield self._tell_result(ran, ran.tool, ran.purpose, ran.result)

    def _tell_beginning(self, name: str, purpose: Purpose, draft_id: str) -> Told:
        started = ToolStarted(
            turn=self._turn.number,
            index=self._index,
            call_id=self._call.call.call_id,
            name=name,
            purpose=purpose,
            arguments=find_arguments(self._run, self._call.call),
            draft_id=draft_id,
        )
        return EventType.TOOL_STARTED, started

    def _tell_result(
        self, ran: Call | AuxiliaryCall, name: str, purpose: Purpose, result: ToolResult
    ) -> Told:
        completed = ToolCompleted(
            turn=self._turn.number,
            index=self._index,
            call_id=self._call.call.call_id,
            name=name,
            purpose=purpose,
            ran=ran.started_at is not None,
            result=show_result(self._run, result),
            attempts=ran.attempts,
            elapsed_ms=ran.elapsed_ms,
        )
        return EventType.TOOL_COMPLETED, completed


def _has_begun(call: Call) -> bool:
    return bool(call.task_queue) or call.started_at is not None
