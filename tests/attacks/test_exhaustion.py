"""Attacks from inside the sandbox: on the machine's time, memory, disk and processes."""

import asyncio
import contextlib
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from holdfast import tools as builtin
from holdfast import worker
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolDenied, ToolError, ToolTimeout
from holdfast.testing import call
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.sandbox.sandbox import Sandbox
from tests.attacks import hostile
from tests.attacks.outside import Alive, Attack, nobody
from tests.builders import admitted
from tests.running import Runs
from tests.sample import lines, scripted, told
from tests.workflows.test_permissions import policy

ROOT = Path(__file__).parents[2]

SAY_UP = """
import os, signal
pipe = os.open("alive", os.O_WRONLY)
os.write(pipe, b"up")
"""

SURVIVE = f"""
{SAY_UP}
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        signal.alarm(60)
        signal.pause()
    os._exit(0)
"""
"""Leaves a process that belongs to nobody and heeds nothing."""


RESERVE = """
import ctypes, os
system = ctypes.CDLL(None, use_errno=True)
file = os.open("large", os.O_CREAT | os.O_RDWR)
LENGTH, space = ctypes.c_long(50_000_000), (ctypes.c_char * 48)()
ctypes.c_int64.from_buffer(space, 16).value = LENGTH.value
asked = [system.fallocate(file, 0, ctypes.c_long(0), LENGTH)]
said = [os.strerror(ctypes.get_errno())]
for request in (0x40305828, 0x4030582A, 0x40305839, 0x401C5820, 0x40086602):
    asked.append(system.ioctl(file, ctypes.c_ulong(request), space))
    said.append(os.strerror(ctypes.get_errno()))
reserved = os.fstat(file).st_blocks
os.posix_fallocate(file, 0, 1_000_000)
result = [*map(str, asked), *said, reserved, os.fstat(file).st_size]
"""


async def test_a_disk_is_not_reserved(attack: Attack) -> None:
    """A hundred gigabytes a second would be, before anybody sees it; libraries write zeros."""
    count, unsupported = 6, "Operation not supported"

    assert await attack(RESERVE) == [*["-1"] * count, *[unsupported] * count, 0, 1_000_000]


async def test_a_fork_bomb(attack: Attack) -> None:
    """A call has so many processes and no more; the host can still start others."""  # RK-15
    code = """
import os, signal
count = 0
try:
    while True:
        if os.fork() == 0:
            signal.alarm(60)
            signal.pause()
        count += 1
except BlockingIOError:
    result = count
"""
    processes = await attack(code)

    assert isinstance(processes, int)
    assert 10 < processes < BOUNDS.processes
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await other.wait() == 0


async def test_a_fork_bomb_that_never_ends(attack: Attack, alive: Alive) -> None:
    """Processes that multiply without end are all gone at the call's time limit."""  # RK-17
    code = f"""
{SAY_UP}
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    with pytest.raises(ToolTimeout, match=r"^run_briefly was ended at its time limit of 1 s$"):
        await attack(code, hostile.run_briefly)

    await alive.until_dead()


async def test_a_file_of_10_gigabytes(attack: Attack, workspace: Path) -> None:
    """A file ends at 100 MB, whichever way it grows."""
    code = """
import os
result = []
with open("huge", "wb") as file:
    for grow in (lambda: file.truncate(10 * 10**9), lambda: os.pwrite(file.fileno(), b"x", 10**10),
                 lambda: [file.write(b"x" * 10**7) for _ in range(1000)]):
        try:
            grow()
        except OSError as error:
            result.append(error.strerror)
"""
    assert await attack(code) == ["File too large"] * 3
    assert (workspace / "huge").stat().st_size <= BOUNDS.file


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])  # noqa: S108 -- inside the sandbox
async def test_scratch_folders_are_small(attack: Attack, folder: str) -> None:
    """What lies in memory as files has a limit of its own."""
    code = f"""
written = 0
try:
    for number in range(30):
        with open(f"{folder}/{{number}}", "wb") as file:
            written += file.write(b"x" * 10_000_000)
except OSError as error:
    result = [error.strerror, written < {BOUNDS.scratch}]
"""
    assert await attack(code) == ["No space left on device", True]


async def test_when_memory_runs_out_the_sandbox_goes_first(attack: Attack) -> None:
    """Nothing inside says otherwise: many small processes would have the worker go before them."""
    code = """
import subprocess
says = "cat /proc/self/oom_score_adj; echo 0 > /proc/self/oom_score_adj"
ended = subprocess.run(["sh", "-c", f"{says}; {says}"], capture_output=True, text=True)
result = [ended.stdout.split(), open("/proc/1/oom_score_adj").read().strip()]
"""
    assert await attack(code) == [["1000", "1000"], "1000"]


async def test_a_memory_bomb(attack: Attack) -> None:
    """A process that asks for more memory than it may have gets none, and says so."""
    code = """
try:
    bytearray(2 * 10**9)
except MemoryError:
    result = "none"
"""
    assert await attack(code) == "none"


GROW = """
import os, signal
for _ in range(4):
    if os.fork() == 0:
        held = b"x" * 60_000_000
        signal.alarm(60)
        signal.pause()
signal.pause()
"""

SMALL = BOUNDS._replace(memory_together=150 * 2**20)


async def test_a_memory_bomb_in_many_processes(
    sandbox_home: Path, invocation: ToolInvocation
) -> None:
    """Processes that together hold too much memory are ended together; a read did nothing."""
    growing = invocation.model_copy(update={"arguments": {"code": GROW}})

    with pytest.raises(ToolError, match=r"its processes hold more than 150 MB of memory$"):
        await Sandbox(sandbox_home, SMALL).run(
            hostile.run, growing, lambda _: None, nobody, admitted
        )


async def test_a_write_that_is_ended_may_have_happened(
    runs: Runs, tmp_path: Path, sandbox_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had done before it held too much memory stands, and isn't done again unasked."""
    monkeypatch.setattr(worker, "Sandbox", partial(Sandbox, bounds=SMALL))
    code = "open('log', 'a').write('done\\n')" + GROW
    change = call("change", code=code)
    rules = policy(tmp_path, "{id: yes, effect: allow, match: {tools: [change]}}")
    app = scripted([change, change, told], tools=[hostile.change], policy=rules)
    async with runs.working(app):
        run = await runs.start("it")
        result = await run.result()
        failure = await run.failure()
    workspace = tmp_path / "home" / "workspaces" / as_file_name(run.first_execution)

    assert lines(workspace / "log") == ["done"]
    assert "hold more than 150 MB of memory" in failure.reason
    assert failure.status == "outcome_unknown"
    assert result.answer == "change denied"
    assert [one.tool for one in result.unresolved] == ["change"]


async def test_memory_that_no_process_holds(attack: Attack) -> None:
    """Nobody gets shared pages that the kernel keeps when all processes have let go of them."""
    code = """
import mmap, os
result = []
for file in (-1, os.open("/dev/zero", os.O_RDWR)):
    try:
        mmap.mmap(file, 2**20)
    except OSError as error:
        result.append(error.strerror)
"""
    assert await attack(code) == ["Operation not permitted", "No such device"]


async def test_programs_that_share_memory_in_files_work(attack: Attack) -> None:
    """Pools, queues and private memory need none of what is denied; /dev/zero reads as ever."""
    code = """
import mmap, multiprocessing
from multiprocessing import shared_memory
forked = multiprocessing.get_context("fork")
with forked.Pool(2) as pool:
    result = pool.map(abs, [-1, -2])
counter = forked.Value("i", 3)
held = shared_memory.SharedMemory(create=True, size=4)
private = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
with open("/dev/zero", "rb") as zero:
    result += [counter.value, sum(zero.read(10)), len(held.buf) >= 4, len(private)]
held.close()
held.unlink()
"""
    assert await attack(code) == [1, 2, 3, 0, True, 4096]


async def test_filling_the_disk(sandbox_home: Path, invocation: ToolInvocation) -> None:
    """A call never begins, nor goes on, where it would take the worker's last space."""
    call = invocation.model_copy(update={"arguments": {"code": "result = 1"}})
    full = Sandbox(sandbox_home, BOUNDS._replace(free_disk=10**18))

    with pytest.raises(ToolDenied, match="the disk of the workspace is nearly full"):
        await full.run(hostile.run, call, lambda _: None, nobody, admitted)


async def test_many_open_files(attack: Attack) -> None:
    """A process holds so many files open and no more."""
    code = """
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError as error:
    result = [error.strerror, len(files)]
"""
    said, opened = await attack(code)  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] -- a list

    assert said == "Too many open files"
    assert opened < BOUNDS.open_files  # pyright: ignore[reportOperatorIssue] -- a number


async def test_sleeping_past_the_limit(attack: Attack, alive: Alive) -> None:
    """A call that sleeps for ten minutes is ended within seconds, and nothing of it is left."""
    # RK-17 HG-04
    code = f"{SAY_UP}\nimport subprocess\nsubprocess.run(['sleep', '600'], pass_fds=[pipe])"
    begun = asyncio.get_running_loop().time()

    with pytest.raises(ToolTimeout):
        await attack(code, hostile.run_briefly)

    assert asyncio.get_running_loop().time() - begun < 30
    await alive.until_dead()


async def test_a_process_that_leaves_its_session(attack: Attack, alive: Alive) -> None:
    """A process that forked twice into a session of its own doesn't survive its call's result."""
    # RK-17
    assert await attack(f"{SURVIVE}\nresult = 'done'") == "done"

    assert await alive.heard() == b"up"
    await alive.until_dead()


async def test_a_process_that_outlives_its_parent(attack: Attack, alive: Alive) -> None:
    """Nor does it survive a call whose own process dies."""
    with pytest.raises(Exception, match="ended without a result"):
        await attack(f"{SURVIVE}\nos._exit(1)")

    await alive.until_dead()


async def test_a_cancelled_call(attack: Attack, alive: Alive) -> None:
    """Nor does it survive the cancellation of its call."""  # T-44
    call = asyncio.create_task(attack(f"{SURVIVE}\nsignal.alarm(60)\nsignal.pause()"))
    assert await alive.heard() == b"up"

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await alive.until_dead()


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 20])
async def test_a_call_cancelled_at_once(attack: Attack, alive: Alive, steps: int) -> None:
    """A call that is cancelled while it starts leaves nothing, even if it is cancelled twice."""
    call = asyncio.create_task(attack(f"{SURVIVE}\nsignal.alarm(60)\nsignal.pause()"))
    for _ in range(steps):
        await asyncio.sleep(0)
    call.cancel()
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    with contextlib.suppress(BlockingIOError):
        assert os.read(alive.reader, 1) == b""


WORKER = """
import asyncio, sys
from pathlib import Path
from tests.attacks import hostile
from tests.attacks.outside import nobody
from tests.builders import admitted
from holdfast.contracts.calls import ToolInvocation
from holdfast.tools.sandbox.sandbox import Sandbox

call = ToolInvocation.model_validate_json(sys.argv[2])
asyncio.run(Sandbox(Path(sys.argv[1])).run(hostile.run, call, lambda _: None, nobody, admitted))
"""


async def test_a_killed_worker(
    sandbox_home: Path, invocation: ToolInvocation, alive: Alive
) -> None:
    """A sandbox ends with its worker, also when that is killed."""
    arguments: JsonObject = {"code": f"{SURVIVE}\nsignal.alarm(60)\nsignal.pause()"}
    call = invocation.model_copy(update={"arguments": arguments})
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, str(sandbox_home), call.model_dump_json()), cwd=ROOT
    )
    assert await alive.heard() == b"up"

    worker.send_signal(signal.SIGKILL)
    await worker.wait()

    await alive.until_dead()


async def test_a_program_is_ended_at_its_own_limit(attack: Attack) -> None:
    """A program that the model runs is ended when it said, and what it wrote before is told."""
    # RK-17 BY-07
    ended = await attack(
        tool=builtin.run_command,
        command=["sh", "-c", "echo begun; sleep 600 & sleep 600"],
        seconds=0.5,
    )

    assert ended == {"exit_code": None, "stdout": "begun\n", "stderr": "", "omitted": 0}
