"""What a model's failure leads to: each kind of it, and what an app may say otherwise."""

from typing import get_args

import pytest

from holdfast.contracts.budget import Budget
from holdfast.contracts.control import AttemptKind, Fallback, Reaction
from holdfast.contracts.errors import FailureKind
from holdfast.contracts.model import StopCause
from holdfast.contracts.stops import Stop, StopReason
from holdfast.run.limits.fallback import (
    DEFAULT_REACTIONS,
    compute_max_attempts,
    compute_max_wait,
    find_problems,
    find_reaction,
)

ANSWERS = {"end_turn", "tool_use", "pause"}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("rate_limited", "next_model"),  # FB-05 FB-13
        ("overloaded", "next_model"),
        ("unavailable", "next_model"),  # FB-06
        ("timeout", "next_model"),
        ("stalled", "next_model"),
        ("cut_off", "next_model"),
        ("unreadable", "next_model"),
        ("quota", "next_model"),
        ("other", "next_model"),  # FB-07
        ("empty", "next_model"),  # FB-07
        ("auth", "stop"),
        ("permission", "stop"),
        ("not_found", "next_model"),
        ("invalid_request", "next_model"),
        ("context_overflow", "stop"),
        ("content_filtered", "stop"),
        ("refusal", "stop"),  # T-48
        ("content_filter", "stop"),  # T-48
        ("max_tokens", "stop"),  # T-48
        ("worker_lost", "stop"),
    ],
)
def test_a_failure_of_the_model_moves_on_one_of_the_request_doesnt(
    kind: AttemptKind, expected: Reaction
) -> None:
    """What another model would fail at, or should not be asked, walks through no chain."""  # T-36
    assert find_reaction(kind, Fallback()) == expected


def test_every_way_to_fail_has_a_reaction_and_a_reason() -> None:
    """Each kind of failure, each stop that is no answer, and an empty reply are in the table."""
    causes = set(get_args(StopCause)) - ANSWERS

    assert set(DEFAULT_REACTIONS) == {*get_args(FailureKind), *causes, "empty", "worker_lost"}
    assert all(default.reason for default in DEFAULT_REACTIONS.values())


def test_what_nobody_knows_stops() -> None:
    """A kind without a row walks through no chain."""
    assert "pause" not in DEFAULT_REACTIONS
    assert find_reaction("pause", Fallback()) == "stop"


def test_an_app_may_say_otherwise_of_one_kind() -> None:
    """A reaction of the app's own holds for its kind, the others keep the defaults."""
    fallback = Fallback(reactions={"auth": "next_model", "rate_limited": "ask"})

    assert find_reaction("auth", fallback) == "next_model"
    assert find_reaction("rate_limited", fallback) == "ask"
    assert find_reaction("permission", fallback) == "stop"
    assert find_reaction("overloaded", fallback) == "next_model"


def test_a_reaction_to_what_never_happens_is_a_flaw() -> None:
    """A slip in a kind's name is named, with the kinds there are, one flaw each."""
    fallback = Fallback(reactions={"ratelimit": "ask", "auth": "ask", "end_turn": "ask"})

    found = find_problems(fallback)

    assert [flaw.partition(", ")[0] for flaw in found] == [
        "its fallback reacts to 'ratelimit'",
        "its fallback reacts to 'end_turn'",
    ]
    assert "rate_limited, overloaded, " in found[0]
    assert "\n" not in found[0]


def test_every_kind_may_be_reacted_to() -> None:
    """Nothing in the table is a flaw."""
    assert find_problems(Fallback(reactions=dict.fromkeys(DEFAULT_REACTIONS, "ask"))) == []
    assert find_problems(Fallback()) == []


@pytest.mark.parametrize(
    ("models_left", "retries", "tries"),
    [
        pytest.param(2, None, 3, id="two more models"),
        pytest.param(1, None, 3, id="one more model"),
        pytest.param(0, None, 6, id="the last model"),
        pytest.param(1, 0, 1, id="no retries at all"),
        pytest.param(1, 1, 2, id="fewer retries than the chain has"),
        pytest.param(1, 2, 3, id="just as many"),
        pytest.param(1, 9, 3, id="more retries never add any"),
        pytest.param(0, 4, 5, id="fewer for the last"),
        pytest.param(0, 5, 6, id="just as many for the last"),
        pytest.param(0, 9, 6, id="more never add any for the last"),
    ],
)
def test_tries_of_one_model(models_left: int, retries: int | None, tries: int) -> None:
    """The chain's tries while a model is left, then the usual ones; the budget bounds both."""
    budget = Budget(max_model_retries=retries)  # BY-09

    tried = compute_max_attempts(Fallback(attempts=3), budget, models_left=models_left, usual=6)

    assert tried == tries


@pytest.mark.parametrize(
    ("max_wait", "models_left", "seconds"),
    [(7.5, 2, 7.5), (7.5, 1, 7.5), (7.5, 0, 600), (3600, 1, 3600), (3600, 0, 3600)],
)
def test_patience_is_greater_for_the_last_model_and_ends_too(
    max_wait: float, models_left: int, seconds: float
) -> None:
    """The next model is the better wait; behind the last there is none."""  # FB-05 T-36
    assert compute_max_wait(Fallback(max_wait=max_wait), models_left=models_left) == seconds


def test_words_of_the_end_of_a_chain() -> None:
    """People and programs look for exactly these words."""
    assert StopReason.FALLBACKS_EXHAUSTED.words == "All model fallbacks exhausted"  # FB-08
    failed = Stop.because(StopReason.TIERS_FAILED, "", error="no step left")
    assert failed.reason == "All workflows failed: no step left"  # FB-12
