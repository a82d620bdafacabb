"""What a run comes to, told in words, and to whom it may be left how it goes on."""

from collections.abc import Mapping

import pytest

from holdfast.contracts.control import Candidate, Checkpoint
from holdfast.contracts.guardrails import GuardrailSpec, GuardrailVerdict
from holdfast.contracts.state.run import RunState
from tests.builders import a_state

each = pytest.mark.parametrize("left_to", ["nobody", "a person", "another approach"])
"""The columns of the table in docs/control.md."""


def a_run(left_to: str, /, **agent: object) -> RunState:
    """A run that may leave to this how it goes on."""
    fields: dict[str, object] = {
        "triggers": {},
        "fallback": {},
        "escalates": left_to == "a person",
        "backtracking": {} if left_to == "another approach" else None,
        **agent,
    }
    state = a_state(run=None, **fields)
    if left_to != "another approach":
        return state
    return state.with_approaches(
        checkpoint=Checkpoint(items=1, model_index=0), current="first this"
    )


def answering(state: RunState) -> RunState:
    """The run has an answer that has yet to pass."""
    return state.with_answering(candidate=Candidate(text="done"))


def came_to(state: RunState) -> str:
    """What a run has come to."""
    if state.outcome is not None:
        reason = state.stop.reason if state.stop else "an answer"
        return f"{state.outcome}: {reason}"
    if state.oversight.requests:
        reviewed = state.oversight.requests[0].kind == "review"
        return "people approve" if reviewed else "a person says how"
    if state.answering.tripped is not None:
        return "taken back"
    return "another approach" if state.approaches.dead_end else "goes on"


def left(left_to: str, otherwise: str) -> str:
    """What comes of a run that leaves the rest to whoever is there, or else ends like this."""
    there: Mapping[str, str] = {
        "a person": "a person says how",
        "another approach": "another approach",
    }
    return there.get(left_to, otherwise)


def asked(left_to: str, otherwise: str) -> str:
    """What comes of a run that leaves the rest to a person, but to no other approach."""
    return "a person says how" if left_to == "a person" else otherwise


def tried(left_to: str, otherwise: str) -> str:
    """What comes of a run that tries another approach, but asks nobody."""
    return "another approach" if left_to == "another approach" else otherwise


def a_guardrail(layer: str, on_trip: str, **more: object) -> GuardrailSpec:
    fields = {"name": "it", "layer": layer, "on_trip": on_trip, **more}
    return GuardrailSpec.model_validate(fields)


def a_tripwire(
    call_id: str = "", guardrail: str = "it", subject: str = "s" * 64, reason: str = "is bad"
) -> GuardrailVerdict:
    return GuardrailVerdict(
        guardrail=guardrail,
        subject=subject,
        tripwire_triggered=True,
        reason=f"{guardrail} {reason}",
        call_id=call_id,
    )
