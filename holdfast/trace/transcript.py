"""A trace as lines that a person reads. No colours, no terminal: those are the command line's."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from holdfast.trace.background_tasks import BackgroundTask, GuardrailRun
from holdfast.trace.course import call_lines, escalation_lines, message_line, result_lines
from holdfast.trace.errands import guardrail_lines, is_duplicate, task_lines
from holdfast.trace.values import (
    AuditLine,
    Call,
    Entry,
    MessageTrace,
    RunRequest,
    Trace,
    Turn,
)
from holdfast.trace.words import Line, dollars, duration, moment, pluralize, short, with_time

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


def lines(trace: Trace) -> Iterator[Line]:
    """
    Write a run from its goal to its answer, or to where it stands.

    Guardrails and people look at a call before it runs: its result stands below what they said.
    """
    yield from heading(trace)
    under_way: list[Call] = []
    for place, entry in enumerate(trace.entries):
        for call in [call for call in under_way if _ended_before(call, _find_start(trace, entry))]:
            under_way.remove(call)
            yield from result_lines(trace, call)
        if not isinstance(entry, Turn):
            yield from with_time(entry_lines(trace, entry), _find_end(trace, entry))
            continue
        said = turn_lines(entry, held_back=entry.held_back)
        yield from with_time(said, entry.ended_at)
        looked = _find_first_check(trace, place)
        for call in entry.calls:
            if looked is None or call.result is None or _ended_before(call, looked):
                yield from call_lines(trace, call)
            else:
                under_way.append(call)
                yield from call_lines(trace, replace(call, result=None))
    for call in under_way:
        yield from result_lines(trace, call)
    yield from with_time(ending(trace), trace.ended_at)


def _find_first_check(trace: Trace, turn: int) -> datetime | None:
    """Return when somebody first looked at what a turn asked for, before the next turn."""
    for place in range(turn + 1, len(trace.entries)):
        entry = trace.entries[place]
        if isinstance(entry, Turn):
            return None
        if isinstance(entry, GuardrailRun | RunRequest):
            return _find_start(trace, entry)
    return None


def _ended_before(call: Call, moment: datetime) -> bool:
    return call.ended_at is None or call.ended_at <= moment


def _find_end(trace: Trace, entry: Entry) -> datetime:
    """Return when it was known what the lines of an entry say."""
    ended = entry.ended_at if isinstance(entry, GuardrailRun | BackgroundTask) else None
    return ended or _find_start(trace, entry)


def _find_start(trace: Trace, entry: Entry) -> datetime:
    return trace.requests[entry.request_id].at if isinstance(entry, RunRequest) else entry.at


def heading(trace: Trace) -> Iterator[Line]:
    """Write what the run is about."""
    agent = trace.brief.agent if trace.brief else "unknown"
    begun = moment(trace.started_at)
    yield Line("run", f"{trace.run_id}  agent {agent}  {begun}", "quiet")
    if trace.brief and (earlier := trace.brief.retry_of):
        first = earlier.first_execution_run_id
        yield Line("retries", f"{earlier.run_id}{f' (first execution {first})' if first else ''}")
    yield Line("goal", short(trace.goal))


def entry_lines(trace: Trace, entry: Entry) -> Iterator[Line]:
    """Write one entry as far as it has come."""
    match entry:
        case Turn():
            yield from turn_lines(entry, held_back=entry.held_back)
            for call in entry.calls:
                yield from call_lines(trace, call)
        case RunRequest(request_id=request_id):
            yield from escalation_lines(trace.requests[request_id])
        case MessageTrace():
            yield message_line(entry)
        case GuardrailRun():
            yield from guardrail_lines(entry)
        case BackgroundTask():
            yield from task_lines(entry)
        case AuditLine() if entry.event not in _REDUNDANT_EVENTS and not is_duplicate(
            trace, entry
        ):
            fault = entry.event in _FAULT_EVENTS
            # What adapters note speaks for itself.
            name = _EVENT_LABELS.get(entry.event, entry.event)
            text = short(entry.text if name == "noted" else f"{name}: {entry.text}")
            yield Line("fault" if fault else "note", text, "bad" if fault else "quiet")
        case AuditLine():
            return


def turn_lines(turn: Turn, *, held_back: bool = False) -> Iterator[Line]:
    """
    Write a turn of the model once it is over; its calls are written each by itself.

    That an answer was held back is known only later: who watches a run reads it below.
    """
    if turn.ended_at is None:
        return
    label = f"turn {turn.number}"
    model = turn.model
    if turn.error is not None:
        attempts = f" ({turn.attempts} attempts)" if turn.attempts > 1 else ""
        text = short(turn.error)
        yield Line(label, f"{model}  -> failed{attempts}: {text}", "bad")
        return
    came = _describe_outcome(turn, held_back=held_back)
    yield Line(label, f"{model}  -> {came}{_describe_usage(turn)}")
    if turn.purpose != "turn" and turn.text.strip():
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
    for effect in result.unresolved if result is not None else ():
        yield Line("unknown", short(f"whether it happened: {effect.summary}"), "bad")
    yield Line("used", _describe_total_usage(trace, trace.ended_at), "quiet")


def _describe_outcome(turn: Turn, *, held_back: bool) -> str:
    if turn.purpose != "turn":
        return turn.purpose
    if turn.calls:
        return ", ".join(call.call.name for call in turn.calls)
    if turn.stop == "pause":
        return "pause"
    return "answer, held back" if held_back else "answer"


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
    usage = trace.result.usage if trace.result else trace.usage
    cost = dollars(usage.estimated_cost)
    used = [
        pluralize(len(trace.turns) + sum(part.steps for part in trace.part_ledgers), "model turn"),
        pluralize(trace.tool_calls, "tool call"),
    ]
    if trace.hosted_calls:
        used.append(pluralize(trace.hosted_calls, "hosted call"))
    used += [pluralize(usage.total_tokens, "token"), cost, duration(ended_at - trace.started_at)]
    return ", ".join(used)
