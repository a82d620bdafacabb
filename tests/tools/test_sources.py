"""The code that a sandboxed tool needs: what is copied of it, once, and how the copy is named."""

import itertools
import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from holdfast.contracts.errors import AppError
from holdfast.tools.sandbox import jail, sources


def a_package(folder: Path, name: str) -> Path:
    """A package with code, and with what lies beside code."""
    package = folder / name
    for path in (
        "__init__.py",
        "one.py",
        "inner/two.py",
        ".env",
        ".git/three.py",
        "data.json",
        "key.pem",
        "node_modules/four.py",
        "venv/five.py",
        "venv/pyvenv.cfg",
        ".hidden.py",
    ):
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text("")
    return package


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a package that this process has imported from a project."""
    name = "imported_from_a_project"
    package = a_package(tmp_path / "project", name)
    made = type(sys)(name)
    made.__path__ = [str(package)]
    made.__file__ = str(package / "__init__.py")
    monkeypatch.setitem(sys.modules, name, made)
    return name


def test_only_code_is_copied(imported: str, tmp_path: Path) -> None:
    """Of a package its code is copied; keys, data, hidden folders and environments aren't."""
    folder = sources.copy_code([imported], tmp_path / "copies")

    copied = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    copied.remove("holdfast/__init__.py")
    assert {name for name in copied if not name.endswith(".pyc")} == {
        f"{imported}/__init__.py",
        f"{imported}/one.py",
        f"{imported}/inner/two.py",
    }


def test_code_is_copied_once(imported: str, tmp_path: Path) -> None:
    """The same code has one copy; changed code has another."""
    first = sources.copy_code([imported], tmp_path / "copies")
    assert sources.copy_code([imported], tmp_path / "copies") == first

    (tmp_path / "project" / imported / "one.py").write_text("x = 1\n")

    assert sources.copy_code([imported], tmp_path / "copies") != first
    assert len(list((tmp_path / "copies").iterdir())) == 2


@contextmanager
def changing(file: Path) -> Generator[None]:
    """Have a file say something else all the time."""
    over, fresh = threading.Event(), file.with_suffix(".new")

    def change() -> None:
        for number in itertools.count():
            if over.is_set():
                return
            fresh.write_text(f"x = {number}\n")
            fresh.replace(file)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_copy_is_named_by_what_is_in_it(imported: str, tmp_path: Path) -> None:
    """Also of code that changes meanwhile: a worker that has other code would run that for its."""
    code, copies = tmp_path / "project" / imported / "one.py", tmp_path / "copies"
    with changing(code):
        made = {sources.copy_code([imported], copies) for _ in range(20)}

    for folder in made:
        code.write_bytes((folder / imported / "one.py").read_bytes())
        assert sources.copy_code([imported], copies) == folder


def test_what_a_killed_worker_left_of_a_copy_is_removed(imported: str, tmp_path: Path) -> None:
    """Once nobody can be at it any more: another worker may be copying just now."""
    folder = sources.copy_code([imported], tmp_path / "copies")
    left, fresh = folder.with_name("tmpkilled"), folder.with_name("tmpfresh")
    for partial in (left, fresh):
        (partial / "code" / imported).mkdir(parents=True)
    long_ago = time.time() - sources.ABANDONED_SECONDS - 60
    os.utime(left, (long_ago, long_ago))

    assert sources.copy_code([imported], tmp_path / "copies") == folder
    assert set(folder.parent.iterdir()) == {folder, fresh}


def test_everybody_may_read_the_copy(imported: str, tmp_path: Path) -> None:
    """The copy can be read by whom the call runs as, whatever the project's own rights are."""
    (tmp_path / "project" / imported / "one.py").chmod(0o600)

    folder = sources.copy_code([imported], tmp_path / "copies")

    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*.py")} == {0o644}
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*/")} == {0o755}
    assert folder.stat().st_mode & 0o777 == 0o755


def test_our_code_is_compiled(tmp_path: Path) -> None:
    """What every call imports needn't be compiled by every call."""
    folder = sources.copy_code(sources.OURS_ALONE, tmp_path)

    assert Path(cache_from_source(str(folder / "holdfast" / "tools" / "tool.py"))).exists()


def test_too_much_code_is_refused(
    imported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An app that drags half a disk along is told so."""
    monkeypatch.setattr(sources, "MAX_FILES", 2)

    with pytest.raises(AppError, match="define sandboxed tools in a package of their own"):
        sources.copy_code([imported], tmp_path / "copies")


def test_what_is_installed_is_not_copied(imported: str) -> None:
    """Of what is imported, only what no folder of Python's holds must be copied."""
    names = sources.list_loaded_modules(jail.find_system_folders())

    assert {"holdfast", "tests", imported} <= set(names)
    assert not {"os", "pydantic", "pytest", "pydantic_core", "sys"} & set(names)
