"""Rules of the house that can be seen in a syntax tree or a file's text, one function each."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shape.tree import ROOT, files, product, trees

VAGUE_NAME = re.compile("utils?|helpers?|common|misc|manager|shared|core|lib")
VAGUE_CLASS = re.compile(r"\w+(Manager|Helper|Processor|Service|Util|Data|Info|Wrapper)")
MACHINE_PATH = re.compile(r"(?<![\w./])/(work|root|tmp/w)(?![\w-])")

Rule = Callable[[Path, ast.AST], bool]

_RUN_LOOP = ("workflows/execution/loop.py", "_run_steps")


def long_file(path: Path, node: ast.AST) -> bool:
    """Beyond 400 lines."""
    return isinstance(node, ast.Module) and len((ROOT / path).read_text("utf-8").split("\n")) > 401


def long_function(path: Path, node: ast.AST) -> bool:
    """Beyond 45 lines without its docstring, or 60 for the run loop, which is a table of cases."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    lines = _lines(node) - (_lines(node.body[0]) if ast.get_docstring(node) else 0)
    return lines > (60 if (str(path), node.name) == _RUN_LOOP else 45)


def _lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


OUTSIDE_NAMES = {"HandoffData"}
"""Names that those who write agents were promised."""


def vague_name(path: Path, node: ast.AST) -> bool:
    """A file or folder called utils, common or the like."""
    names = (*path.parent.parts, path.stem)
    return isinstance(node, ast.Module) and any(map(VAGUE_NAME.fullmatch, names))


def vague_class(_: Path, node: ast.AST) -> bool:
    """A class called by its role in the code instead of its noun."""
    if not isinstance(node, ast.ClassDef) or node.name in OUTSIDE_NAMES:
        return False
    return VAGUE_CLASS.fullmatch(node.name) is not None


def loose_type(path: Path, node: ast.AST) -> bool:
    """Any, where every type is ours."""
    said = getattr(node, "name" if isinstance(node, ast.alias) else "attr", None)
    return (
        path.parts[0] in {"contracts", "guardrails", "policy", "run", "workflows"}
        and said == "Any"
    )


def broad_except(path: Path, node: ast.AST) -> bool:
    """Catching whatever comes, below the top level."""
    if path not in product() or str(path).startswith(("worker.py", "holdfast/cli/")):
        return False
    if not isinstance(node, ast.ExceptHandler):
        return False
    return not node.type or bool(re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))


def silent_test(path: Path, node: ast.AST) -> bool:
    """A test that doesn't say which rule it keeps."""
    if path.parts[0] != "tests" or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.name.startswith("test_") and not ast.get_docstring(node)


RULES: tuple[Rule, ...] = (
    long_file,
    long_function,
    vague_name,
    vague_class,
    loose_type,
    broad_except,
    silent_test,
)


RULED = (
    ast.Module,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ExceptHandler,
    ast.alias,
    ast.Attribute,
)
"""What a rule may be about: a tenth of all nodes."""


@pytest.mark.slow
def test_nothing_breaks_a_rule() -> None:
    """No place in the code is what the docstring of a rule says."""
    places = [
        f"{path}:{getattr(node, 'lineno', 1)}: {rule.__name__}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, RULED)
        for rule in RULES
        if rule(path, node)
    ]

    assert not places, "\n".join(places)


@pytest.mark.parametrize(
    ("rule", "path", "code"),
    [
        pytest.param(long_function, "a.py", "def f():\n" + " x = 1\n" * 45, id="46 lines"),
        pytest.param(vague_class, "a.py", "class RunManager: pass", id="manager"),
        pytest.param(loose_type, "policy/a.py", "from typing import Any", id="imported"),
        pytest.param(loose_type, "policy/a.py", "x: typing.Any", id="qualified"),
        pytest.param(silent_test, "tests/a.py", "async def test_x(): pass", id="no docstring"),
    ],
)
def test_rules_see_what_they_forbid(rule: Rule, path: str, code: str) -> None:
    """Each rule that a slip could blind finds its own bad example."""
    assert any(rule(Path(path), node) for node in ast.walk(ast.parse(code)))


def test_no_file_names_a_machine() -> None:
    """No text in the repository names a path of the machine it was written on."""
    texts = {path: (ROOT / path).read_bytes().decode("utf-8", "replace") for path in files()}

    assert [str(path) for path, text in texts.items() if MACHINE_PATH.search(text)] == []
