"""Removing a tree, whatever somebody hostile has put into it."""

import os
import tempfile
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from holdfast.tools.safe_walk import FOLDER_FLAGS, set_mode

_BATCH = 1_000


def remove(top: Path) -> None:
    """
    Remove a folder, whatever it holds and however deep it is.

    Each folder is moved up before it is emptied, so that no path is too long and no more than two
    are open. What is left when this is killed can be removed in the same way.
    """
    heap = Path(tempfile.mkdtemp(prefix=f"{top.name.partition('.')[0]}.", dir=top.parent))
    top.chmod(0o700)  # or who isn't root couldn't move it
    top.rename(heap / "0")
    within = os.open(heap, os.O_RDONLY | os.O_DIRECTORY)
    try:
        waiting, made = deque([0]), 0
        while waiting:
            number = waiting.popleft()
            for name in _empty_folder(number, within):
                made += 1
                os.rename(name.path, str(made), src_dir_fd=name.folder, dst_dir_fd=within)
                waiting.append(made)
            os.rmdir(str(number), dir_fd=within)
    finally:
        os.close(within)
    heap.rmdir()


class _Inner(NamedTuple):
    path: str
    folder: int


def _empty_folder(number: int, within: int) -> Iterator[_Inner]:
    """Remove what is no folder, and yield each folder, which must be gone before the next."""
    set_mode(str(number), within, 0o700)
    folder = os.open(str(number), FOLDER_FLAGS, dir_fd=within)
    try:
        while batch := _list_batch(folder):
            for name, is_folder in batch:
                if is_folder:
                    set_mode(name, folder, 0o700)
                    yield _Inner(name, folder)
                else:
                    os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _list_batch(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        some = islice(entries, _BATCH)
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in some]
