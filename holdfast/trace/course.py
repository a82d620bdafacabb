"""The lines of what happened: of a call in its order, of people, of what a run did for itself."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import takewhile

from pydantic import JsonValue

from holdfast.contracts.calls import ToolResult, ToolSuccess
from holdfast.run.step import reconciliation
from holdfast.run.summaries import call_line
from holdfast.run.texts.figures import duration
from holdfast.run.texts.requests import subject_line
from holdfast.trace.entries import (
    AuditLine,
    AuxiliaryCall,
    BackgroundTask,
    Call,
    DecisionTrace,
    Entry,
    GuardrailRun,
    Turn,
)
from holdfast.trace.requests import EscalatedToGroup, MessageTrace, RequestTrace
from holdfast.trace.values import Trace
from holdfast.trace.words import MAX_LINE_CHARS, Line, Tone, describe_timing, short, with_time

_MAY_RUN = {"run_in_sandbox", "run_as_draft_only"}


def call_lines(trace: Trace, call: Call) -> Iterator[Line]:
    """Write a call as far as it has come. What is written of it never changes, it only grows."""
    yield Line("call", call_line(call.call, MAX_LINE_CHARS), indented=True, at=call.at)
    before: DecisionTrace | None = None
    for step in call.course:
        match step:
            case DecisionTrace():
                yield from with_time(_decision_lines(trace, call, step, before), step.at)
                before = step
            case AuxiliaryCall(purpose="reconcile", result=result) if result is not None:
                yield from with_time(_reconcile_lines(call, step, result), step.ended_at)
            case AuxiliaryCall(purpose=purpose, result=result) if result is not None:
                text = f"{step.tool} {_outcome(step, result)}"
                yield Line(purpose, text, _tone(result), indented=True, at=step.ended_at)
            case AuxiliaryCall():
                continue
    if call.result is not None:
        text, tone = _outcome(call, call.result), _tone(call.result)
        yield Line("result", text, tone, indented=True, at=call.ended_at)


def request_lines(asked: RequestTrace) -> Iterator[Line]:
    """Write what people said about a request, and how the wait for them ended."""
    approvals = 0
    for heard in asked.heard:
        match heard:
            case EscalatedToGroup(groups=groups, at=at):
                text = f"passed on to {' or '.join(groups)}{_describe_delay(asked, at)}"
                yield Line("wait", short(text), "waiting", indented=True, at=at)
            case MessageTrace(accepted=True):
                approvals += not heard.lapsed
                verb = "approved, but lapsed," if heard.lapsed else "approved"
                author = _describe_author(asked, heard, approvals)
                text = f"{verb}{author}{_describe_delay(asked, heard.judged_at)}"
                text = short(f"{text}{_describe_reason(heard)}")
                yield Line("wait", text, "good", indented=True, at=heard.judged_at)
            case MessageTrace():
                yield message_line(heard)._replace(indented=True)
    if asked.outcome is not None:
        text = f"{asked.outcome}{_describe_author(asked, asked.settled, approvals + 1)}"
        text = f"{text}{_describe_delay(asked, asked.closed_at)}{_describe_reason(asked.settled)}"
        tone: Tone = "bad" if asked.outcome in {"rejected", "expired"} else "good"
        yield Line("wait", short(text), tone, indented=True, at=asked.closed_at)


def escalation_lines(asked: RequestTrace) -> Iterator[Line]:
    """Write that the run itself waits, and what somebody decided about it."""
    about = f"{subject_line(asked.subject)}: " if asked.subject else ""
    kind = "review" if asked.kind == "review" else "escalated"
    text = f"{kind}: {about}{asked.reason} ({asked.request_id})"
    yield Line("wait", text, "waiting", at=asked.at)
    for line in request_lines(asked):
        resolved = asked.outcome == "resolved" and line.label == "wait"
        decision = _resolution(asked.settled) if asked.settled and resolved else ""
        yield line._replace(text=f"{line.text}{decision}", indented=False)


def _resolution(said: MessageTrace) -> str:
    """Say how a run goes on, under which limits, and which client said so."""
    changed = said.budget.model_dump(exclude_unset=True) if said.budget else {}
    limits = "".join(f" {name}={limit}" for name, limit in changed.items())
    sender = f", sent by {said.identity}" if said.identity else ""
    return f" ({said.text}{limits}{sender})"


def message_line(said: MessageTrace) -> Line:
    """Write a message that decided nothing."""
    by = f" by {said.author}" if said.author else ""
    about = f" of {said.request_id}" if said.request_id else ""
    if said.accepted is False:
        text = f"{said.signal}{about}{by}: {said.refusal}"
        return Line("refused", short(text), "bad", at=said.judged_at or said.at)
    signed = ", signed" if said.proof else ""
    who = (by.strip() or f"from {said.identity}") + signed
    why = f": {said.reason}" if said.reason else ""
    return Line(
        said.signal, short(f"{said.text} ({who}){why}" if said.text else f"{who}{why}"), at=said.at
    )


def _decision_lines(
    trace: Trace, call: Call, ruled: DecisionTrace, before: DecisionTrace | None
) -> Iterator[Line]:
    # After a wait a call is decided again, mostly as before.
    again = before is not None and (before.verdict, before.rule) == (ruled.verdict, ruled.rule)
    if ruled.verdict != "allow" and (ruled.request_id is not None or not again):
        by_default = ruled.rule == f"risk:{ruled.risk}"
        because = f" ({ruled.risk if by_default else ruled.rule})" if ruled.rule else ""
        harmless: Tone = "plain" if ruled.verdict in _MAY_RUN else "bad"
        tone: Tone = "waiting" if ruled.request_id else harmless
        text = f"{call.call.name}: {ruled.verdict}{because}"
        yield Line("rule", text, tone, indented=True)
    undo = ruled.undo
    if undo is not None and (before is None or before.undo != undo):
        text = f"{undo.tool}: {undo.verdict} ({undo.rule})"
        yield Line("undo", text, "plain" if undo.verdict == "allow" else "bad", indented=True)
    if ruled.request_id is not None:
        yield from request_lines(trace.requests[ruled.request_id])


def _reconcile_lines(call: Call, finder: AuxiliaryCall, result: ToolResult) -> Iterator[Line]:
    if call.lost is not None:
        text = f"{call.call.name}: {short(call.lost.reason)}"
        yield Line("lost", text, "bad", indented=True)
    truth = reconciliation.parse_reconciliation(result)
    match truth.happened if truth else None:
        case True:
            text, tone = "it happened", "good"
        case False:
            text, tone = "it didn't happen", "bad"
        case None:
            failed = "" if isinstance(result, ToolSuccess) else f": {short(result.reason)}"
            text, tone = f"nobody knows whether it happened{failed}", "bad"
    yield Line("found", f"{finder.tool}: {text}", tone, indented=True)


def _outcome(ran: Call | AuxiliaryCall, result: ToolResult) -> str:
    elapsed = describe_timing(ran)
    if isinstance(result, ToolSuccess):
        kept = result.artifact
        part = "whole" if result.cut else "full part"
        whole = "" if kept is None else f"; the {part} is {kept.path}"
        return f"ok  {short(result.summary)}{elapsed}{whole}"
    kind = "" if result.type == result.status else f"{result.type}: "
    return f"{result.status}  {kind}{short(result.reason)}{elapsed}"


def _tone(result: ToolResult) -> Tone:
    return "good" if isinstance(result, ToolSuccess) else "bad"


def _describe_author(asked: RequestTrace, said: MessageTrace | None, number: int) -> str:
    """Say who decided, how sure that is, and the how many of those that it takes."""
    if said is None or not said.author:
        return ""
    approves = (said.signal, said.text) == ("approval", "approve")
    which = f" ({number} of {asked.count})" if approves and asked.count > 1 else ""
    methods = ", ".join(said.proof.methods) if said.proof else ""
    how = f" ({methods})" if methods else ""
    return f" by {said.author}{which}{f', strongly{how}' if said.proof else ''}"


def _describe_delay(asked: RequestTrace, at: datetime | None) -> str:
    return f" after {duration(timedelta(0) if at is None else at - asked.at)}"


def _describe_reason(said: MessageTrace | None) -> str:
    return f": {said.reason}" if said is not None and said.reason else ""


_PROJECT = {
    "open_project": ("opened", "not opened"),
    "snapshot_workspace": ("snapshot", "no snapshot"),
    "restore_workspace": ("rolled back", "not rolled back"),
}
"""What an activity about files has done, or hasn't."""


def guardrail_lines(guarded: GuardrailRun) -> Iterator[Line]:
    """Write what each guardrail found, once all have looked."""
    if guarded.ended_at is None:
        return
    took = describe_timing(guarded)
    for name in guarded.names:
        for text, tone in _describe_verdicts(guarded, name):
            yield Line("guard", short(f"guardrail {name}: {text}") + took, tone)


def task_lines(work: BackgroundTask) -> Iterator[Line]:
    """Write what a run had done for itself, once it is over; a child is named as it begins."""
    if work.kind == "child":
        yield Line("child", short(f"{work.name} ({work.run_id}): {work.about}"))
    if work.ended_at is None:
        return
    took = describe_timing(work)
    tone: Tone = "bad" if work.failed else "good"
    match work.kind:
        case "child":
            yield Line("child", short(f"{work.run_id}: {work.came_to}"), tone)
        case "undo":
            done = "undone" if not work.failed else "not undone"
            text = f"{done}: {work.about}: {work.came_to}"
            yield Line("undo", short(text) + took, tone)
        case "command":
            text = f"guardrail {work.guardrail}: {work.about}: {describe_exit(work)}"
            yield Line("guard", short(text) + took, tone)
        case "notice" if work.failed:
            yield Line("note", short(f"nobody was told of {work.about}: {work.came_to}"), "bad")
        case "notice":
            yield Line("note", f"somebody was told of {work.about}", "quiet")
        case "project":
            tone = "bad" if work.failed else "quiet"
            done, not_done = _PROJECT[work.name]
            text = f"{not_done if work.failed else done}: {work.came_to}"
            yield Line("project", short(text) + took, tone)


def is_duplicate(trace: Trace, note: AuditLine) -> bool:
    """Whether an audit line says again what another line says."""
    match note.event:
        case "tripwire" | "warning":
            name = note.text.partition(":")[0]
            if any(guarded.has_tripwire(name) for guarded in trace.guardrail_runs):
                return True
            return any(
                isinstance(work, BackgroundTask) and work.guardrail == name and has_failure(work)
                for work in _find_since_turn(trace, note)
            )
        case "undone":
            return any(work.kind == "undo" for work in trace.background_tasks)
        case "approach":
            return any(turn.purpose == "plan" and turn.text.strip() for turn in trace.turns)
        case "paused":
            asked = (one.reason for one in trace.requests.values() if one.kind == "escalation")
            return any(reason and note.text.startswith(reason) for reason in asked)
        case "handed back":
            notes = (one for one in _find_since_turn(trace, note) if isinstance(one, AuditLine))
            return note.text in {one.text for one in notes}
        case "nobody was told":
            return any(work.kind == "notice" and work.failed for work in trace.background_tasks)
        case _:
            return False


def _describe_verdicts(guarded: GuardrailRun, name: str) -> Iterator[tuple[str, Tone]]:
    if guarded.cancelled:
        yield "cancelled", "quiet"
        return
    if guarded.error:
        yield f"tripped undecided: {guarded.error}", "bad"
        return
    verdicts = guarded.find_verdicts(name)
    tripped = [verdict for verdict in verdicts if verdict.tripwire_triggered]
    for verdict in tripped:
        yield f"tripped: {verdict.reason}", "bad"
    if tripped:
        return
    applied = any(verdict.applicable for verdict in verdicts)
    why = next((verdict.reason for verdict in verdicts if verdict.reason), "")
    because = f": {why}" if why else ""
    yield (f"passed{because}", "quiet") if applied else (f"not applicable{because}", "quiet")


def describe_exit(work: BackgroundTask) -> str:
    """Say how a command ended; that it ran doesn't mean that it did what it should."""
    ended = _find_exit(work)
    if ended is None:
        return work.came_to
    code, last = ended
    if code is None:
        return "ended at its time limit"
    return f"exit code {code}{f': {last}' if code and last else ''}"


def _find_exit(work: BackgroundTask) -> tuple[JsonValue, str] | None:
    """Return the exit code of a command and the last line that it wrote; null if it has none."""
    result = work.result
    if not isinstance(result, ToolSuccess) or not isinstance(result.data, dict):
        return None
    wrote = f"{result.data.get('stdout', '')}\n{result.data.get('stderr', '')}"
    return result.data.get("exit_code"), wrote.strip().rpartition("\n")[2]


def has_failure(work: BackgroundTask) -> bool:
    """Whether a command didn't run to an end, or ended with another exit code than 0."""
    ended = _find_exit(work)
    return work.failed or (ended is not None and ended[0] != 0)


def _find_since_turn(trace: Trace, note: AuditLine) -> list[Entry]:
    """Return what stands between the last turn before a line and that line."""
    before = takewhile(lambda entry: entry is not note, trace.entries)
    return list(takewhile(lambda entry: not isinstance(entry, Turn), reversed([*before])))
