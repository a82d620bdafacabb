"""A result in two parts: a short one for the model, a full one for people and audit."""

from inspect import isclass
from typing import Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

Short = TypeVar("Short")
Full = TypeVar("Full")


class TwoPart(BaseModel, Generic[Short, Full]):
    """
    What a tool returns whose model needs less than whoever looks at it later.

    A model reads `short`, which stands in history; `full` is kept as an artifact, and history has
    its digest.
    """

    short: Short
    full: Full


def find_short_part(returns: type[object]) -> TypeAdapter[object] | None:
    """Return what writes what a model reads of a result in two parts; null for any other."""
    if not (isclass(returns) and issubclass(returns, TwoPart)):
        return None
    shown = returns.model_fields["short"].annotation
    return None if shown is None else TypeAdapter(shown)
