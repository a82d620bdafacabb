"""The files that this repository holds, as the tests beside this one look at them."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
_GIT = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
_MADE = re.compile(r"\.git|\.venv|\.holdfast|\.hypothesis|\..*_cache|__pycache__|build")


def _listed() -> Iterator[Path]:
    try:
        listing = subprocess.run(_GIT, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        yield from (path.relative_to(ROOT) for path in ROOT.rglob("*"))
    else:
        yield from map(Path, listing.split("\0"))


FILES = sorted(
    path
    for path in _listed()
    if (ROOT / path).is_file()
    and not (ROOT / path).is_symlink()
    and not any(map(_MADE.fullmatch, path.parts))
)
TREES = {
    path: ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for path in FILES
    if path.suffix == ".py"
}
# What runs in production, in contrast to what tests, measures or shows it.
PRODUCT = {
    path: tree
    for path, tree in TREES.items()
    if path.parts[0] not in {"tests", "bench", "examples", "docs"}
}


def module(path: Path) -> str:
    """Name the module that a file is imported as."""
    below = path.with_suffix("").parts
    if path in PRODUCT and path.parts[0] != "holdfast":
        below = ("holdfast", *below)
    return ".".join(below).removesuffix(".__init__")
