"""What of a run is shown to those who watch it: no words that output guardrails look at."""

from dataclasses import replace

from holdfast.run.answers import WITHHELD
from holdfast.trace.background_tasks import BackgroundTask
from holdfast.trace.values import AuditLine, Entry, Trace, Turn

_MODEL_EVENTS = {"approach", "answer sent back"}
"""Audit lines that repeat what a model said."""


def redact_trace(trace: Trace) -> Trace:
    """Return a trace without what is told to nobody but auditors."""
    shown = replace(trace, entries=tuple(redact_entry(trace, one) for one in trace.entries))
    if trace.brief is None or not trace.brief.withheld:
        return shown
    result = trace.result
    if result is not None:
        result = result.with_(answer=None, output=None)
    return replace(shown, goal=WITHHELD, result=result)


def redact_entry(trace: Trace, entry: Entry) -> Entry:
    """Return an entry without words of a model, where output guardrails stand."""
    guarded = trace.agent is not None and trace.agent.guards_answers
    if not guarded and (trace.brief is None or not trace.brief.withheld):
        return entry
    match entry:
        case Turn():
            said = WITHHELD if entry.text.strip() else ""
            return replace(entry, text=said, objections=(WITHHELD,) if entry.objections else ())
        case AuditLine() if entry.event in _MODEL_EVENTS:
            return replace(entry, text=WITHHELD)
        case BackgroundTask() if entry.kind == "child":
            came_to = entry.came_to if entry.failed else WITHHELD
            return replace(entry, about=WITHHELD, came_to=came_to)
        case _:
            return entry
