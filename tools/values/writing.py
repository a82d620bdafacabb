"""What a function returned, as JSON: a call has done what it did, whatever its result holds."""

from typing import cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from holdfast.contracts.base import repair_surrogates
from holdfast.contracts.bounds import TOO_DEEP_JSON

_ENDLESS = {"recursion_loop", "recursion_depth_exceeded"}


def write_json(returns: TypeAdapter[object], value: object) -> bytes:
    """
    Write what was returned as JSON; raises ValueError when it isn't what was promised.

    What is nested too deeply, or in itself, becomes TOO_DEEP_JSON, and halves of characters, which
    JSON of others may hold, become marks: neither hides that the call was done.
    """
    try:
        try:
            # Its warnings would quote the value.
            return returns.dump_json(returns.validate_python(value), warnings=False)
        except ValueError as error:
            if not _has_halves(error):
                raise
            return _write_and_repair(returns, value)
    except RecursionError:
        return TOO_DEEP_JSON
    except ValueError as error:
        if _is_endless(error):
            return TOO_DEEP_JSON
        raise


def _write_and_repair(returns: TypeAdapter[object], value: object) -> bytes:
    """Repair what is plain before its type reads it, and what types made of it behind them."""
    read = returns.validate_python(_repair(value))
    try:
        return to_json(_repair(returns.dump_python(read, mode="json", warnings=False)))
    except UnicodeEncodeError:  # by a name of a field in what has no type
        return to_json(_repair(returns.dump_python(read, warnings=False)), serialize_unknown=True)


def _repair(value: object) -> object:
    match value:
        case str():
            return repair_surrogates(value)
        case list() | tuple():
            return [_repair(entry) for entry in cast("list[object]", value)]
        case dict():
            fields = cast("dict[object, object]", value)
            return {_repair(name): _repair(entry) for name, entry in fields.items()}
        case _:
            return value


def _has_halves(error: ValueError) -> bool:
    """Whether a text in it can't be written, or read, for half of a surrogate pair."""
    if isinstance(error, ValidationError):
        return any(flaw["type"] == "string_unicode" for flaw in error.errors())
    return isinstance(error, PydanticSerializationError) and "surrogates" in str(error)


def _is_endless(error: ValueError) -> bool:
    """Whether a value is nested too deeply to be written, or in itself."""
    if isinstance(error, ValidationError):
        return any(flaw["type"] in _ENDLESS for flaw in error.errors())
    return "depth exceeded" in str(error) or "Circular reference" in str(error)
