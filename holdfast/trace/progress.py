"""The transcript of a run that goes on: each line once, as soon as it won't change any more."""

from collections.abc import Iterator

from holdfast.trace.course import call_lines, escalation_lines
from holdfast.trace.entries import (
    AuditLine,
    Call,
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
