"""How sure we may be of an answer: every part of the score on both sides of its edges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.contracts.guardrails import Signals
from holdfast.run.limits.confidence import Score, is_below, score

UNMEASURED = Signals()


def part(found: Score, signal: str) -> float:
    return next(part.value for part in found.parts if part.signal == signal)


@pytest.mark.parametrize(
    ("coverage", "value"),
    [
        (1.0, 1.0),
        (0.9, 1.0),
        (0.3 * 3, 1.0),  # 0.8999999999999999
        (0.89, 0.7),
        (0.7, 0.7),
        (0.1 * 7, 0.7),  # 0.7000000000000001
        (0.69, 0.3),
        (0.0, 0.3),
    ],
)
def test_coverage_has_two_edges(coverage: float, value: float) -> None:
    """From 0.9 on tests count in full, from 0.7 on partly, below hardly."""  # ES-02
    assert part(score(Signals(coverage=coverage), 0), "coverage") == value


@pytest.mark.parametrize(
    ("votes_for", "votes", "value"),
    [
        (1, 1, 1.0),
        (3, 3, 1.0),
        (2, 3, 0.7),
        (3, 4, 0.7),
        (2, 4, 0.3),
        (1, 2, 0.3),
        (1, 3, 0.3),
        (0, 1, 0.3),
        (4, 3, 0.3),  # nobody has more votes than there are
    ],
)
def test_reviewers_agree_or_most_of_them_do(votes_for: int, votes: int, value: float) -> None:
    """All of them, more than half of them, or too few; half is no majority."""  # ES-03
    assert part(score(Signals(votes_for=votes_for, votes=votes), 0), "review") == value


@pytest.mark.parametrize(
    ("retries", "value"), [(0, 1.0), (1, 0.8), (2, 0.6), (3, 0.4), (4, 0.2), (5, 0.2), (9, 0.2)]
)
def test_each_retry_costs_confidence(retries: int, value: float) -> None:
    """A retry costs 0.2, up to 0.8 together."""  # ES-04
    assert part(score(UNMEASURED, retries), "retries") == value


@pytest.mark.parametrize(
    ("signals", "retries", "value", "measured"),
    [
        pytest.param(
            Signals(coverage=0.7, votes_for=2, votes=3),
            1,
            0.7333,
            ["coverage", "review", "retries"],
            id="all",  # ES-05
        ),
        pytest.param(UNMEASURED, 0, 1.0, ["retries"], id="nothing but retries"),
        pytest.param(UNMEASURED, 2, 0.6, ["retries"], id="retries at the edge"),
        pytest.param(Signals(coverage=0.5), 1, 0.55, ["coverage", "retries"], id="no review"),
        pytest.param(
            Signals(votes_for=3, votes=3), 4, 0.6, ["review", "retries"], id="no coverage"
        ),
        pytest.param(Signals(votes_for=3), 0, 1.0, ["retries"], id="votes of nobody knows whom"),
        pytest.param(Signals(votes=3), 0, 1.0, ["retries"], id="voters without votes"),
    ],
)
def test_the_score_is_the_mean_of_what_was_measured(
    signals: Signals, retries: int, value: float, measured: list[str]
) -> None:
    """What nobody measured is left out, and isn't taken for bad."""  # ES-01 ES-05 T-37
    found = score(signals, retries)

    assert found.value == value
    assert [part.signal for part in found.parts] == measured


@pytest.mark.parametrize(
    ("value", "below"),
    [
        (0.59, True),
        (0.5999, True),
        (0.6, False),
        (0.1 + 0.2 + 0.3, False),  # 0.6000000000000001
        (3 * 0.2, False),  # 0.6000000000000001
        (1 - 0.4, False),
        (0.6 - 1e-15, False),  # noise
    ],
)
def test_noise_of_the_arithmetic_is_below_nothing(value: float, *, below: bool) -> None:
    """A value misses a threshold by what was measured, never by a rounding."""  # ES-06 T-37
    assert is_below(value, 0.6) is below


def test_history_shows_the_parts() -> None:
    """A line says the score, and what it is made of."""  # ES-01
    found = score(Signals(coverage=0.7, votes_for=2, votes=3), 1)

    assert found.line == "0.7333 (coverage 0.7, review 0.7, retries 0.8)"


SIGNALS = st.builds(
    Signals,
    coverage=st.none() | st.floats(0, 1),
    votes_for=st.none() | st.integers(0, 9),
    votes=st.none() | st.integers(1, 9),
)


@given(SIGNALS, st.integers(0, 50))
def test_a_score_is_a_share_that_retries_only_lower(signals: Signals, retries: int) -> None:
    """Whatever was measured, the score is from 0.2 to 1, and a retry more never raises it."""
    now, later = score(signals, retries).value, score(signals, retries + 1).value

    assert 0.2 <= later <= now <= 1
