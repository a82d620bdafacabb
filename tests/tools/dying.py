"""Work on a workspace that ends at a step of the file system: it dies, or the disk fails."""

import errno
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.tools.workspaces import Workspaces

_STEPS = frozenset(
    {"open", "os.chmod", "os.chown", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}
    | {"os.scandir", "os.symlink"}
)
_FINISHED = 0
_FAILED = 1
_DIED = 9

Work = Callable[[Workspaces], object]


def deaths(home: Path, work: Work) -> Iterator[int]:
    """Have a process die before each step of some work, one step later each time, till it ends."""
    spawning = multiprocessing.get_context("forkserver")
    spawning.set_forkserver_preload([__name__])
    step = 0
    while True:
        process = spawning.Process(target=_until, args=(home, work, step))
        process.start()
        process.join()
        if process.exitcode == _FINISHED:
            return
        assert process.exitcode == _DIED
        yield step
        step += 1


def failures(home: Path, work: Work, *, lasting: bool) -> Iterator[int]:
    """
    Have the disk fail at each step of some work, one step later each time, till it is done.

    With *lasting* it fails from there on, and else once: what tidies up can do that.
    """
    spawning = multiprocessing.get_context("forkserver")
    spawning.set_forkserver_preload([__name__])
    step = 0
    while True:
        process = spawning.Process(target=_until_failure, args=(home, work, step, lasting))
        process.start()
        process.join()
        if process.exitcode == _FINISHED:
            return
        assert process.exitcode == _FAILED
        yield step
        step += 1


def _until_failure(home: Path, work: Work, step: int, lasting: bool) -> None:
    left = step

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in _STEPS:
            left -= 1
            if left == -1 or (lasting and left < 0):
                raise OSError(errno.EIO, "the disk fails")

    workspaces = Workspaces(home)
    sys.addaudithook(count)
    try:
        work(workspaces)
    except OSError:
        os._exit(_FAILED)
    os._exit(_FINISHED if left >= 0 else _FAILED)


def _until(home: Path, work: Work, step: int) -> None:
    left = step

    def count(event: str, _: object) -> None:
        nonlocal left
        if event in _STEPS:
            left -= 1
            if left < 0:
                os._exit(_DIED)

    workspaces = Workspaces(home)
    sys.addaudithook(count)
    work(workspaces)
    os._exit(_FINISHED)
