"""What all built-in guardrails may be told, and how a text is looked at."""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypedDict, TypeVar, Unpack, cast, get_args, get_type_hints

from pydantic import FiniteFloat

from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import Layer, Mode, OnTrip, WatchTarget
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    GuardrailFunction,
    GuardrailOptions,
    build_spec,
    validate_settings,
)
from holdfast.tools.fair_threads import FairThreads

MAX_INLINE_CHARS = 5_000
"""Characters, of which some become eighteen: more takes too long for the loop of all runs."""

# More would only divide the same time, of one interpreter.
_DETECTORS = FairThreads(2, "detect")

Detection = TypeVar("Detection")
FactoryParams = ParamSpec("FactoryParams")


class BuiltinOptions(TypedDict, total=False):
    """What every built-in guardrail may be told; two of one kind in an app need two names."""

    name: str
    on_trip: OnTrip
    timeout: FiniteFloat


class InputOptions(BuiltinOptions, total=False):
    """What those of layer "input" may be told beside that."""

    mode: Mode
    watches: tuple[WatchTarget, ...]
    local: bool


def builtin(make: Callable[FactoryParams, Guardrail]) -> Callable[FactoryParams, Guardrail]:
    """Have what makes a guardrail refuse, on one line, what its signature doesn't allow."""
    name = make.__name__
    signature = inspect.signature(make)
    known = get_type_hints(make, include_extras=True)
    del known["return"]
    (wishes,) = get_args(known.pop("wishes"))
    known |= get_type_hints(wishes, include_extras=True)

    @wraps(make)
    def wrapper(*args: FactoryParams.args, **kwargs: FactoryParams.kwargs) -> Guardrail:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise AppError(f"guardrail {name!r}: {error}") from None
        told = validate_settings(name, {**given.pop("wishes", {}), **given}, known)
        # Everything goes by its name, which a ParamSpec can't say.
        return cast("Callable[..., Guardrail]", make)(**told)

    return wrapper


def build_guardrail(
    name: str,
    layer: Layer,
    function: GuardrailFunction,
    wishes: BuiltinOptions | InputOptions,
    **terms: Unpack[GuardrailOptions],
) -> Guardrail:
    """Make a built-in guardrail: *terms* are its own, *wishes* replace them."""
    own = cast("GuardrailOptions", {**terms, **wishes})  # what it is told beside Terms is its name
    return Guardrail(build_spec(wishes.get("name", name), layer, own), function)


async def run_detector(
    context: GuardrailContext, text: str, look: Callable[[str], Detection]
) -> Detection:
    """Look at a text; at a long one beside the loop."""
    if len(text) > MAX_INLINE_CHARS:
        return await run_beside(context, partial(look, text))
    return look(text)


async def run_beside(context: GuardrailContext, look: Callable[[], Detection]) -> Detection:
    """Do what long texts make long in threads in which each tenant has its turn."""
    return await _DETECTORS.run(context.tenant, look)
