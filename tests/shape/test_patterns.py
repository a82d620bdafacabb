"""No pattern of the product backtracks: text of others takes time that is linear in it."""

import ast
from collections.abc import Iterator

import pytest

from tests.shape.tree import ROOT, product, product_nodes

BACKTRACKING = {"re", "sre_compile", "sre_parse", "regex", "fnmatch", "glob"}
LINEAR = {"contracts/patterns.py": "re2"}
"""Who has patterns of its own; all others have them from here."""

VALIDATORS = {"validator_for", "is_valid", "validate", "iter_errors", "evaluate"}


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that a statement imports."""
    match node:
        case ast.Import(names=names):
            yield from (name.name.split(".")[0] for name in names)
        case ast.ImportFrom(module=str() as module):
            yield module.split(".")[0]
        case _:
            pass


@pytest.mark.slow
def test_patterns_are_re2_s() -> None:
    """Nothing but `contracts/patterns.py` has a library of patterns, and that is RE2."""
    found = {
        f"{path} imports {module}"
        for path, node in product_nodes()
        for module in imported(node)
        if module in {*BACKTRACKING, *LINEAR.values()} and LINEAR.get(str(path)) != module
    }

    assert found == set()


@pytest.mark.parametrize("argument", ["regex_engine", "python-re"])
def test_fields_keep_the_linear_engine(argument: str) -> None:
    """Patterns of fields are matched by pydantic's own engine, which is linear."""
    assert [str(path) for path in product() if argument in (ROOT / path).read_text("utf-8")] == []


def _is_validator(call: ast.Call) -> bool:
    """Whether something compiles a JSON Schema, whose patterns are the app's author's."""
    match call.func:
        case ast.Attribute(value=ast.Name(id="jsonschema_rs"), attr=name):
            return name in VALIDATORS or name.endswith("Validator")
        case _:
            return False


def test_schemas_are_checked_in_linear_time() -> None:
    """Whoever checks JSON against a schema asks for the engine that never backtracks."""
    checks = {
        f"{path}:{node.lineno}": {keyword.arg for keyword in node.keywords}
        for path, node in product_nodes()
        if isinstance(node, ast.Call) and _is_validator(node)
    }

    assert checks
    assert [where for where, given in checks.items() if "pattern_options" not in given] == []
