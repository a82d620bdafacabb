"""The lines of what a run has done for itself."""

from collections.abc import Iterator

from pydantic import JsonValue

from holdfast.contracts.tools import ToolSuccess
from holdfast.trace.background_tasks import GuardrailRun, Work
from holdfast.trace.values import AuditLine, Trace, Turn
from holdfast.trace.words import Line, Tone, elapsed, short

_PROJECT = {
    "open_project": ("opened", "not opened"),
    "snapshot_workspace": ("snapshot", "no snapshot"),
    "restore_workspace": ("rolled back", "not rolled back"),
}
"""What an activity about files has done, or hasn't."""


def guarded_lines(guarded: GuardrailRun) -> Iterator[Line]:
    """Write what each guardrail found, once all have looked."""
    if guarded.ended_at is None:
        return
    took = elapsed(guarded.started_at, guarded.ended_at, guarded.attempts)
    for name in guarded.names:
        for text, tone in _found(guarded, name):
            yield Line("guard", short(f"guardrail {name}: {text}") + took, tone)


def work_lines(work: Work) -> Iterator[Line]:
    """Write what a run had done for itself, once it is over; a child is named as it begins."""
    if work.kind == "child":
        yield Line("child", short(f"{work.name} ({work.run_id}): {work.about}"))
    if work.ended_at is None:
        return
    took = elapsed(work.started_at, work.ended_at, work.attempts)
    tone: Tone = "bad" if work.failed else "good"
    match work.kind:
        case "child":
            yield Line("child", short(f"{work.run_id}: {work.came_to}"), tone)
        case "undo":
            done = "undone" if not work.failed else "not undone"
            text = f"{done}: {work.about}: {work.came_to}"
            yield Line("undo", short(text) + took, tone)
        case "command":
            text = f"guardrail {work.guardrail}: {work.about}: {_ended(work)}"
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


def is_told(trace: Trace, note: AuditLine) -> bool:
    """Whether an audit line says again what the line of a guardrail, or of an undo, says."""
    match note.event:
        case "tripwire":
            name = note.text.partition(":")[0]
            commands = (work for work in _since_turn(trace, note) if work.guardrail == name)
            failed = any(map(_has_failed, commands))
            return failed or any(guarded.tripped(name) for guarded in trace.guarded)
        case "undone":
            return any(work.kind == "undo" for work in trace.works)
        case "approach":
            return any(turn.purpose == "plan" and turn.text.strip() for turn in trace.turns)
        case "paused":
            asked = (one.reason for one in trace.requests.values() if one.kind == "escalation")
            return any(reason and note.text.startswith(reason) for reason in asked)
        case "nobody was told":
            return any(work.kind == "notice" and work.failed for work in trace.works)
        case _:
            return False


def _found(guarded: GuardrailRun, name: str) -> Iterator[tuple[str, Tone]]:
    if guarded.cancelled:
        yield "cancelled", "quiet"
        return
    if guarded.error:
        yield f"tripped undecided: {guarded.error}", "bad"
        return
    verdicts = guarded.found(name)
    tripped = [verdict for verdict in verdicts if verdict.tripwire_triggered]
    for verdict in tripped:
        yield f"tripped: {verdict.reason}", "bad"
    if tripped:
        return
    applied = any(verdict.applicable for verdict in verdicts)
    why = next((verdict.reason for verdict in verdicts if verdict.reason), "")
    because = f": {why}" if why else ""
    yield (f"passed{because}", "quiet") if applied else (f"not applicable{because}", "quiet")


def _ended(work: Work) -> str:
    """Say how a command ended; that it ran doesn't mean that it did what it should."""
    ended = _exit(work)
    if ended is None:
        return work.came_to
    code, last = ended
    if code is None:
        return "ended at its time limit"
    return f"exit code {code}{f': {last}' if code and last else ''}"


def _exit(work: Work) -> tuple[JsonValue, str] | None:
    """Return the exit code of a command and the last line that it wrote; null if it has none."""
    result = work.result
    if not isinstance(result, ToolSuccess) or not isinstance(result.data, dict):
        return None
    wrote = f"{result.data.get('stdout', '')}\n{result.data.get('stderr', '')}"
    return result.data.get("exit_code"), wrote.strip().rpartition("\n")[2]


def _has_failed(work: Work) -> bool:
    ended = _exit(work)
    return work.failed or (ended is not None and ended[0] != 0)


def _since_turn(trace: Trace, note: AuditLine) -> list[Work]:
    """Return what a run had done between its last turn before a line and that line."""
    found: list[Work] = []
    for entry in trace.entries:
        if entry is note:
            break
        if isinstance(entry, Turn):
            found = []
        elif isinstance(entry, Work):
            found.append(entry)
    return found
