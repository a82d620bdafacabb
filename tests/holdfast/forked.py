"""Commands in processes of their own, forked from one that has imported the command line."""

import importlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import NamedTuple

from holdfast.cli import main

IMPORTED = ("temporalio.client", "temporalio.worker", "holdfast.app", "holdfast.worker")
MOST_BYTES = 1_000_000


class Asking(NamedTuple):
    """A command, and where it runs."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    is_session: bool


def serve() -> None:
    """Fork a process for each command that is asked for on standard input, until that closes."""
    asked = socket.socket(fileno=os.dup(0))
    for file in Path(main.__file__).parent.glob("*.py"):
        importlib.import_module(f"holdfast.cli.{file.stem}")
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        said, files, _, _ = socket.recv_fds(asked, MOST_BYTES, 4)
        if not said:
            return
        if os.fork() == 0:
            asked.close()
            _watch(Asking(**json.loads(said)), files)
        for file in files:
            os.close(file)


def _watch(asking: Asking, files: list[int]) -> None:
    """Run a command; tell which process it is, and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    answer, *streams = files
    child = os.fork()
    if child == 0:
        os.close(answer)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        _command(asking)
    os.write(answer, f"{child} ".encode())
    _, status = os.waitpid(child, 0)
    os.write(answer, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _command(asking: Asking) -> None:
    if asking.is_session:
        os.setsid()
    # Which are a terminal's now, if they are.
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 -- to its end
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115 -- the same
    os.chdir(asking.folder)
    environment = os.environ  # noqa: TID251 -- for the command, which reads it
    environment.clear()
    environment.update(asking.environment)
    sys.argv = [main.__file__, *asking.arguments]
    sys.path[0] = asking.folder
    main.main()


if __name__ == "__main__":
    serve()
