"""Attacks from inside the sandbox on memory that the kernel keeps, and no process holds."""

import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolError
from holdfast.tools.sandbox import waits
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.sandbox.sandbox import Sandbox
from tests.attacks import hostile
from tests.attacks.outside import Attack, nobody
from tests.builders import admitted

SMALL = BOUNDS._replace(memory_together=150 * 2**20, scratch_files=1_000, sockets=100)

FULL = BOUNDS._replace(tcp_memory=-1.0)
"""As if TCP had no memory left, whoever has it."""

LISTED = b"tfd:%9d events: 1d data: 1 pos:0 ino:1 sdev:e\n"

WAIT = """
import signal
signal.alarm(60)
signal.pause()
"""

FILES = """
import os
for number in range(2_000):
    os.mknod(f"{folder}/{number}")
"""

SOCKETS = """
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("\\0server")
server.listen(200)
for _ in range(200):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\\0server")
        client.send(b"x" * 1_000)
"""

CONNECTIONS = """
import socket
server = socket.create_server((host, 0), family=family, backlog=count)
clients = [socket.create_connection(server.getsockname()[:2]) for _ in range(count)]
"""

PAGE_TABLES = """
import ctypes
system = ctypes.CDLL(None)
system.mmap.restype = ctypes.c_void_p
system.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
for number in range(2, 30_000):
    page = number * 2**30
    if system.mmap(page, 4096, 1, 0x100022, -1, 0) == page:
        ctypes.string_at(page, 1)
"""


EPOLL = """
import os, select
waiting = select.epoll()
for event in [os.eventfd(0) for _ in range(100)]:
    for number in range(130, 250):
        os.dup2(event, number)
        waiting.register(number, select.EPOLLIN)
"""

READY = """
open("ready", "x").close()
"""

PROGRAM = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-c", {EPOLL + READY + WAIT!r}])
"""

HIDE = """
import socket
ours, its = socket.socketpair()
socket.send_fds(ours, [b"x"], [waiting.fileno()])
waiting.close()
"""


@pytest.mark.parametrize(
    ("code", "excess"),
    [
        (f"folder = '/tmp'{FILES}", "there are more than 1,000 files in /tmp"),
        (f"folder = '/dev/shm'{FILES}", "there are more than 1,000 files in /dev/shm"),
        (SOCKETS, "it has more than 100 sockets"),
        (PAGE_TABLES, "its processes hold more than 150 MB of memory"),
    ],
    ids=["files", "shared files", "sockets that nobody accepts", "page tables"],
)
async def test_a_call_that_fills_the_kernel_is_ended(
    sandbox_home: Path, invocation: ToolInvocation, code: str, excess: str
) -> None:
    """What costs the kernel memory is watched where no limit of its own counts it."""  # RK-15
    arguments: dict[str, JsonValue] = {"code": code + WAIT}
    filling = invocation.model_copy(update={"arguments": arguments})

    with pytest.raises(ToolError, match=f"{excess}$"):
        await Sandbox(sandbox_home, SMALL).run(
            hostile.run, filling, lambda _: None, nobody, admitted
        )


@pytest.mark.parametrize(
    "server",
    ["family, host = socket.AF_INET, '127.0.0.1'", "family, host = socket.AF_INET6, '::1'"],
)
async def test_who_has_many_connections_when_tcp_has_no_memory_left_is_ended(
    sandbox_home: Path, invocation: ToolInvocation, attack: Attack, server: str
) -> None:
    """The kernel counts what they hold for the machine, and makes all wait when it is too much."""
    code = f"import socket\n{server}\ncount = 15{CONNECTIONS}"
    many = invocation.model_copy(update={"arguments": {"code": code + WAIT}})
    few = invocation.model_copy(
        update={"arguments": {"code": code.replace("15", "5") + "\nresult = len(clients)"}}
    )

    with pytest.raises(ToolError, match="TCP has no memory left for more than 20 sockets"):
        await Sandbox(sandbox_home, FULL).run(hostile.run, many, lambda _: None, nobody, admitted)

    assert await attack(code + "\nresult = len(clients)") == 15
    done = await Sandbox(sandbox_home, FULL).run(
        hostile.run, few, lambda _: None, nobody, admitted
    )
    assert done == b"5"


@pytest.mark.parametrize(
    ("code", "excess"),
    [
        (PROGRAM, "it waits for more than 10,000 files with epoll"),
        (EPOLL + HIDE + READY, "nobody here can wait for anything with epoll any more"),
    ],
    ids=["a program", "hidden in a message"],
)
async def test_who_leaves_the_worker_nothing_to_wait_for_is_ended(
    sandbox_home: Path, workspace: Path, invocation: ToolInvocation, code: str, excess: str
) -> None:
    """The kernel counts what is waited for by user, who is the worker's where that isn't root."""
    filling = invocation.model_copy(update={"arguments": {"code": code + WAIT}})

    with pytest.raises(ToolError, match=f"{excess}$"):
        await Sandbox(sandbox_home, BOUNDS, (workspace / "ready").exists).run(
            hostile.run, filling, lambda _: None, nobody, admitted
        )

    assert not waits.has_none_left()


async def test_pages_that_are_lent(attack: Attack) -> None:
    """A socket that nobody reads keeps few pages of processes that have let go of them."""
    code = """
import mmap, os, socket
ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
server = socket.create_server(("127.0.0.1", 0))
client = socket.socket()
client.setsockopt(socket.SOL_SOCKET, ZEROCOPY, 1)
client.connect(server.getsockname())
result = None
lent = 0
try:
    for lent in range(100):
        with mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as page:
            client.send(page, MSG_ZEROCOPY)
except OSError as error:
    result = [error.strerror, lent < 20]
"""
    assert await attack(code) == ["No buffer space available", True]


async def test_lists_of_rights(attack: Attack) -> None:
    """Attributes of files, which count against no size, aren't had, as on some file systems."""
    code = """
import os
result = []
for folder in ("/tmp", "/dev/shm", "."):
    open(f"{folder}/file", "w").close()
    with open(f"{folder}/file") as file:
        for at in (f"{folder}/file", file.fileno()):
            try:
                os.setxattr(at, "system.posix_acl_access", b"")
            except OSError as error:
                result.append(error.strerror)
"""
    assert await attack(code) == ["Operation not supported"] * 6


async def test_programs_that_need_none_of_it_work(attack: Attack) -> None:
    """Copying with rights, databases, compression and filters of one's own go on as ever."""
    code = """
import ctypes, os, shutil, sqlite3, struct, subprocess
def run(*words):
    return subprocess.run(words, capture_output=True, text=True).stderr
with open("a", "w") as file:
    file.write("words")
os.chmod("a", 0o640)
said = [run("cp", "-a", "a", "b"), run("cp", "-p", "a", "/tmp/b"), run("mv", "/tmp/b", "c"),
        run("tar", "-cf", "all.tar", "a", "b"), run("gzip", "-k", "a")]
shutil.copy2("a", "d")
with sqlite3.connect("numbers") as numbers:
    numbers.execute("create table t (n)")
    numbers.execute("insert into t values (1)")
allow = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000))
filters = struct.pack("@HP", 1, ctypes.addressof(allow))
filtered = ctypes.CDLL(None).prctl(22, 2, filters, 0, 0)
result = [said, oct(os.stat("b").st_mode), open("d").read(), filtered]
"""
    assert await attack(code) == [[""] * 5, "0o100640", "words", 0]


def test_of_what_is_waited_for_no_more_is_read_than_is_too_much(tmp_path: Path) -> None:
    """A list may have hundreds of megabytes; of one that goes on nobody reads the rest."""
    listed = tmp_path / "list"
    listed.write_bytes(b"".join(LISTED % number for number in range(5_000)))
    os.mkfifo(tmp_path / "endless")
    endless = os.open(tmp_path / "endless", os.O_RDWR)
    os.write(endless, LISTED % 1 * 1_000)

    found = [waits.count_waits(listed, most) for most in (10_000, 10)]
    too_many = waits.count_waits(tmp_path / "endless", 999)
    os.close(endless)

    assert found[0] == 5_000
    assert 10 < found[1] < 5_000
    assert too_many == 1_000
