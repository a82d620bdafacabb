"""Makes an example that fails smaller, for whoever has to read it."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from tests.chaos.together.scripts import Drama, Traits, Turn

Part = TypeVar("Part")

Fails = Callable[[Drama], Awaitable[bool]]


async def shrink(drama: Drama, fails: Fails) -> Drama:
    """Return a smaller example that fails as well."""
    found = True
    while found:
        found = False
        for smaller in _list_smaller(drama):
            if await fails(smaller):
                drama, found = smaller, True
                break
    return drama


def _list_smaller(drama: Drama) -> Iterator[Drama]:
    """Yield examples with one thing less."""
    yield from (replace(drama, agains=agains) for agains in _without_one(drama.agains))
    yield from (replace(drama, moves=moves) for moves in _without_one(drama.moves))
    for place, (name, turns) in enumerate(drama.turns):
        for fewer in _list_shorter(turns):
            yield replace(drama, turns=_put(drama.turns, place, (name, fewer)))
    for place, (name, traits) in enumerate(drama.traits):
        for plain in _list_plainer(traits):
            yield replace(drama, traits=_put(drama.traits, place, (name, plain)))
    for limit in drama.budget:
        left = {name: one for name, one in drama.budget.items() if name != limit}
        yield replace(drama, budget=left)
    for plain in (
        replace(drama, domain=None),
        replace(drama, plans=False),
        replace(drama, divides=False),
        replace(drama, forgets=None),
        replace(drama, tiers=1),
    ):
        if plain != drama:
            yield plain


def _list_shorter(turns: tuple[Turn, ...]) -> Iterator[tuple[Turn, ...]]:
    yield from _without_one(turns)
    for place, turn in enumerate(turns):
        yield from (_put(turns, place, simple) for simple in _list_simpler(turn))


def _list_plainer(traits: Traits) -> Iterator[Traits]:
    for field in fields(Traits):
        plainer = replace(traits, **{field.name: field.default})
        if plainer != traits and (plainer.checks or not plainer.backtracks):
            yield plainer


def _list_simpler(turn: Turn) -> Iterator[Turn]:
    for calls in _without_one(turn.calls):
        yield replace(turn, calls=calls)
    if turn.meanwhile or turn.fails or turn.says != "good":
        yield replace(turn, meanwhile="", fails=False, says="good")


def _without_one(parts: Sequence[Part]) -> Iterator[tuple[Part, ...]]:
    for place in range(len(parts)):
        yield (*parts[:place], *parts[place + 1 :])


def _put(parts: Sequence[Part], place: int, part: Part) -> tuple[Part, ...]:
    return (*parts[:place], part, *parts[place + 1 :])
