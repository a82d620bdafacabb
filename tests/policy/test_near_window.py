"""When a transcript is near the window of a model."""

import pytest

from holdfast.run.context import nears_window


@pytest.mark.parametrize(
    ("tokens", "window", "near"),
    [
        pytest.param(159_999, 200_000, False, id="below"),
        pytest.param(160_000, 200_000, True, id="at the share"),
        pytest.param(840_000, 1_050_000, True, id="at a share that binary numbers only near"),
        pytest.param(10**9, None, False, id="unknown window"),
        pytest.param(10, 0, False, id="no window"),
    ],
)
def test_four_fifths_of_the_window_are_near(
    tokens: int, window: int | None, *, near: bool
) -> None:
    """Tokens are those that a provider counted; of an unknown window nothing is known."""
    assert nears_window(tokens, window) is near
