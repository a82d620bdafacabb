"""What a worker decided and put on record, and which operation of a run is kept as what."""

from collections.abc import Callable
from datetime import datetime

from pydantic import TypeAdapter

from holdfast.contracts.approvals import Verdicts
from holdfast.contracts.decisions import Rulings, fill_arguments
from holdfast.contracts.journal import Journal
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state import Carryover
from holdfast.run import tool_results
from holdfast.trace.builder import TraceBuilder
from holdfast.trace.carried import take_over
from holdfast.trace.operations import Operation, Outcome, Work
from holdfast.trace.own import begin_own
from holdfast.trace.payloads import decode
from holdfast.trace.signal_reader import SignalReader
from holdfast.trace.turns import TurnWork, begin_call
from holdfast.trace.values import DecisionTrace

_SNAPSHOT = TypeAdapter(AgentSnapshot)
_CARRYOVER = TypeAdapter(Carryover)
_RULINGS = TypeAdapter(Rulings)
_VERDICTS = TypeAdapter(Verdicts)
_JOURNAL = TypeAdapter(Journal)


class _Answer:
    """An activity of which only the answer is read."""

    beside = False

    def __init__(self, read: Callable[[Outcome], None]) -> None:
        self.end = read

    def start(self, _attempts: int, _began: datetime) -> None:
        """Nobody is told when it began."""


class OperationKeeper:
    """Begins to keep each operation of a run. Only local activities decide."""

    def __init__(self, chronicle: TraceBuilder, people: SignalReader) -> None:
        self._chronicle = chronicle
        self._people = people

    def begin(self, operation: Operation) -> Work | None:
        """Begin; null where a trace says nothing of it."""
        match operation.kind, operation.name:
            case "local", "open_run":
                return _Answer(self._open)
            case "local", "read_earlier_run":
                return _Answer(self._take_over)
            case "local", "authorize":
                return _Answer(self._rule)
            case "local", "judge":
                return _Answer(self._judge)
            case "local", "record":
                return _Answer(lambda outcome: self._record(operation, outcome))
            case "activity", "call_model":
                return TurnWork(self._chronicle, operation)
            case "activity", "mark_judged":
                return None
            case "activity", "find_worker":
                said = f"it goes on with {operation.summary}"
                return self._chronicle.add_audit_line("handed back", said, operation.at)
            case _:
                own = begin_own(self._chronicle, operation)
                return own or begin_call(self._chronicle, operation)

    def _open(self, outcome: Outcome) -> None:
        self._chronicle.agent = decode(outcome.payloads, _SNAPSHOT)

    def _take_over(self, outcome: Outcome) -> None:
        take_over(self._chronicle, decode(outcome.payloads, _CARRYOVER))

    def _judge(self, outcome: Outcome) -> None:
        if (verdicts := decode(outcome.payloads, _VERDICTS)) is not None:
            self._people.apply_verdicts(verdicts, outcome.at)

    def _record(self, operation: Operation, outcome: Outcome) -> None:
        """Take a line of the audit, and what came with it; that may be all there is of it."""
        name, _, text = operation.summary.partition(": ")
        journal = decode(outcome.payloads, _JOURNAL)
        told = journal.events if journal else ()
        if name not in {one.type for one in told}:
            self._chronicle.add_audit_line(name, text, outcome.at)
        for one in told:
            self._people.take(one, operation.key)

    def _rule(self, outcome: Outcome) -> None:
        answer = decode(outcome.payloads, _RULINGS)
        if answer is None:
            return
        call_ids = [ruling.call_id for ruling in answer.rulings]
        if not any(map(self._chronicle.find_command_guardrail, call_ids)):
            self._chronicle.name_calls(call_ids)
        for ruling in answer.rulings:
            call = self._chronicle.find_call(ruling.call_id)
            if call is None or call.result is not None:
                continue
            ruled = DecisionTrace(ruling=ruling, policy=answer.policy, at=outcome.at)
            self._chronicle.change_call(
                ruling.call_id,
                call=fill_arguments(call.call, ruling),
                course=(*call.course, ruled),
            )
            if (refusal := tool_results.build_refusal(ruling)) is not None:
                self._chronicle.close_call(refusal, outcome.at)
