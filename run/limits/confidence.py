"""
How sure we may be of an answer, from what was measured about it.

What nobody measured is left out of the mean: it is neither good nor bad. What a model says of its
own confidence is no signal.
"""

from statistics import fmean
from typing import Literal, NamedTuple

from holdfast.contracts.guardrails import Signals

DIGITS = 4
"""The parts have one digit, so more of their mean is noise of the arithmetic."""


_NOISE = 1e-9


class ScorePart(NamedTuple):
    """What one signal contributes, from 0 to 1."""

    signal: Literal["coverage", "review", "retries"]
    value: float


class Score(NamedTuple):
    """A confidence from 0 to 1, and the parts that it is the mean of."""

    value: float
    parts: tuple[ScorePart, ...]

    @property
    def line(self) -> str:
        """The score as people read it."""
        parts = ", ".join(f"{part.signal} {part.value:g}" for part in self.parts)
        return f"{self.value:g} ({parts})"


def score(signals: Signals, retries: int) -> Score:
    """Return the mean of the signals that were measured; retries always are."""
    parts: list[ScorePart] = []
    if signals.coverage is not None:
        parts.append(ScorePart("coverage", _score_coverage(signals.coverage)))
    if signals.votes is not None and signals.votes_for is not None:
        parts.append(ScorePart("review", _score_review(signals.votes_for, signals.votes)))
    parts.append(ScorePart("retries", _score_retries(retries)))
    return Score(round(fmean(part.value for part in parts), DIGITS), tuple(parts))


def is_below(value: float, threshold: float) -> bool:
    """Whether a value is less than a threshold by more than the noise of the arithmetic."""
    return value < threshold - _NOISE


def _score_coverage(coverage: float) -> float:
    if not is_below(coverage, 0.9):
        return 1.0
    return 0.3 if is_below(coverage, 0.7) else 0.7


def _score_review(votes_for: int, votes: int) -> float:
    """All, more than half, or less; more votes than voters are no majority of anybody."""
    if votes_for == votes:
        return 1.0
    return 0.7 if votes < 2 * votes_for < 2 * votes else 0.3


def _score_retries(retries: int) -> float:
    """Each retry costs 0.2, up to 0.8."""
    return (5 - min(retries, 4)) / 5
