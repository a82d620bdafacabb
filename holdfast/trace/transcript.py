"""A trace as lines that a person reads. No colours, no terminal: those are the command line's."""

import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from contracts.tools import ToolFailure, ToolSuccess
from holdfast.trace.values import Asked, Call, Entry, Escalated, Noted, Ruled, Said, Trace, Turn
from workflows.summaries import call_line, shortened

Tone: TypeAlias = Literal["plain", "quiet", "good", "bad", "waiting"]

LIMIT = 200
"""Characters of a line's text; the whole of everything is in the spans."""

_WIDTH = 8
# Scripts and emoji need them; they move nothing.
_JOINERS = "\u200c\u200d"
# Audit lines that say again what other lines of the transcript say in their place.
_SAID_ELSEWHERE = {"ruled", "stopped", "message refused", "model failed", "answer sent back"}


class Line(NamedTuple):
    """A line of the transcript: what it is about, and the text."""

    label: str
    text: str
    tone: Tone = "plain"
    indented: bool = False

    def __str__(self) -> str:
        return f"{'  ' if self.indented else ''}{self.label:<{_WIDTH - 1}} {self.text}"


def lines(trace: Trace) -> Iterator[Line]:
    """Write a run from its goal to its answer, or to where it stands."""
    yield from heading(trace)
    for entry in trace.entries:
        yield from entry_lines(trace, entry)
    yield from ending(trace)


def heading(trace: Trace) -> Iterator[Line]:
    """Write what the run is about."""
    agent = trace.brief.agent if trace.brief else "unknown"
    begun = moment(trace.started_at)
    yield Line("run", plain(f"{trace.run_id}  agent {agent}  {begun}"), "quiet")
    yield Line("goal", _line(trace.goal))


def entry_lines(trace: Trace, entry: Entry) -> Iterator[Line]:
    """Write one entry as far as it has come."""
    match entry:
        case Turn():
            yield from turn_lines(entry)
            for call in entry.calls:
                yield from call_lines(trace, call)
        case Escalated(request_id=request_id):
            yield from escalation_lines(trace.requests[request_id])
        case Said():
            yield _said(entry)
        case Noted() if entry.event not in _SAID_ELSEWHERE:
            fault = entry.event in {"workflow task failed", "worker lost"}
            # What adapters note speaks for itself.
            text = _line(entry.text if entry.event == "noted" else f"{entry.event}: {entry.text}")
            yield Line("fault" if fault else "note", text, "bad" if fault else "quiet")
        case Noted():
            return


def turn_lines(turn: Turn) -> Iterator[Line]:
    """Write a turn of the model once it is over; its calls are written each by itself."""
    if turn.ended_at is None:
        return
    label = f"turn {turn.number}"
    model = plain(turn.model)
    if turn.error is not None:
        attempts = f" ({turn.attempts} attempts)" if turn.attempts > 1 else ""
        text = _line(turn.error)
        yield Line(label, f"{model}  -> failed{attempts}: {text}", "bad")
        return
    asked = ", ".join(plain(call.call.name) for call in turn.calls)
    came = asked or ("pause" if turn.stop == "pause" else "answer")
    yield Line(label, f"{model}  -> {came}{_spent(turn)}")
    if turn.calls and turn.text.strip():
        yield Line("says", _line(turn.text), indented=True)
    if turn.objections:
        text = _line(f"it doesn't fit its schema: {'; '.join(turn.objections)}")
        yield Line("refused", text, "bad", indented=True)


def call_lines(trace: Trace, call: Call) -> Iterator[Line]:
    """Write a call as far as it has come. What is written of it never changes, it only grows."""
    yield Line("call", plain(call_line(call.call, LIMIT)), indented=True)
    for ruled in call.rulings:
        if ruled.verdict != "allow":
            yield _ruling(call, ruled)
        if ruled.request_id is not None:
            yield from request_lines(trace.requests[ruled.request_id])
    if call.result is not None:
        yield _result(call, call.result)


def request_lines(asked: Asked) -> Iterator[Line]:
    """Write what people said about a request, and how the wait for them ended."""
    for said in asked.refused:
        yield _said(said)._replace(indented=True)
    if asked.outcome is not None:
        by = f" by {asked.settled.sender}" if asked.settled and asked.settled.sender else ""
        words = asked.settled.reason if asked.settled else ""
        after = f" after {duration(asked.waited or timedelta(0))}"
        text = f"{asked.outcome}{by}{after}{': ' if words else ''}{words}"
        tone: Tone = "bad" if asked.outcome in {"rejected", "expired"} else "good"
        yield Line("wait", _line(text), tone, indented=True)


def escalation_lines(asked: Asked) -> Iterator[Line]:
    """Write that the run itself waits, and what somebody decided about it."""
    yield Line("wait", f"escalated: {plain(asked.reason)} ({asked.request_id})", "waiting")
    for line in request_lines(asked):
        decision = f" ({asked.settled.text})" if asked.settled and line.label == "wait" else ""
        yield line._replace(text=f"{line.text}{decision}", indented=False)


def ending(trace: Trace) -> Iterator[Line]:
    """Write how the run ended and what it used, or what it waits for."""
    for asked in trace.waiting:
        text = f"{asked.request_id} waits since {moment(asked.at)}: {asked.reason}"
        yield Line("wait", _line(text), "waiting")
    if trace.ended_at is None:
        return
    result = trace.result
    if result is not None and result.answer is not None:
        yield Line("answer", paragraph(result.answer), "good")
    elif result is not None and result.stop is not None:
        text = f"{plain(result.stop.reason)}: {plain(result.stop.detail)}"
        yield Line(trace.status, text, "bad")
        yield Line("next", plain(result.stop.next_safe_action), "bad")
    else:
        yield Line(trace.status.replace("_", " "), plain(trace.failure or ""), "bad")
    yield Line("used", _used(trace, trace.ended_at), "quiet")


def plain(text: str) -> str:
    """
    Make every character visible.

    Models, tools and strangers wrote it: a control character could repaint the terminal on which
    somebody decides about an approval.
    """
    return "".join(_visible(character) for character in text)


def paragraph(text: str) -> str:
    """Write a text of several lines beside a label."""
    return f"\n{' ' * _WIDTH}".join(plain(line) for line in text.splitlines())


def moment(time: datetime) -> str:
    """Write a time."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def duration(time: timedelta) -> str:
    """Write how long something took: `42 ms`, `3.1 s`, `2m 3s`, `3d 4h`."""
    seconds = max(time.total_seconds(), 0.0)
    if time < timedelta(seconds=1):
        return f"{round(seconds * 1000)} ms"
    if time < timedelta(minutes=1):
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"


def dollars(amount: Decimal | None) -> str:
    """Write an estimated cost."""
    if amount is None:
        return "cost unknown"
    return f"${amount:.4f}" if amount else "$0"


def counted(number: int, noun: str) -> str:
    """Write how many there are of something: `1 token`, `2 tokens`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _line(text: str) -> str:
    return plain(shortened(text, LIMIT))


def _visible(character: str) -> str:
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}
    if not hidden or character in _JOINERS:
        return character
    return character.encode("unicode_escape").decode()


def _spent(turn: Turn) -> str:
    spent: list[str] = []
    if turn.usage.total_tokens:
        latency = timedelta(milliseconds=turn.latency_ms or 0)
        tokens = f"{turn.usage.input_tokens} + {turn.usage.output_tokens} tokens"
        spent += [tokens, duration(latency)]
    if turn.attempts > 1:
        spent.append(f"{turn.attempts} attempts")
    return f"  ({', '.join(spent)})" if spent else ""


def _ruling(call: Call, ruled: Ruled) -> Line:
    risk = f" ({ruled.risk})" if ruled.risk else ""
    tone: Tone = "waiting" if ruled.request_id else "bad"
    return Line("rule", f"{plain(call.call.name)}: {ruled.verdict}{risk}", tone, indented=True)


def _result(call: Call, result: ToolSuccess | ToolFailure) -> Line:
    attempts = f", {call.attempts} attempts" if call.attempts > 1 else ""
    elapsed = f" ({call.elapsed_ms} ms{attempts})" if call.elapsed_ms is not None else ""
    if isinstance(result, ToolSuccess):
        text = f"ok  {_line(result.summary)}{elapsed}"
        return Line("result", text, "good", indented=True)
    kind = "" if result.type == result.status else f"{result.type}: "
    text = f"{result.status}  {kind}{_line(result.reason)}{elapsed}"
    return Line("result", text, "bad", indented=True)


def _said(said: Said) -> Line:
    by = f" by {said.sender}" if said.sender else ""
    about = f" of {said.request_id}" if said.request_id else ""
    if said.accepted is False:
        text = f"{said.signal}{about}{by}: {said.refusal}"
        return Line("refused", _line(text), "bad")
    return Line(plain(said.signal), _line(said.text) or f"from {said.identity}")


def _used(trace: Trace, ended_at: datetime) -> str:
    usage = trace.result.usage if trace.result else trace.usage
    cost = dollars(usage.estimated_cost)
    turns, calls = len(trace.turns), sum(call.started_at is not None for call in trace.calls)
    used = [counted(turns, "model turn"), counted(calls, "tool call")]
    if trace.hosted_calls:
        used.append(counted(trace.hosted_calls, "hosted call"))
    used += [counted(usage.total_tokens, "token"), cost, duration(ended_at - trace.started_at)]
    return ", ".join(used)
