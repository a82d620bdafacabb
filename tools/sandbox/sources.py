"""The code that a sandboxed tool needs, copied to where nothing else lies."""

import hashlib
import os
import py_compile
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import all_suffixes
from importlib.util import cache_from_source
from pathlib import Path
from types import ModuleType

from holdfast.contracts.errors import AppError

OURS = "holdfast"

OURS_ALONE = ("holdfast.contracts", "holdfast.tools")
"""The packages that a process in the sandbox and the built-in tools need."""

CODE = "/code"
"""Where the copy lies inside."""

MAX_FILES = 20_000

ABANDONED_SECONDS = 3_600
"""Seconds since somebody began a copy that isn't there by now; one takes some."""

_PARTIAL = "tmp"
"""How the folder of a copy is named that isn't complete; no digest is."""


def list_loaded_modules(there: Iterable[Path]) -> tuple[str, ...]:
    """Name what this process has imported from elsewhere than the folders that are there."""
    folders = tuple(there)
    return tuple(
        sorted(
            name
            for name, module in list(sys.modules.items())
            if "." not in name
            and not name.startswith("__")
            and any(not _is_below(place, folders) for place in _places(module))
        )
    )


def copy_code(names: Iterable[str], into: Path) -> Path:
    """
    Copy modules and packages as they are now to a folder of their own below *into*.

    Only code is copied: what lies beside it, such as `.env`, `.git` or keys, stays outside. The
    folder is named by its content, so it is made once: by what was copied, which may have changed
    since somebody looked whether there is a copy.
    """
    files = dict(sorted(_files(names)))
    into.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(into)
    if (known := into / _digest(files)).exists():
        return known
    with tempfile.TemporaryDirectory(dir=into, prefix=_PARTIAL) as partial:
        copy = Path(partial, "code")
        _copy(files, copy)
        folder = into / _digest({name: copy / name for name in files})
        try:
            copy.rename(folder)
        except OSError:
            if not folder.exists():
                raise  # else another worker was quicker
    return folder


def _digest(files: Mapping[str, Path]) -> str:
    hashed = hashlib.sha256(sys.version.encode())
    for name, path in files.items():
        content = path.read_bytes()
        hashed.update(f"{name}\0{len(content)}\0".encode() + content)
    return hashed.hexdigest()[:32]


def _remove_leftovers(into: Path) -> None:
    """Remove what workers have left that were killed while they copied."""
    for partial in into.glob(f"{_PARTIAL}*"):
        with suppress(FileNotFoundError):  # another worker removes it, or is done
            if partial.stat().st_mtime < time.time() - ABANDONED_SECONDS:
                shutil.rmtree(partial, ignore_errors=True)


def _copy(files: Mapping[str, Path], folder: Path) -> None:
    used = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    folder.mkdir()
    for name, path in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o644)
        # What runs in the sandbox can't keep what it compiles.
        if path.suffix == ".py" and (str(path) in used or name.split("/")[0] == OURS):
            py_compile.compile(
                str(target),
                dfile=f"{CODE}/{name}",
                quiet=2,
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
            cached = Path(cache_from_source(str(target)))
            if cached.exists():
                cached.chmod(0o644)
    for made, _, _ in os.walk(folder):
        Path(made).chmod(0o755)


def _files(names: Iterable[str]) -> Iterator[tuple[str, Path]]:
    if face := sys.modules[OURS].__file__:
        yield f"{OURS}/__init__.py", Path(face)
    count = 0
    for name in names:
        for place in _places(sys.modules[name]):
            for path in _code(place):
                count += 1
                if count > MAX_FILES:
                    raise AppError(
                        f"the sandbox copies the code that an app has loaded, and {name!r} makes "
                        f"it more than {MAX_FILES:,} files: define sandboxed tools in a package "
                        "of their own"
                    )
                package = Path(*name.split(".")) if place.is_dir() else Path()
                below = path.relative_to(place if place.is_dir() else place.parent)
                yield str(package / below), path


def _code(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    suffixes = tuple(all_suffixes())
    # A link to a package is that package: so lie the rooms of this one in a checkout.
    for folder, folders, files in os.walk(place, followlinks=True):
        folders[:] = [name for name in folders if _holds_code(Path(folder, name))]
        for name in files:
            if name.endswith(suffixes) and not name.startswith("."):
                yield Path(folder, name)


def _holds_code(folder: Path) -> bool:
    name = folder.name
    hidden = name.startswith(".") or name in {"__pycache__", "node_modules"}
    return not hidden and not _is_circle(folder) and not (folder / "pyvenv.cfg").exists()


def _is_circle(folder: Path) -> bool:
    return folder.is_symlink() and folder.resolve() in [
        above.resolve() for above in folder.parents
    ]


def _places(module: ModuleType) -> list[Path]:
    """Return a package's folders or a module's file; nothing for what is built in."""
    if (folders := getattr(module, "__path__", None)) is not None:
        return [Path(folder) for folder in folders if Path(folder).is_dir()]
    file = getattr(module, "__file__", None)
    return [Path(file)] if file is not None and Path(file).is_file() else []


def _is_below(path: Path, folders: tuple[Path, ...]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
