"""How fast answers are taken on the loop that all runs of a worker share."""

import pytest

from holdfast.tools.network import pace
from holdfast.tools.network.pace import MORE_PER_SECOND, PER_SECOND, Pace, Rate


class Clock:
    """A clock that goes on only while somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.turns = 0
        self.waited = 0.0

    def tell(self) -> float:
        return self.now

    async def wait(self, seconds: float) -> None:
        self.now += seconds
        self.waited += seconds
        self.turns += 1


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pace, "monotonic", clock.tell)
    monkeypatch.setattr(pace, "sleep", clock.wait)
    monkeypatch.setattr(pace, "OF_ALL", Rate(MORE_PER_SECOND, 1.0))
    return clock


async def test_a_flood_is_slowed(clock: Clock) -> None:
    """An answer has its own share, and what all have together."""
    flooding = Pace()
    for _ in range(540):
        await flooding.take(100)

    assert clock.waited == pytest.approx(48_000 / (PER_SECOND + MORE_PER_SECOND), rel=0.1)


async def test_many_floods_share_what_is_beyond_their_own(clock: Clock) -> None:
    """Ten of them take the loop's time in which each has its own share, and no more."""
    floods = [Pace() for _ in range(10)]
    before = clock.now
    for _ in range(500):
        for flooding in floods:
            await flooding.take(100)

    taken = 500_000 / (clock.now - before)
    assert taken < 1.2 * (10 * PER_SECOND + MORE_PER_SECOND)


async def test_who_speaks_as_fast_as_a_model_never_waits(clock: Clock) -> None:
    """Two hundred events a second, each a piece and two lines, beside a flood."""
    flooding, speaking, waited = Pace(), Pace(), 0.0
    for _ in range(20_000):
        await flooding.take(20)
        before = clock.waited
        await speaking.take(3)
        waited += clock.waited - before
        clock.now += 1 / 200

    assert waited == 0


async def test_nobody_takes_much_without_a_turn_of_others(clock: Clock) -> None:
    """There is one for each fifty units, be there time or not."""
    speaking = Pace()
    for _ in range(3_000):
        await speaking.take(1)

    assert (clock.turns, clock.waited) == (60, 0)
