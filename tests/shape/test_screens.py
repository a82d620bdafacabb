"""Nothing of ours reaches a terminal but through the one writer."""

import ast
import re
from pathlib import Path

from tests.shape.tree import product_nodes

WRITER = Path("holdfast/cli/screen.py")
# A worker that can't start, what runs in the sandbox, and what libraries log.
OTHERS = {
    Path("worker.py"),
    Path("holdfast/cli/main.py"),
    Path("holdfast/logs.py"),
    Path("tools/sandbox/entry.py"),
}
WRITES = {"print", "input", "getpass", "echo", "secho", "confirm", "prompt", "Console"}
COPIED = re.compile(r"holdfast (?:[a-z]+ )+$")


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def test_one_place_writes_to_the_terminal() -> None:
    """No other print, prompt, console, nor write to a standard stream."""
    found = {
        f"{path}:{node.lineno}"
        for path, node in product_nodes()
        if path != WRITER
        and (
            (isinstance(node, ast.Call) and _name(node) in WRITES)
            or (
                isinstance(node, ast.Attribute)
                and node.attr in {"stdout", "stderr"}
                and isinstance(node.value, ast.Name)
                and node.value.id == "sys"
                and path not in OTHERS
            )
        )
    }

    assert found == set()


def test_a_line_to_copy_is_quoted() -> None:
    """A command with a value in it is written by `screen.command`."""
    found = {
        f"{path}:{node.lineno}"
        for path, node in product_nodes()
        if isinstance(node, ast.JoinedStr) and path != WRITER
        for before, value in zip(node.values, node.values[1:], strict=False)
        if isinstance(before, ast.Constant)
        and isinstance(value, ast.FormattedValue)
        and COPIED.search(str(before.value))
    }

    assert found == set()
