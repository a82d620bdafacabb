"""No guardrail comes with Holdfast that no test has look."""

import ast
from functools import cache

import pytest

from holdfast.guardrails.builtin import BUILTIN
from tests.shape.tree import trees


@cache
def called() -> set[str]:
    """The names of everything that tests call, each within a test."""
    return {
        node.func.id
        for path, tree in trees().items()
        if path.parts[0] == "tests" and path.name.startswith("test_")
        for test in ast.walk(tree)
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef)
        if test.name.startswith("test_")
        for node in ast.walk(test)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


@pytest.mark.parametrize("name", BUILTIN)
def test_every_built_in_guardrail_has_a_test(name: str) -> None:
    """A test makes it and looks at what it says: adding one without a test fails here."""  # TS-12
    assert BUILTIN[name].__name__ in called()
