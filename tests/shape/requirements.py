"""Which tests show which row of docs/requirements.md: run as a program, this writes it there."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.shape.tree import ROOT, files, parsed

PAGE = ROOT / "docs" / "requirements.md"
ROW = re.compile(
    r"^\| (?P<id>[A-Z]{1,2}-\d\d) \| (?P<says>.+?) \| ?(?P<files>.*?) \|$", re.MULTILINE
)

_ID = re.compile(r"\b[A-Z]{1,2}-\d\d\b")
_RANGE = re.compile(r"\b([A-Z]{1,2})-(\d\d) to \1-(\d\d)\b")
_COMMENT = re.compile(r"# (.+)$", re.MULTILINE)


@cache
def cited() -> Mapping[str, set[Path]]:
    """Find each id in the comments and docstrings of tests, and the files that have it."""
    found: dict[str, set[Path]] = defaultdict(set)
    for path in files():
        if path.parts[0] != "tests" or path.suffix != ".py":
            continue
        for text in _said(path):
            for id_ in _ids(text):
                found[id_].add(path)
    return found


def current(page: str) -> str:
    """Return the page with the files that cite each row today."""
    found = cited()

    def renewed(row: re.Match[str]) -> str:
        paths = sorted(str(path.relative_to("tests")) for path in found.get(row["id"], ()))
        return f"| {row['id']} | {row['says']} | {', '.join(f'`{path}`' for path in paths)} |"

    return ROW.sub(renewed, page)


def _said(path: Path) -> Iterator[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    yield from (comments := _COMMENT.findall(text))
    if len(_ID.findall(text)) == sum(len(_ID.findall(one)) for one in comments):
        return  # so no docstring has any, and to parse all tests takes a second
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def _ids(text: str) -> Iterator[str]:
    yield from _ID.findall(text)
    for area, first, last in _RANGE.findall(text):
        yield from (f"{area}-{number:02}" for number in range(int(first), int(last) + 1))


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
