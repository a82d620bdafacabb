"""The transcript of a run that goes on: each line once, as soon as it won't change any more."""

from collections.abc import Iterator

from holdfast.trace.course import call_lines, escalation_lines
from holdfast.trace.entries import (
    AuditLine,
    BackgroundTask,
    Call,
    Entry,
    GuardrailRun,
    RunRequest,
    Turn,
)
from holdfast.trace.released import redact_entry, redact_trace
from holdfast.trace.transcript import ending, entry_lines, heading, turn_lines
from holdfast.trace.values import Trace
from holdfast.trace.words import Line


class Progress:
    """
    Remembers what was written.

    Calls of a turn come to their ends in any order. News of a call stand below the line that says
    which call it is, which is repeated when something else was written in between. An answer that
    is held back has been written as an answer: the lines below it say what became of it. Where
    output guardrails stand, nothing that a model says is written but the answer, at the end.
    """

    def __init__(self) -> None:
        self._headed = False
        self._seen = 0
        self._written: dict[str, int] = {}
        self._growing: list[int] = []
        self._read: dict[int, tuple[object, ...]] = {}
        self._latest_call = ""
        self._ended = False

    def fresh(self, trace: Trace) -> Iterator[Line]:
        """Return the lines that have come since the last time."""
        if not self._headed and (trace.goal or trace.entries or trace.ended_at):
            self._headed = True  # what a run tries again is known once it has been read
            yield from heading(redact_trace(trace))
        self._growing += range(self._seen, len(trace.entries))
        self._seen = len(trace.entries)
        for place in self._growing:
            if self._is_news(trace, place):
                yield from self._news(trace, place)
        self._growing = [
            place for place in self._growing if _may_grow(trace, trace.entries[place])
        ]
        if trace.ended_at is not None and not self._ended:
            self._ended = True
            yield from ending(redact_trace(trace))

    def _is_news(self, trace: Trace, place: int) -> bool:
        """Whether an entry has changed: in a flood of messages hardly any event changes one."""
        before = self._read.get(place, ())
        now = self._read[place] = tuple(_parts(trace, trace.entries[place]))
        return len(before) != len(now) or any(
            one is not other for one, other in zip(before, now, strict=True)
        )

    def _news(self, trace: Trace, place: int) -> Iterator[Line]:
        match redact_entry(trace, trace.entries[place]):
            case Turn() as entry:
                yield from self._others(entry.key, list(turn_lines(entry)))
                for call in entry.calls:
                    yield from self._call_news(trace, call, alone=len(entry.calls) == 1)
            case RunRequest(request_id=request_id):
                asked = trace.requests[request_id]
                yield from self._others(asked.key, list(escalation_lines(asked)))
            case AuditLine() as entry:
                # A note stands by itself: below it, too, it is clear which call was the latest.
                yield from self._select_new_lines(
                    f"entry {place}", list(entry_lines(trace, entry))
                )
            case entry:
                yield from self._others(f"entry {place}", list(entry_lines(trace, entry)))

    def _others(self, key: str, lines: list[Line]) -> list[Line]:
        fresh = self._select_new_lines(key, lines)
        if fresh:
            self._latest_call = ""
        return fresh

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


def _parts(trace: Trace, entry: Entry) -> Iterator[object]:
    """Return what the lines of an entry are made of; each value is another when it changes."""
    yield entry
    match entry:
        case Turn():
            for ruled in (ruled for call in entry.calls for ruled in call.rulings):
                if ruled.request_id is not None:
                    yield trace.requests[ruled.request_id]
        case RunRequest(request_id=request_id):
            yield trace.requests[request_id]
        case _:
            return


def _may_grow(trace: Trace, entry: Entry) -> bool:
    match entry:
        case Turn():
            return entry.ended_at is None or any(call.result is None for call in entry.calls)
        case RunRequest(request_id=request_id):
            return trace.requests[request_id].outcome is None
        case GuardrailRun() | BackgroundTask():
            return entry.ended_at is None
        case _:
            return False
