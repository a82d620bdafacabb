"""Attacks from inside the sandbox: on what isn't the call's to see, to reach or to change."""

import os
import socket
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from pydantic import JsonValue
from pydantic_core import from_json

from holdfast import tools as builtin
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolCrashed
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.tool import Tool, import_object
from tests.attacks import hostile
from tests.attacks.outside import Attack, nobody
from tests.builders import admitted

SECRET = "hunter2-of-the-worker"

TRY = """
def tried(function, *arguments):
    try:
        return repr(function(*arguments))
    except OSError as error:
        return error.strerror or str(error)
"""


async def tried(attack: Attack, code: str) -> JsonValue:
    """What comes of attempts, each a value or what the system says to it."""
    return await attack(f"{TRY}\n{code}")


async def test_reading_the_passwords_of_the_host(attack: Attack) -> None:
    """There is no /etc/shadow, no home of anybody, and only one made-up user."""  # RK-15
    code = """
import os
result = [tried(open, "/etc/shadow"), tried(os.listdir, "/home"), sorted(os.listdir("/etc")),
          open("/etc/passwd").read().split(":")[0]]
"""
    shadow, homes, etc, user = cast("list[Any]", await tried(attack, code))

    assert shadow == homes == "No such file or directory"
    assert set(etc) <= {"alternatives", "group", "hosts", "ld.so.cache", "passwd"}
    assert user == "agent"


async def test_reading_the_environment_of_the_worker(
    attack: Attack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No process in sight has a variable of the worker, bubblewrap's own included."""  # RK-15
    monkeypatch.setenv("HOLDFAST_SECRET_BANK", SECRET)
    code = """
import glob, os
found = "".join(f"{name}={value} " for name, value in os.environ.items())
for path in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
    try:
        found += open(path).read()
    except PermissionError:
        pass
result = found
"""
    found = str(await attack(code))

    assert SECRET not in found
    assert "HOLDFAST" not in found
    assert "PATH=" in found


SHOP = """
import os, sys
from pathlib import Path
from holdfast.contracts.tools import Risk
from holdfast.tools.tool import tool
from {name}.words import WORD

# Python itself and what is installed are large, and everybody's.
SHARED = {{Path(sys.base_prefix), *(Path(path).parent for path in sys.path)}}
SHARED |= {{Path('/proc'), Path('/usr')}}

@tool(risk=Risk.READ_ONLY, sandboxed=True, timeout=300)
def look(secret: str) -> list[str]:
    'Look for a secret in all files of the system.'
    found = [WORD, *os.listdir('/code/{name}')]
    for folder, folders, files in os.walk('/'):
        folders[:] = [name for name in folders if Path(folder, name) not in SHARED]
        for file in (Path(folder, name) for name in files):
            if file.is_file() and 0 < file.stat().st_size < 100:
                found += [str(file)] * (secret in file.read_text(errors='replace'))
    return found
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Tool]:
    """An app's own tool, in a project with all that lies about in one."""
    name = f"shop_{uuid4().hex[:8]}"
    package = tmp_path / "project" / name
    for folder in (package, package / ".git", tmp_path / "project" / ".holdfast"):
        folder.mkdir(parents=True)
        (folder / "config").write_text(SECRET)
    for file in (package / ".env", package / "key.pem", tmp_path / "project" / ".env"):
        file.write_text(SECRET)
    (package / "__init__.py").write_text("")
    (package / "words.py").write_text("WORD = 'hello'\n")
    (package / "tools.py").write_text(SHOP.format(name=name), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "project")  # pyright: ignore[reportUnknownMemberType] -- pytest doesn't say
    tool = import_object(f"{name}.tools", "look")
    assert isinstance(tool, Tool)
    yield tool
    for module in [module for module in sys.modules if module.startswith(name)]:
        del sys.modules[module]


async def test_reading_the_files_of_the_app(
    sandbox_home: Path, shop: Tool, invocation: ToolInvocation
) -> None:
    """Of an app there is its code: no .env, no .git, no keys, nothing of the worker's folder."""
    # RK-15
    call = invocation.model_copy(update={"arguments": {"secret": SECRET}})
    found = from_json(
        await Sandbox(sandbox_home).run(shop, call, lambda _: None, nobody, admitted)
    )

    assert sorted(found) == ["__init__.py", "__pycache__", "hello", "tools.py", "words.py"]


async def test_reading_the_workspace_of_another_run(
    sandbox: Sandbox, invocation: ToolInvocation, attack: Attack
) -> None:
    """A run sees its own workspace, and no other run's."""
    await attack(tool=builtin.write_file, path="mine.txt", content=SECRET)
    other = invocation.model_copy(update={"first_execution_run_id": "another", "arguments": {}})

    said = await sandbox.run(builtin.list_files, other, lambda _: None, nobody, admitted)

    assert said == b'{"entries":[],"total":0}'
    assert "mine.txt" in str(await attack(tool=builtin.list_files, path="."))


@pytest.fixture
def listening() -> Generator[socket.socket]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)  # noqa: FBT003 -- as the standard library has it
        yield server


async def test_reaching_the_host_by_its_loopback(attack: Attack, listening: socket.socket) -> None:
    """What listens on the worker's loopback isn't there."""  # RK-15
    port = listening.getsockname()[1]
    code = f"import socket; result = tried(socket.create_connection, ('127.0.0.1', {port}), 5)"

    assert await tried(attack, code) == "Connection refused"
    with pytest.raises(BlockingIOError):
        listening.accept()


async def test_reaching_the_net(attack: Attack) -> None:
    """There is no way to any address, the metadata of a cloud included, and no names."""  # RK-15
    code = """
import socket
result = [tried(socket.create_connection, (host, 80), 5)
          for host in ("169.254.169.254", "1.1.1.1", "fd00:ec2::254")]
result.append([line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line])
"""
    *addresses, interfaces = cast("list[Any]", await tried(attack, code))

    assert set(addresses) <= {"Network is unreachable", "Cannot assign requested address"}
    assert interfaces == ["lo"]


async def test_reaching_an_abstract_socket(attack: Attack) -> None:
    """Sockets without a file, through which a desktop or a container engine listens, are gone."""
    name = f"\0holdfast-{uuid4().hex}"
    code = f"""
import socket
result = tried(socket.socket(socket.AF_UNIX).connect, {name!r})
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()

        assert await tried(attack, code) == "Connection refused"


@pytest.mark.parametrize("family", [16, 17, 38, 40], ids=["netlink", "packet", "crypto", "vsock"])
async def test_other_kinds_of_sockets(attack: Attack, family: int) -> None:
    """Sockets that no namespace confines, such as vsock to the host of a machine, aren't had."""
    code = f"""
import socket
result = [tried(make, {family}, socket.SOCK_RAW) for make in (socket.socket, socket.socketpair)]
"""
    assert await tried(attack, code) == ["Address family not supported by protocol"] * 2


async def test_writing_to_the_system(attack: Attack) -> None:
    """Nothing but the workspace and two small scratch folders can be written."""
    code = """
import os
result = [tried(open, f"{folder}/x", "w") for folder in
          ("/", "/usr", "/usr/bin", "/etc", "/code", "/code/tools", "/dev", "/proc/sys/kernel")]
"""
    found = await tried(attack, code)

    assert isinstance(found, list)
    assert set(map(str, found)) <= {
        "Read-only file system",
        "Permission denied",
        "No such file or directory",
    }


SYSTEM_CALLS = {
    "mount": "165, b'none', b'/tmp', b'tmpfs', 0, 0",
    "umount": "166, b'/usr', 0",
    "a user namespace": "272, 0x10000000",
    "clone of a user namespace": "56, 0x10000000 | 17, 0, 0, 0, 0",
    "pivot_root": "155, b'/tmp', b'/tmp'",
    "ptrace": "101, 16, 1, 0, 0",
    "another's memory": "310, 1, 0, 0, 0, 0, 0",
    "keys of the kernel": "250, 0, -3, 0",
    "bpf": "321, 0, 0, 0",
    "io_uring": "425, 1, 0",
    "memory without a name": "319, b'x', 0",
    "shared memory": "29, 0, 4096, 0o1600",
    "semaphores": "64, 0, 32000, 0o1600",
    "queues of messages": "240, b'queue', 0o102, 0o600, 0",
    "requests of the kernel's own": "206, 1, b'x' * 8",
    "pages that a pipe keeps": "278, 1, 0, 0, 0",
    "changes of folders": "294, 0",
    "changes of folders, as of old": "253",
    "rules that a file keeps": "444, 0, 0, 1",
    "where a file's pages lie": "237, 0, 4096, 1, 0, 0, 0",
    "where all pages lie": "238, 0, 0, 0",
    "filters that outlive a process": "317, 1, 8, 0",
    "shared memory of what is forked": "9, 0, 4096, 3, 0x21, -1, 0",
    "the same, validated": "9, 0, 4096, 3, 0x23, -1, 0",
    "a file by its handle": "304, 0, 0, 0",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are x86-64's")
@pytest.mark.parametrize("call", SYSTEM_CALLS.values(), ids=SYSTEM_CALLS.keys())
async def test_system_calls_that_lead_out(attack: Attack, call: str) -> None:
    """Mounts, namespaces, other processes, keys and the kernel's inside are out of reach."""
    code = f"""
import ctypes, os
system = ctypes.CDLL(None, use_errno=True)
result = [system.syscall({call}), os.strerror(ctypes.get_errno())]
"""
    assert await attack(code) == [-1, "Operation not permitted"]


async def test_becoming_root(attack: Attack) -> None:
    """No capability is left, no program can bring one back, and root's number isn't had."""
    code = """
import os, subprocess
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines())
result = {name: int(status[name], 16) for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")}
result |= {"root": os.getuid() == 0, "can become": tried(os.setuid, 0),
           "gains": status["NoNewPrivs"] != "1", "groups": os.getgroups()}
"""
    found = await tried(attack, code)

    assert isinstance(found, dict)
    assert found.pop("can become") in {"Operation not permitted", "Invalid argument"}
    assert set(map(str, found.pop("groups") or [])) <= {"65534"}  # pyright: ignore[reportArgumentType] -- a list
    assert not any(found.values()), found


async def test_using_the_first_process(attack: Attack) -> None:
    """The process that reaps all others has no more than they: no limit, call or right is left."""
    code = """
limits = {line[:25].strip(): line.split()[-2] for line in open("/proc/1/limits")}
status = dict(line.split(":\t") for line in open("/proc/1/status").read().splitlines())
result = [limits["Max processes"], limits["Max file size"], status["Seccomp"],
          int(status["CapEff"], 16)]
"""
    assert await attack(code) == [str(BOUNDS.processes), str(BOUNDS.file), "2", 0]


async def test_ending_processes_outside(attack: Attack) -> None:
    """Processes of the host have no number in here: none can be seen, stopped or looked into."""
    code = f"""
import os
processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
result = [len(processes) < 10, tried(os.kill, max({os.getpid()}, 1000), 0)]
"""
    assert await tried(attack, code) == [True, "No such process"]


async def test_asking_for_a_secret(attack: Attack) -> None:
    """There are no credentials in the sandbox, and the error says where they are used."""
    with pytest.raises(ToolCrashed, match="there are none in the sandbox"):
        await attack("ctx.secret('bank')")


async def test_a_run_has_a_number_of_its_own(sandbox: Sandbox, invocation: ToolInvocation) -> None:
    """Where the worker is root, each run is another user; nothing of root's can be read."""
    found: set[bytes] = set()
    for run in ("first", "second"):
        arguments: dict[str, JsonValue] = {"code": "import os; result = os.getuid()"}
        call = invocation.model_copy(
            update={"first_execution_run_id": run, "arguments": arguments}
        )
        found.add(await sandbox.run(hostile.run, call, lambda _: None, nobody, admitted))

    assert b"0" not in found
    assert len(found) == (2 if os.geteuid() == 0 else 1)
