"""Functions that can't be tools, each for a reason of its own."""

from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Any, Literal

TwelveModes = Literal["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]


class Mode(StrEnum):
    """Twelve things to do."""

    A, B, C, D, E, F = "a", "b", "c", "d", "e", "f"
    U, V, W, X, Y, Z = "u", "v", "w", "x", "y", "z"


async def silent(place: str) -> str:
    return place


async def terse(place: str) -> str:
    """Looks."""
    return place


async def untyped(place: str) -> str:
    """Look at a place and say what is there."""
    return place


del untyped.__annotations__["place"]


async def anything(place: Any) -> str:  # noqa: ANN401 -- what is tested
    """Look at a place and say what is there."""
    return str(place)


async def open_ended(*places: str) -> str:
    """Look at places and say what is there."""
    return str(places)


async def open_named(**places: str) -> str:
    """Look at places and say what is there."""
    return str(places)


async def no_result(place: str):
    """Look at a place and say what is there."""
    print(place)  # noqa: T201 -- what it does is no matter


async def literal_mode(mode: TwelveModes) -> str:
    """Do one of twelve things with it."""
    return mode


async def enum_mode(mode: Mode) -> str:
    """Do one of twelve things with it."""
    return mode


async def optional_mode(mode: TwelveModes | None = None) -> str:
    """Do one of twelve things with it."""
    return str(mode)


async def unreadable(place: Callable[[], str]) -> str:
    """Look at a place and say what is there."""
    return place()


async def unwritable(place: str) -> AsyncIterator[str]:
    """Look at a place and say what is there."""
    raise NotImplementedError(place)


async def undefined(place: str) -> str:
    """Look at a place and say what is there."""
    return place


undefined.__annotations__["place"] = "Place"


async def positional(place: str, /) -> str:
    """Look at a place and say what is there."""
    return place


async def look_at_a_place_and_say_in_more_letters_than_a_name_may_have_what_is_there(
    place: str,
) -> str:
    """Look at a place and say what is there."""
    return place
