"""What a run did is kept until it is taken back, and then told once."""

from contracts.control import Compensation, Effect
from tests.builders import a_state
from workflows import effects


def test_what_was_taken_back_is_told_once() -> None:
    """Each time adds to what is told, and leaves nothing that would be taken back again."""
    # GR-13
    did = {"effects": (Effect(summary="pay(1)"),), "forgotten_effects": 3}
    state = a_state().model_copy(update=did)

    state = effects.taken_back(state, Compensation(undone=("a",), not_undone=("b", "3 more")))
    assert (state.effects, state.forgotten_effects) == ((), 0)

    state = effects.taken_back(state, Compensation(undone=("c",)))
    assert state.compensation == Compensation(undone=("a", "c"), not_undone=("b", "3 more"))
