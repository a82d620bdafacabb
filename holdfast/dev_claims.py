"""What a `holdfast dev` holds as long as it runs, and what one that was killed has left behind."""

import fcntl
import json
import os
import signal
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO, cast

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import HoldfastError

END_TIMEOUT_SECONDS = 15.0
"""Seconds that a server has to end; it writes down what it knows."""

_SERVER_COMMAND = b"start-dev"


class Claim(NamedTuple):
    """A file that nobody else can hold, and in which stands who does."""

    file: TextIO

    def note(self, address: str, server: int) -> None:
        """Write down who holds it: this process, with a server of its own."""
        self.file.seek(0)
        self.file.truncate()
        json.dump({"pid": os.getpid(), "address": address, "server": server}, self.file)
        self.file.flush()


@contextmanager
def claim(path: Path, taken: str) -> Generator[Claim]:
    """
    Hold a file while the block lasts, and end the server of whoever held it and was killed.

    Raises HoldfastError on one line, which begins with *taken*, where somebody holds it now.
    """
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise HoldfastError(f"{error.filename}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HoldfastError(f"{taken}{_describe_holder(_read(file))}") from None
        left = _read(file).get("server")
        if isinstance(left, int):
            _end_server(left)
        mine = Claim(file)
        yield mine
        file.truncate(0)


def find_port_file(port: int) -> Path:
    """Return the file of a port, which belongs to this user, whatever folder they are in."""
    folder = Path(tempfile.gettempdir()) / f"holdfast-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat(follow_symlinks=False).st_uid != os.getuid():
            raise HoldfastError(
                f"{folder} belongs to somebody else: set TMPDIR to a folder of yours"
            )
    except OSError as error:
        raise HoldfastError(f"{folder}: {error.strerror}") from None
    return folder / f"{port}.lock"


def _describe_holder(known: JsonObject) -> str:
    pid = known.get("pid")
    if pid is None:
        return " by a 'holdfast dev' that just begins or ends: try again"
    return (
        f" by 'holdfast dev' at {known.get('address')} (pid {pid}): use that one, with 'holdfast "
        f"worker APP' for another app, stop it with 'kill {pid}', or choose other --port, "
        "--ui-port and --db"
    )


def _read(file: TextIO) -> JsonObject:
    file.seek(0)
    try:
        known = json.loads(file.read())
    except ValueError:
        return {}
    return cast("JsonObject", known) if isinstance(known, dict) else {}


def _end_server(pid: int) -> None:
    deadline = time.monotonic() + END_TIMEOUT_SECONDS
    if not _is_server(pid):
        return
    os.kill(pid, signal.SIGINT)
    while _is_server(pid):
        if time.monotonic() > deadline:
            raise HoldfastError(
                f"the server of a killed 'holdfast dev' doesn't end: kill -9 {pid}"
            )
        time.sleep(0.05)


def _is_server(pid: int) -> bool:
    """Whether a process is a server of ours: its number may have gone to another since."""
    try:
        os.kill(pid, 0)
        return _SERVER_COMMAND in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return not Path("/proc/self").exists()  # nothing there to tell by, as on macOS
    except OSError:
        return False
