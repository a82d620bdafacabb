"""How a run was controlled, read from its entries: answers held back, approaches given up."""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.contracts.control import Approach, Compensation
from holdfast.contracts.guardrails import GuardrailSpec
from holdfast.run.gates import GUARDRAIL_PREFIX
from holdfast.trace.values import AuditLine, Entry, RunRequest, Trace, Turn

_ANSWER_LAYERS = {"output", "post_action"}


class Approaches(NamedTuple):
    """The approaches that a run gave up, and the one that it follows now."""

    given_up: tuple[Approach, ...]
    under_way: str | None


def is_held_back(trace: Trace, turn: Turn) -> bool:
    """Whether a turn is an answer that a guardrail, a check or a reviewer kept from going out."""
    if not _is_answer(turn) or _is_final_answer(trace, turn):
        return False
    return any(_holds_back(trace, entry) for entry in _find_entries_after(trace, turn))


def find_candidate(trace: Trace) -> str | None:
    """
    Return the answer that waits for a person; null where none does.

    Where output guardrails look at answers, it is told only while somebody reviews it.
    """
    turn = trace.turns[-1] if trace.turns else None
    withheld = trace.brief is not None and trace.brief.withheld
    if withheld or turn is None or not _is_answer(turn) or not _asks_about_answer(trace):
        return None
    tripped = [_find_tripwire(trace, entry) for entry in _find_entries_after(trace, turn)]
    return None if any(spec and _is_firm(trace, spec) for spec in tripped) else turn.text


def find_approaches(trace: Trace) -> Approaches:
    """Return what was tried: as the result has it, else as plans and audit lines tell it."""
    found: list[Approach] = []
    planned = ""
    for entry in trace.entries:
        match entry:
            case Turn(purpose="plan", text=text):
                planned = text.strip()
            case AuditLine(event="approach", text=text):
                planned = planned or text
            case AuditLine(event="approach failed", text=text):
                found.append(_build_approach(found, planned or "(none was planned)", text))
                planned = ""
            case AuditLine(event="tier failed", text=text):
                agent, _, reason = text.partition("): ")
                found.append(_build_approach(found, f"{agent})", reason))
            case _:
                continue
    if trace.result is not None:
        return Approaches(trace.result.attempts, None)
    return Approaches(tuple(found), planned or None)


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
    part = open_[-1].run_id.rpartition(".")[2].partition("-")[2]
    return f"{part} ({open_[-1].name})"


def _build_approach(before: list[Approach], approach: str, reason: str) -> Approach:
    return Approach(
        number=len(before) + 1, approach=approach, failure_reason=reason, partial_progress=""
    )


def _is_answer(turn: Turn) -> bool:
    whole = turn.ended_at is not None and turn.error is None and turn.stop == "end_turn"
    return turn.purpose == "turn" and whole and not turn.calls and not turn.objections


def _is_final_answer(trace: Trace, turn: Turn) -> bool:
    over = trace.result is not None and trace.result.status == "completed"
    return over and trace.turns[-1].key == turn.key


def _find_entries_after(trace: Trace, turn: Turn) -> Iterator[Entry]:
    """Return what happened between a turn and the next one."""
    met = False
    for entry in trace.entries:
        if isinstance(entry, Turn):
            if met:
                return
            met = entry.key == turn.key
        elif met:
            yield entry


def _holds_back(trace: Trace, entry: Entry) -> bool:
    if isinstance(entry, RunRequest):
        return trace.requests[entry.request_id].outcome in {"rejected", "expired"}
    return _find_tripwire(trace, entry) is not None


def _find_tripwire(trace: Trace, entry: Entry) -> GuardrailSpec | None:
    """Return the guardrail or check of answers that an audit line says has tripped."""
    if not isinstance(entry, AuditLine) or entry.event != "tripwire":
        return None
    return _find_answer_guardrail(trace, entry.text.partition(":")[0])


def _find_answer_guardrail(trace: Trace, name: str) -> GuardrailSpec | None:
    """Return the guardrail or check of answers with this name."""
    if trace.agent is None:
        return None
    at_gates = (
        *trace.agent.acceptance,
        *(one for one in trace.agent.guardrails if one.layer in _ANSWER_LAYERS and not one.tools),
    )
    return next((spec for spec in at_gates if spec.name == name), None)


def _asks_about_answer(trace: Trace) -> bool:
    if trace.agent is not None and not trace.agent.guards_answers:
        return bool(trace.waiting)
    reviewed = (one.subject.removeprefix(GUARDRAIL_PREFIX) for one in trace.waiting)
    return any(_find_answer_guardrail(trace, subject.partition(":")[0]) for subject in reviewed)


def _is_firm(trace: Trace, spec: GuardrailSpec) -> bool:
    """Whether an answer that it objects to is withheld, whatever a person says."""
    return spec.on_trip != "ask" or (trace.agent is not None and spec in trace.agent.acceptance)


def _texts(trace: Trace, event: str) -> tuple[str, ...]:
    return tuple(note.text for note in trace.audit_lines if note.event == event)
