"""What all built-in guardrails may be told, and how a text is looked at."""

import asyncio
from collections.abc import Callable
from typing import TypedDict, TypeVar, Unpack, cast

from activities.guardrails.definition import Guardrail, GuardrailFunction, Terms, specified
from contracts.guardrails import Layer, Mode, OnTrip, Watched

LARGE = 100_000
"""Characters; looking at so many takes too long for the loop that all runs share."""

Found = TypeVar("Found")


class Wishes(TypedDict, total=False):
    """What every built-in guardrail may be told; two of one kind in an app need two names."""

    name: str
    on_trip: OnTrip
    timeout: float


class InputWishes(Wishes, total=False):
    """What those of layer "input" may be told beside that."""

    mode: Mode
    watches: tuple[Watched, ...]
    local: bool


def made(
    name: str,
    layer: Layer,
    function: GuardrailFunction,
    wishes: Wishes | InputWishes,
    **terms: Unpack[Terms],
) -> Guardrail:
    """Make a built-in guardrail: *terms* are its own, *wishes* replace them."""
    own = cast("Terms", {**terms, **wishes})  # what it is told beside Terms is its name
    return Guardrail(specified(wishes.get("name", name), layer, own), function)


async def looked(text: str, look: Callable[[str], Found]) -> Found:
    """Look at a text; at a long one beside the loop."""
    if len(text) > LARGE:
        return await asyncio.to_thread(look, text)
    return look(text)
