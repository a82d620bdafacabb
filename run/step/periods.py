"""
In which order parts did what they did beside each other: by the server's clock. Pure.

A part tells it when it ends, which says nothing of when that was done.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import takewhile

from holdfast.contracts.decisions import Decided
from holdfast.contracts.effects import Effect, Period
from holdfast.contracts.state.run import RunState


def find_period(state: RunState, ruled: Decided | None, now: datetime) -> Period | None:
    """Return when a call of a part was made: not before it was allowed. Others are in order."""
    if ruled is None or not state.brief.path:
        return None
    return min(now.timestamp(), ruled.at.timestamp()), now.timestamp()


def limit_periods(effects: Iterable[Effect], part: Period) -> Iterator[Effect]:
    """
    Say of all that a part did, in its order, when that was: while the part worked.

    A part of an earlier release doesn't say it, and clocks of the server may differ.
    """
    latest, now = part
    for one in effects:
        begin, end = one.during or part
        latest = max(latest, min(now, end))
        yield one.with_(during=(min(latest, max(part[0], begin)), latest))


def count_beside(done: tuple[Effect, ...], part: Period) -> int:
    """Count the latest effects, which others may have had since a part began."""
    beside = takewhile(lambda one: one.during is not None and one.during[1] > part[0], done[::-1])
    return len(tuple(beside))


def merge_effects(
    done: tuple[Effect, ...], theirs: tuple[Effect, ...], part: Period
) -> tuple[Effect, ...]:
    """Put what a part did among what others did beside it, in the order in which it was done."""
    before = len(done) - count_beside(done, part)
    return (*done[:before], *sorted((*done[before:], *theirs), key=_find_end))


def select_overlapping(done: tuple[Effect, ...], index: int) -> tuple[Effect, ...]:
    """Return what stands before an effect, and may have been done by another part behind it."""
    effect = done[index]
    if effect.during is None:
        return ()
    begin = effect.during[0]
    others = (one for one in done[:index] if one.part != effect.part)
    return tuple(one for one in others if _find_end(one) > begin)


def _find_end(effect: Effect) -> float:
    return effect.during[1] if effect.during else 0
