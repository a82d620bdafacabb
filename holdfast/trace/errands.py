"""The lines of what a run has done for itself."""

from collections.abc import Iterator
from itertools import takewhile

from pydantic import JsonValue

from holdfast.contracts.calls import ToolSuccess
from holdfast.trace.entries import AuditLine, BackgroundTask, Entry, GuardrailRun, Turn
from holdfast.trace.values import Trace
from holdfast.trace.words import Line, Tone, describe_timing, short

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
