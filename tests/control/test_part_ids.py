"""Ids of what works for a run: who reads one finds what was written into it."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.bounds import MAX_RUN_ID_CHARS
from holdfast.contracts.guardrails import GUARDRAIL_NAME_PATTERN
from holdfast.contracts.patterns import is_run_id
from holdfast.run.delegation import part_ids
from holdfast.run.replies import is_plain_id
from tests.builders import FIRST, a_state

RUN_IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._:\-]{0,127}", fullmatch=True)
GUARDRAILS = st.from_regex(GUARDRAIL_NAME_PATTERN.strip("^$"), fullmatch=True)
NUMBERS = st.integers(1, 10**6)


@given(RUN_IDS, GUARDRAILS, NUMBERS)
def test_a_judge_is_known_by_its_run(run_id: str, guardrail: str, number: int) -> None:
    """The run of an agent that judges names its guardrail, whatever the run is called."""
    state = a_state().model_copy(update={"run_id": run_id})
    judging = part_ids.build_run_id(state, part_ids.name_judgement(guardrail, number))
    assert is_run_id(judging)
    assert part_ids.find_judging_guardrail(judging) == guardrail


@given(RUN_IDS, st.sampled_from(("simpler", "plan", "part-1", "a-b-c")), NUMBERS)
def test_what_a_part_does_is_known_by_its_run(run_id: str, work: str, number: int) -> None:
    """The run of a part names what it does."""
    part = part_ids.name_part(number, work)
    run = part_ids.build_run_id(a_state().model_copy(update={"run_id": run_id}), part)
    assert (part_ids.find_part(run), part_ids.find_work(run)) == (part, work)


@given(GUARDRAILS, NUMBERS)
def test_a_command_is_known_by_its_call(guardrail: str, number: int) -> None:
    """A guardrail's command has the name of no call that a model can make."""
    call_id = part_ids.name_command(guardrail, number)
    assert part_ids.find_commanding_guardrail(call_id) == guardrail
    assert not is_plain_id(call_id)  # or a model could name a call so


def test_a_long_name_is_left_out_of_the_ids_of_parts() -> None:
    """Where the name of a run leaves no room, its part is named by the execution."""
    state = a_state().model_copy(update={"run_id": "r" * MAX_RUN_ID_CHARS})
    assert part_ids.build_run_id(state, "1-billing") == f"{FIRST}.1-billing"
