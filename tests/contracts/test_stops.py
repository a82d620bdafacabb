"""What can end a run: each way has its words, and says what to do next."""

import string

import pytest

from holdfast.contracts.stops import Stop, StopReason

REASONS = pytest.mark.parametrize("reason", StopReason, ids=lambda reason: reason.name)


def fields(reason: StopReason) -> set[str]:
    text = f"{reason.words} {reason.next_safe_action}"
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@REASONS
def test_every_reason_says_what_to_do_next(reason: StopReason) -> None:
    """A run that stopped never leaves people without a next step."""
    stop = Stop.because(reason, "the detail", **dict.fromkeys(fields(reason), "x"))

    assert stop.reason
    assert stop.next_safe_action
    assert "{" not in stop.reason + stop.next_safe_action


def test_words_from_outside_are_known_as_such() -> None:
    """Those alone: all others are made of closed vocabularies, and may stand in a log."""
    quoting = {reason for reason in StopReason if fields(reason) & {"why", "error"}}

    assert quoting == {StopReason.BLOCKED, StopReason.REJECTED, StopReason.TIERS_FAILED}
    assert {reason for reason in StopReason if reason.quotes} == quoting
    assert Stop.because(StopReason.REJECTED, "", why="it says so").quotes


def test_words_from_outside_stay_stay_as_they_are() -> None:
    """Braces in what a guardrail or a person says mean nothing."""
    said = "it holds {api_key} and {0}"

    assert Stop.because(StopReason.BLOCKED, "", why=said).reason == said
