"""Tasks as people write them: half of them destroy what nobody can bring back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.guardrails.detectors.destruction import is_destructive, load_weights, select_features
from tests.guardrails import learn

MAX_WRONG = 0.02

PAGE = """Thank you for the report of last week. The numbers of the north look fine to me.
I asked Jonas about the two invoices from March, and he says that both were paid.

1. Compare the totals with those of the spring.
2. {}
3. Write two sentences about each of the five largest customers.

The board meets on Thursday at ten, so I need a first version the evening before. Keep it short."""


def test_tasks_that_nothing_was_learned_from_are_told_apart() -> None:
    """Of each hundred, half of them harmless, two may be taken for what they aren't."""
    # GR-03
    tasks = list(learn.read_tasks([learn.UNSEEN]))

    assert len(tasks) >= 1000
    assert 0.45 <= sum(task.destroys for task in tasks) / len(tasks) <= 0.55
    assert len(learn.find_wrong(tasks)) <= MAX_WRONG * len(tasks)


def test_nothing_is_learned_from_unseen_tasks() -> None:
    """What nothing was learned from stands nowhere else."""
    known = {task.text.casefold() for task in learn.read_known_tasks()}

    assert not known & {task.text.casefold() for task in learn.read_tasks([learn.UNSEEN])}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_weights_are_those_of_the_tasks() -> None:
    """Each feature that several tasks have is weighed, and no other: they were learned last."""
    features = learn.find_common(select_features(one.text) for one in learn.read_known_tasks())
    weights = load_weights()

    assert weights.keys() <= features
    assert len(weights) > 0.95 * len(features)


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("Add the list of the open orders.", False),
        ("Delete all customers without an order from the database.", True),
    ],
)
def test_what_is_asked_for_in_a_long_text_is_found(said: str, asks: bool) -> None:
    """It is weighed with what stands beside it, and not with the whole page."""
    # GR-03
    assert is_destructive(PAGE.format(said)) is asks


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["delete ", "delete. ", "drop table x; ", "\n", "want deleted, "])
def test_every_text_is_read_to_its_end(text: str) -> None:
    """However long it is, in a time that grows no faster than it."""
    assert is_destructive(text * 50_000) in {True, False}


@given(st.text())
def test_whatever_is_said_is_answered(text: str) -> None:
    """No characters break it."""
    assert is_destructive(text) in {True, False}
