"""What a `holdfast dev` holds as long as it runs, and what one that was killed has left behind."""

import errno
import fcntl
import os
import signal
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO, NamedTuple, TypeAlias

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.errors import HoldfastError

END_TIMEOUT_SECONDS = 15.0
"""Seconds that a server has to end; it writes down what it knows."""

_MAX_BYTES = 4_096
"""Of what stands in a file that is held."""

_Pid: TypeAlias = Annotated[int, Field(strict=True, gt=0, le=2**22)]


class _Holder(Contract):
    """Who holds a file: a process, and the server that it has started."""

    pid: _Pid
    address: str = Field(max_length=100)
    server: _Pid


class Claim(NamedTuple):
    """A file that nobody else can hold, and in which stands who does."""

    file: BinaryIO

    def note(self, address: str, server: int) -> None:
        """Write down who holds it: this process, with a server of its own."""
        holder = _Holder(pid=os.getpid(), address=address, server=server)
        self.file.seek(0)
        self.file.truncate()
        self.file.write(holder.model_dump_json().encode())
        self.file.flush()


@contextmanager
def claim(path: Path, taken: str) -> Generator[Claim]:
    """
    Hold a file while the block lasts, and end the server of whoever held it and was killed.

    Raises HoldfastError on one line, which begins with *taken*, where somebody holds it now.
    """
    with _open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HoldfastError(f"{taken}{_describe_holder(_read(file))}") from None
        if left := _read(file):
            _end_server(left)
        mine = Claim(file)
        yield mine
        file.truncate(0)


def _open(path: Path) -> BinaryIO:
    """Open a file of ours: one that a project brought along may lead to another, or to a pipe."""
    try:
        # Unbuffered: what somebody else writes is read when it is asked for.
        mode = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.fdopen(os.open(path, mode, 0o600), "rb+", 0)
    except OSError as error:
        why = "it is a link: remove it" if error.errno == errno.ELOOP else error.strerror
        raise HoldfastError(f"{path}: {why}") from None
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise HoldfastError(f"{path}: it is no plain file: remove it")


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


def _describe_holder(known: _Holder | None) -> str:
    if known is None:
        return " by a 'holdfast dev' that just begins or ends: try again"
    return (
        f" by 'holdfast dev' at {known.address} (pid {known.pid}): use that one, with 'holdfast "
        f"worker APP' for another app, stop it with 'kill {known.pid}', or choose other --port, "
        "--ui-port and --db"
    )


def _read(file: BinaryIO) -> _Holder | None:
    file.seek(0)
    try:
        return _Holder.model_validate_json(file.read(_MAX_BYTES))
    except ValueError:
        return None


def _end_server(left: _Holder) -> None:
    deadline = time.monotonic() + END_TIMEOUT_SECONDS
    if not _is_running(left):
        return
    os.kill(left.server, signal.SIGINT)
    while _is_running(left) or _is_ending(left.server):
        if time.monotonic() > deadline:
            raise HoldfastError(
                f"the server of a killed 'holdfast dev' doesn't end: kill -9 {left.server}"
            )
        time.sleep(0.05)


def _is_running(left: _Holder) -> bool:
    """Whether the server is still there: its number may have gone to another process since."""
    host, _, port = left.address.rpartition(":")
    begins = ["server", "start-dev", "--ip", host, "--port", port]
    try:
        os.kill(left.server, 0)
        words = Path(f"/proc/{left.server}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return not Path("/proc/self").exists()  # nothing there to tell by, as on macOS
    except OSError:
        return False
    return words[1 : len(begins) + 1] == [os.fsencode(word) for word in begins]


def _is_ending(process: int) -> bool:
    """Whether a process that says no words any more has still what it opened, a port too."""
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return told.rpartition(")")[2].split()[0] not in {"Z", "X"}
