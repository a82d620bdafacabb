"""Tools for the files of a run's workspace, which is the working directory in the sandbox."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import ResourceScope, Risk
from holdfast.tools.tool import tool

MAX_PAGE_CHARS = 15_000
"""Of one page of a file; with its JSON it must fit into a result."""

MAX_ENTRIES = 300

FilePath: TypeAlias = Annotated[
    str, Field(min_length=1, max_length=1_000, description="A path relative to the workspace.")
]

_WORKSPACE = ResourceScope(kind="workspace", argument="path")


@dataclass(frozen=True)
class Page:
    """Lines of a file; `next_line` is where the next page begins, if there is one."""

    text: str
    next_line: int | None


@dataclass(frozen=True)
class Entry:
    """A file or folder, with its size in bytes."""

    name: str
    kind: Literal["file", "folder", "link", "other"]
    size: int


@dataclass(frozen=True)
class Listing:
    """What lies in a folder; `total` counts what isn't shown, too."""

    entries: list[Entry]
    total: int


@tool(risk=Risk.READ_ONLY, sandboxed=True, scope=_WORKSPACE)
def read_file(path: FilePath, first_line: Annotated[int, Field(ge=1)] = 1) -> Page:
    """Read a text file of the workspace, a page at a time."""
    with _translate_errors(path):
        file = _resolve_path(path)
        if not stat.S_ISREG(file.stat().st_mode):
            raise ToolError("invalid_arguments", f"{path!r} is no file", ("list the files",))
        with file.open(encoding="utf-8", errors="replace", newline="") as lines:
            for _ in range(first_line - 1):
                if not lines.readline():
                    break
            text, number = "", first_line
            # A line longer than a page is cut: its rest is in no page.
            while line := lines.readline(MAX_PAGE_CHARS):
                if text and len(text) + len(line) > MAX_PAGE_CHARS:
                    return Page(text, number)
                text, number = text + line, number + 1
                while not line.endswith("\n") and (line := lines.readline(MAX_PAGE_CHARS)):
                    pass
    return Page(text, None)


@tool(
    risk=Risk.WRITE_LOCAL,
    sandboxed=True,
    scope=_WORKSPACE,
    expected_result="the file is in the workspace of this run, which nobody else sees",
    rollback="write the file again",
)
def write_file(
    path: FilePath, content: Annotated[str, Field(max_length=1_000_000)], *, append: bool = False
) -> str:
    """Write a text file into the workspace, in place of one that is there or after its end."""
    with _translate_errors(path):
        file = _resolve_path(path)
        if file.exists() and not stat.S_ISREG(file.stat().st_mode):
            raise ToolError("conflict", f"{path!r} is no file", ("use another path",))
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a" if append else "w", encoding="utf-8", newline="") as writing:
            writing.write(content)
        return f"{path} has {file.stat().st_size} bytes"


@tool(risk=Risk.READ_ONLY, sandboxed=True, scope=_WORKSPACE)
def list_files(path: FilePath = ".") -> Listing:
    """List what lies in a folder of the workspace."""
    with _translate_errors(path):
        found = sorted(_resolve_path(path).iterdir())
        return Listing([_entry(one) for one in found[:MAX_ENTRIES]], len(found))


def _resolve_path(path: str) -> Path:
    """Return where a path leads, links followed; raises ToolError when that is outside."""
    workspace, named = Path.cwd().resolve(), PurePosixPath(path)
    found = (workspace / named).resolve()
    # Without the words as well: a path out and in again tells what lies outside.
    outside = named.is_absolute() or ".." in named.parts
    if outside or not found.is_relative_to(workspace):
        raise ToolError(
            "permission_denied",
            f"{path!r} leads out of the workspace",
            ("use a relative path without '..'", "list the files"),
        )
    return found


def _entry(path: Path) -> Entry:
    status = path.lstat()
    # A name that is no UTF-8 could not be sent: its other bytes are shown as escapes.
    name = os.fsencode(path.name).decode(errors="backslashreplace")
    if stat.S_ISLNK(status.st_mode):
        return Entry(name, "link", status.st_size)
    if stat.S_ISDIR(status.st_mode):
        return Entry(name, "folder", 0)
    return Entry(name, "file" if stat.S_ISREG(status.st_mode) else "other", status.st_size)


@contextmanager
def _translate_errors(path: str) -> Generator[None]:
    """Tell the model what the file system objects to."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError("not_found", f"no file {path!r}", ("list the files",)) from None
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ToolError("conflict", f"{path!r}: {reason}", ("list the files",)) from None
