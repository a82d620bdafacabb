"""How a run was controlled: what waits to be told, what was given up, taken back and passed on."""

from typing import NamedTuple

from holdfast.contracts.control import Approach
from holdfast.contracts.effects import Compensation
from holdfast.run.delegation.part_ids import find_work
from holdfast.trace.entries import AuditLine, Turn
from holdfast.trace.values import Trace


class Approaches(NamedTuple):
    """The approaches that a run gave up, and the one that it follows now."""

    given_up: tuple[Approach, ...]
    under_way: str | None


def find_candidate(trace: Trace) -> str | None:
    """Return the answer that waits for a person who is shown it; null where none does."""
    if not any(asked.shows_answer for asked in trace.waiting) or not trace.turns:
        return None
    return None if trace.brief is not None and trace.brief.withheld else trace.turns[-1].text


def find_approaches(trace: Trace) -> Approaches:
    """Return what was tried: as the result has it, else as the run has told it so far."""
    if trace.result is not None:
        return Approaches(trace.result.attempts, None)
    return Approaches(tuple(trace.approaches), _find_plan(trace))


def _find_plan(trace: Trace) -> str | None:
    """Return the latest plan, unless it has failed."""
    for entry in reversed(trace.entries):
        match entry:
            case Turn(purpose="plan", text=text) if text.strip():
                return text.strip()
            case AuditLine(event="approach failed"):
                return None
            case _:
                continue
    return None


def find_compensation(trace: Trace) -> Compensation | None:
    """Return what was undone and what could not be; null where nothing had to be."""
    kept = trace.result.compensation if trace.result else None
    # Of what an approach did, a result keeps only what could not be undone.
    undone = (kept.undone if kept else ()) or _texts(trace, "undone")
    not_undone = (kept.not_undone if kept else ()) or _texts(trace, "not undone")
    return Compensation(undone=undone, not_undone=not_undone) if undone or not_undone else None


def find_tier(trace: Trace) -> str | None:
    """Return the agent that does the goal or a part of it now; null where nobody else does."""
    open_ = [
        work for work in trace.background_tasks if work.kind == "child" and work.ended_at is None
    ]
    if trace.agent is None or trace.agent.tiers is None or trace.ended_at is not None or not open_:
        return None
    part = find_work(open_[-1].run_id)
    return f"{part} ({open_[-1].name})"


def _texts(trace: Trace, event: str) -> tuple[str, ...]:
    return tuple(note.text for note in trace.audit_lines if note.event == event)
