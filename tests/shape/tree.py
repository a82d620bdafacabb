"""The files that this repository holds, as the tests beside this one look at them."""

import ast
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
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


@cache
def files() -> tuple[Path, ...]:
    """Every file, by its path from the root."""
    return tuple(
        sorted(
            path
            for path in _listed()
            if (ROOT / path).is_file()
            and not (ROOT / path).is_symlink()
            and not any(map(_MADE.fullmatch, path.parts))
        )
    )


@cache
def trees() -> Mapping[Path, ast.Module]:
    """Every module, parsed once, when a test first looks."""
    return {path: parsed(path) for path in files() if path.suffix == ".py"}


@cache
def product() -> Mapping[Path, ast.Module]:
    """What runs in production, in contrast to what tests, measures or shows it."""
    others = {"tests", "bench", "examples", "docs"}
    ours = (path for path in files() if path.suffix == ".py" and path.parts[0] not in others)
    return {path: parsed(path) for path in ours}


@cache
def product_nodes() -> tuple[tuple[Path, ast.AST], ...]:
    """Every node of what runs in production, with the file it stands in: walked through once."""
    return tuple((path, node) for path, tree in product().items() for node in ast.walk(tree))


@cache
def parsed(path: Path) -> ast.Module:
    """One module, parsed once."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def module(path: Path) -> str:
    """Name the module that a file is imported as."""
    below = path.with_suffix("").parts
    if path in product() and path.parts[0] != "holdfast":
        below = ("holdfast", *below)
    return ".".join(below).removesuffix(".__init__")
