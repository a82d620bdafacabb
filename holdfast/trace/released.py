"""What of a run is shown to those who watch it: no words that output guardrails look at."""

from dataclasses import replace

from holdfast.contracts.guardrails import WITHHELD, GuardrailVerdict
from holdfast.run.answers import redact_result
from holdfast.trace.entries import AuditLine, BackgroundTask, Call, Entry, GuardrailRun, Turn
from holdfast.trace.values import Trace

_MODEL_EVENTS = {"approach", "answer sent back"}
"""Audit lines that repeat what a model said."""


def redact_trace(trace: Trace) -> Trace:
    """Return a trace without what is told to nobody but auditors."""
    entries, tried = [redact_entry(trace, one) for one in trace.entries], trace.approaches
    if _hides_words(trace) and (trace.agent is None or trace.agent.tiers is None):
        tried = [one.copy_with({"approach": WITHHELD}) for one in tried]
    shown = replace(trace, entries=entries, approaches=tried)
    if trace.brief is None or not trace.brief.withheld:
        return shown
    result = trace.result
    if result is not None:
        result = result.with_(answer=None, output=None)
    return replace(shown, goal=WITHHELD, result=result)


def redact_entry(trace: Trace, entry: Entry) -> Entry:
    """
    Return an entry without words of a model, where output guardrails stand.

    Of an agent that can't be read nobody knows whether they do.
    """
    if not _hides_words(trace):
        return entry
    match entry:
        case Turn():
            said = WITHHELD if entry.text.strip() else ""
            objections = (WITHHELD,) if entry.objections else ()
            calls = tuple(map(_redact_call, entry.calls))
            return replace(entry, text=said, objections=objections, calls=calls)
        case AuditLine() if entry.event in _MODEL_EVENTS:
            return replace(entry, text=WITHHELD)
        case AuditLine(event="tripwire" | "warning"):
            return replace(entry, text=leave_digest(entry.text))
        case BackgroundTask() if entry.kind == "child":
            came_to = entry.came_to if entry.failed else WITHHELD
            return replace(entry, about=WITHHELD, came_to=came_to, output=None)
        case GuardrailRun():
            verdicts = tuple(map(_redact_verdict, entry.verdicts))
            return replace(entry, verdicts=verdicts)
        case _:
            return entry


def leave_digest(text: str) -> str:
    """Leave out the digest of what a guardrail looked at, which tells who guesses that."""
    return text.rpartition(" (subject ")[0] or text


def _redact_call(call: Call) -> Call:
    return call if call.result is None else replace(call, result=redact_result(call.result))


def _redact_verdict(verdict: GuardrailVerdict) -> GuardrailVerdict:
    return verdict.copy_with({"reason": WITHHELD}) if verdict.quotes else verdict


def _hides_words(trace: Trace) -> bool:
    guarded = trace.agent is None or trace.agent.guards_answers
    return guarded or (trace.brief is not None and trace.brief.withheld)
