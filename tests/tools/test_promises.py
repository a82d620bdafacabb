"""A tool says what it returns: a promise of anything at all is none."""

from typing import Any

import pytest
from pydantic import JsonValue

from holdfast import Risk, tool
from holdfast.contracts.errors import AppError


async def anything(x: str) -> Any:  # noqa: ANN401 -- what is refused
    """Return whatever there is to return."""
    return x


async def some_object(x: str) -> object:
    """Return whatever there is to return."""
    return x


async def some_json(x: str) -> JsonValue:
    """Return whatever can be written as JSON."""
    return x


@pytest.mark.parametrize("function", [anything, some_object])
def test_who_promises_nothing_is_refused(function: Any) -> None:  # noqa: ANN401 -- as above
    """Nothing would be checked of it, and no model would know what comes."""  # TC-02
    with pytest.raises(AppError, match="returns anything at all"):
        tool(risk=Risk.READ_ONLY)(function)


def test_json_of_any_kind_is_a_promise() -> None:
    """Some tools hand on what others say: that is JSON at least."""  # TC-02
    assert tool(risk=Risk.READ_ONLY)(some_json).contract.name == "some_json"
