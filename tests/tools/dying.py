"""Work on a workspace by a process that dies at a step of the file system, with no last word."""

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
