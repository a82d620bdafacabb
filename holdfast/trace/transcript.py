"""A trace as lines that a person reads. No colours, no terminal: those are the command line's."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast.contracts.delegation.relayed import RELAYED_SIGNALS
from holdfast.contracts.run import RunMetadata
from holdfast.run.texts.figures import dollars, duration, moment, pluralize
from holdfast.trace.course import (
    call_lines,
    escalation_lines,
    guardrail_lines,
    is_duplicate,
    message_line,
    task_lines,
)
from holdfast.trace.entries import (
    AuditLine,
    BackgroundTask,
    Call,
    Entry,
    GuardrailRun,
    RunRequest,
    Timed,
    Turn,
)
from holdfast.trace.released import redact_entry, redact_trace
from holdfast.trace.requests import MessageTrace
from holdfast.trace.values import Trace
from holdfast.trace.words import Line, short, with_time

# Audit lines that say again what other lines of the transcript say in their place.
_REDUNDANT_EVENTS = {
    "ruled",
    "escalated",
    "stopped",
    "blocked",
    "review",
    "message refused",
    "model failed",
    "answer sent back",
}


_EVENT_LABELS = {"approach failed": "went back"}
"""Audit lines that read better under another name."""


_FAULT_EVENTS = {"workflow task failed", "worker lost", "tripwire", "warning", "not undone"}


@dataclass
class _Block:
    """Lines about one thing, of which the first `written` stand in the transcript."""

    lines: list[Line]
    written: int = 0

    def take_until(self, moment: datetime | None) -> list[Line]:
        """Return the next lines, as far as they were known by then; null is all of them."""
        known = list[Line]()
        for line in self.lines[self.written :]:
            if moment is not None and line.at is not None and line.at > moment:
                break
            known.append(line)
        self.written += len(known)
        return known


def lines(trace: Trace) -> Iterator[Line]:
    """
    Write a run from its goal to its answer, or to where it stands, in the order of its times.

    What became of a call while other things were said stands below these, and below a line
    without a time that says which call it is.
    """
    yield from heading(trace)
    blocks: list[_Block] = []
    for entry in trace.entries:
        more = [block for block in _find_blocks(trace, entry) if block.lines]
        if more:
            yield from _write_until(blocks, entry.at)
            blocks = [block for block in blocks if block.written < len(block.lines)] + more
    yield from _write_until(blocks, None)
    yield from with_time(ending(trace), trace.ended_at)


def _find_blocks(trace: Trace, entry: Entry) -> Iterator[_Block]:
    ended = entry.ended_at if isinstance(entry, Timed) else None
    yield _Block(list(with_time(entry_lines(trace, entry), ended or entry.at)))
    for call in entry.calls if isinstance(entry, Turn) else ():
        yield _Block(list(with_time(call_lines(trace, call), call.at)))


def _write_until(blocks: Sequence[_Block], moment: datetime | None) -> Iterator[Line]:
    """Write of each block what was known by then, beginning with what was known first."""

    def find_next_time(block: _Block) -> datetime:
        return block.lines[block.written].at or datetime.min.replace(tzinfo=UTC)

    begun = [block for block in blocks if block.written < len(block.lines)]
    for block in sorted(begun, key=find_next_time):
        is_continued = block.written > 0
        known = block.take_until(moment)
        if known and is_continued:
            yield block.lines[0]._replace(at=None)
        yield from known


def heading(trace: Trace) -> Iterator[Line]:
    """Write what the run is about."""
    work = _describe_work(trace.brief) if trace.brief else "agent unknown"
    begun = moment(trace.started_at)
    yield Line(
        "session" if trace.is_session else "run",
        f"{trace.run_id}  {work}  {begun}",
        "quiet",
    )
    if trace.brief and (earlier := trace.brief.retry_of):
        first = earlier.first_execution_run_id
        of = f"{earlier.run_id}{f' (first execution {first})' if first else ''}"
        turn = f", turn {earlier.turn} anew" if earlier.turn else ""
        turn += ", dry" if earlier.dry else ""
        yield Line("forks" if earlier.turn else "retries", f"{of}{turn}")
    if not trace.is_session:
        yield Line("goal", short(trace.goal))


def _describe_work(brief: RunMetadata) -> str:
    """Say who works and, where the run was told, on whose behalf."""
    named = brief.model_dump(include={"actor", "tenant"}, exclude_defaults=True)
    actor = f" for {short(brief.actor)}" if "actor" in named else ""
    tenant = f", tenant {short(brief.tenant)}" if "tenant" in named else ""
    return f"agent {brief.agent}{actor}{tenant}"


def entry_lines(trace: Trace, entry: Entry) -> Iterator[Line]:
    """Write one entry as far as it has come; the calls of a turn are written each by itself."""
    match entry:
        case Turn():
            yield from _turn_lines(entry)
        case RunRequest(request_id=request_id):
            yield from escalation_lines(trace.requests[request_id])
        case MessageTrace() if entry.signal not in RELAYED_SIGNALS or entry.accepted is False:
            yield message_line(entry)
        case GuardrailRun():
            yield from guardrail_lines(entry)
        case BackgroundTask():
            yield from task_lines(entry)
        case AuditLine(event="message" | "outcome"):
            yield Line(entry.event, short(entry.text))
        case AuditLine() if entry.event not in _REDUNDANT_EVENTS and not is_duplicate(
            trace, entry
        ):
            fault = entry.event in _FAULT_EVENTS
            # What adapters note speaks for itself.
            name = _EVENT_LABELS.get(entry.event, entry.event)
            text = short(entry.text if name == "noted" else f"{name}: {entry.text}")
            yield Line("fault" if fault else "note", text, "bad" if fault else "quiet")
        case AuditLine() | MessageTrace():
            return


def _turn_lines(turn: Turn) -> Iterator[Line]:
    if turn.ended_at is None:
        return
    label = f"turn {turn.number}"
    model = turn.model
    if turn.error is not None:
        attempts = f" ({turn.attempts} attempts)" if turn.attempts > 1 else ""
        text = short(turn.error)
        yield Line(label, f"{model}  -> failed{attempts}: {text}", "bad")
        return
    came = _describe_outcome(turn)
    yield Line(label, f"{model}  -> {came}{_describe_usage(turn)}")
    if turn.purpose not in ("turn", "closing") and turn.text.strip():
        yield Line(turn.purpose, short(turn.text), indented=True)
    if turn.calls and turn.text.strip():
        yield Line("says", short(turn.text), indented=True)
    if turn.objections:
        text = short(f"it doesn't fit its schema: {'; '.join(turn.objections)}")
        yield Line("refused", text, "bad", indented=True)


def ending(trace: Trace) -> Iterator[Line]:
    """Write how the run ended and what it used, or what it waits for."""
    if trace.flood:
        codes = Counter(said.code or "refused" for said in trace.flood).most_common()
        kinds = ", ".join(f"{code} {number}" for code, number in codes)
        text = f"{pluralize(len(trace.flood), 'more message')}: {kinds}"
        yield Line("refused", text, "bad")
    for asked in trace.waiting:
        so_far = f" ({len(asked.approvals)} of {asked.count})" if asked.count > 1 else ""
        text = f"{asked.request_id} waits since {moment(asked.at)}{so_far}: {asked.reason}"
        yield Line("wait", short(text), "waiting")
    if (wait := trace.provider_wait) is not None:
        yield Line("wait", short(f"{wait.reason}; asked again at {moment(wait.until)}"), "waiting")
    if trace.ended_at is None:
        return
    result = trace.result
    if result is not None and result.answer is not None:
        yield Line("answer", result.answer, "good")
    elif result is not None and result.stop is not None:
        text = f"{result.stop.reason}: {short(result.stop.detail)}"
        yield Line(trace.status, text, "bad")
        yield Line("next", result.stop.next_safe_action, "bad")
    else:
        yield Line(trace.status.replace("_", " "), trace.failure or "", "bad")
    if result is not None and result.summary is not None:
        yield Line("summary", result.summary.text)
    for effect in result.unresolved if result is not None else ():
        yield Line("unknown", short(effect.summary), "bad")
    yield Line("used", _describe_total_usage(trace, trace.ended_at), "quiet")


def _describe_outcome(turn: Turn) -> str:
    if turn.purpose != "turn":
        return turn.purpose
    if turn.calls:
        return ", ".join(call.call.name for call in turn.calls)
    if turn.stop == "pause":
        return "pause"
    return "answer, held back" if turn.held_back else "answer"


def _describe_usage(turn: Turn) -> str:
    spent: list[str] = []
    if turn.usage.total_tokens:
        latency = timedelta(milliseconds=turn.latency_ms or 0)
        tokens = f"{turn.usage.input_tokens} + {turn.usage.output_tokens} tokens"
        spent += [tokens, duration(latency)]
    if turn.attempts > 1:
        spent.append(f"{turn.attempts} attempts")
    return f"  ({', '.join(spent)})" if spent else ""


def _describe_total_usage(trace: Trace, ended_at: datetime) -> str:
    ledger, result = trace.ledger, trace.result
    usage, steps = (result or ledger).usage, (result or ledger).steps
    cost = dollars(usage.estimated_cost)
    used = [
        pluralize(steps, "model turn"),
        pluralize(ledger.tool_calls, "tool call"),
    ]
    if ledger.hosted_calls:
        used.append(pluralize(ledger.hosted_calls, "hosted call"))
    used += [pluralize(usage.total_tokens, "token"), cost, duration(ended_at - trace.started_at)]
    return ", ".join(used)


class Progress:
    """
    Remembers what was written.

    Calls of a turn come to their ends in any order. News of a call stand below the line that says
    which call it is, which is repeated when something else was written in between. An answer that
    is held back later has been written as an answer: the lines below it say so. Where
    output guardrails stand, nothing that a model says is written but the answer, at the end.
    """

    def __init__(self) -> None:
        self._headed = False
        self._seen = 0
        self._written: dict[str, int] = {}
        self._latest_call = ""
        self._ended = False

    def fresh(self, trace: Trace) -> Iterator[Line]:
        """Return the lines that have come since the last time."""
        if not self._headed and (trace.goal or trace.entries or trace.ended_at):
            self._headed = True  # what a run tries again is known once it has been read
            yield from heading(redact_trace(trace))
        fresh, self._seen = trace.changed[self._seen :], len(trace.changed)
        for place in sorted(set(fresh)):
            yield from self._news(trace, place)
        if trace.ended_at is not None and not self._ended:
            self._ended = True
            yield from ending(redact_trace(trace))

    def _news(self, trace: Trace, place: int) -> Iterator[Line]:
        entry = redact_entry(trace, trace.entries[place])
        fresh = self._select_new_lines(f"entry {place}", list(entry_lines(trace, entry)))
        # A note stands by itself: below it, too, it is clear which call was the latest.
        if fresh and not isinstance(entry, AuditLine):
            self._latest_call = ""
        yield from fresh
        calls = entry.calls if isinstance(entry, Turn) else ()
        for call in calls:
            yield from self._call_news(trace, call, alone=len(calls) == 1)

    def _call_news(self, trace: Trace, call: Call, *, alone: bool) -> Iterator[Line]:
        title, *rest = call_lines(trace, call)
        # Of several calls only those are begun that have news: the turn's line names them all.
        begins = alone and call.key not in self._written
        news = self._select_new_lines(call.key, rest)
        if begins or (news and self._latest_call != call.key):
            self._latest_call = call.key
            yield title
        yield from news

    def _select_new_lines(self, key: str, lines: list[Line]) -> list[Line]:
        fresh = lines[self._written.get(key, 0) :]
        self._written[key] = len(lines)
        return fresh
