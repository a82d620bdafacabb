"""When an execution began, as its id says."""

from datetime import UTC, datetime, timedelta

import pytest

from holdfast.contracts.state.resets import find_reset

MADE = datetime(2026, 11, 30, 12, 0, 0, 123_000, tzinfo=UTC)
LATER = MADE + timedelta(minutes=5)
BY_TIME = f"{int(MADE.timestamp() * 1000):012x}"
ORDERED = f"{BY_TIME[:8]}-{BY_TIME[8:]}-7633-b1f1-c2d0f0a6d3e5"


@pytest.mark.parametrize(
    ("execution", "found"),
    [
        (ORDERED, MADE),
        ("4dcd6b9a-1d5a-4f2e-9d5c-0c2f0a6d3e51", LATER),
        ("ffffffff-ffff-7633-b1f1-c2d0f0a6d3e5", LATER),
        ("the first", LATER),
    ],
)
def test_an_id_may_say_when_it_was_made(execution: str, found: datetime) -> None:
    """One that doesn't, or says something that is still to come, was made by now."""
    assert find_reset(execution, LATER) == found
