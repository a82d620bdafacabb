"""A synchronous tool runs in a process of its own, which can always be ended."""

import asyncio
import multiprocessing
import os
import resource
import select
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from pydantic import JsonValue
from pydantic_core import from_json
from structlog.testing import capture_logs
from structlog.typing import EventDict

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import NotNow, ToolCrashed, ToolDenied, ToolError, ToolTimeout
from holdfast.tools.artifacts import FileArtifacts
from holdfast.tools.execution import WorkerExecutor, execute
from holdfast.tools.sharing.room import MAX_HELD_BYTES, RESULT_ROOM
from holdfast.tools.tool import Tool
from tests.builders import FIRST, admitted, an_invocation
from tests.tools import sample_tools

PATIENCE = 120.0
"""Seconds after which a process that should have ended has survived."""


async def ran(tool: Tool, arguments: JsonObject | None = None) -> JsonValue:
    """The result of a call of a tool, with nobody listening to its progress."""
    heard: list[JsonValue] = []
    invocation = an_invocation(arguments=arguments or {})
    return from_json(
        await execute(tool, invocation, sample_tools.secret_of, heard.append, admitted)
    )


class Alive:
    """A pipe that stays open as long as any process that was started holds it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = str(path)
        self._reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def heard(self, patience: float = PATIENCE) -> bytes:
        """What comes next; nothing when the last process that held the pipe has ended."""
        readable = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reader, readable.set)
        try:
            async with asyncio.timeout(patience):
                await readable.wait()
            return os.read(self._reader, 100)
        finally:
            loop.remove_reader(self._reader)

    def heard_meanwhile(self, patience: float) -> bytes | None:
        """What comes next, while the loop stands still; null where nothing does in time."""
        ready, _, _ = select.select([self._reader], [], [], patience)
        return os.read(self._reader, 100) if ready else None

    def close(self) -> None:
        os.close(self._reader)


@pytest.fixture
async def alive(tmp_path: Path) -> AsyncGenerator[Alive]:
    pipe = Alive(tmp_path / "alive")
    yield pipe
    pipe.close()
    for survivor in multiprocessing.active_children():
        survivor.kill()  # or the interpreter would wait for it at its exit


async def test_a_call_begins_and_ends_whoever_keeps_the_threads_of_the_loop() -> None:
    """Nothing that others do in threads has the time of a call pass before it begins."""
    over, loop = threading.Event(), asyncio.get_running_loop()
    others = [loop.run_in_executor(None, over.wait) for _ in range(40)]  # it has 32 at most
    calling = asyncio.create_task(ran(sample_tools.whoami, {"word": "hi"}))
    ended, _ = await asyncio.wait({calling}, timeout=30)
    over.set()
    await asyncio.wait({calling, *others})

    assert ended


async def test_of_quick_tools_no_more_processes_are_there_than_may_be(tmp_path: Path) -> None:
    """A model may ask for two hundred in a reply: the rest begin as others end."""
    place = WorkerExecutor(sample_tools.secret_of, FileArtifacts(tmp_path), quick=1)
    under_way, most, both = 0, 0, asyncio.Event()

    async def run(word: str) -> None:
        async def admit() -> None:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            if most > 1:
                both.set()
            with suppress(TimeoutError):  # so long the other may take to begin
                await asyncio.wait_for(both.wait(), 2)

        nonlocal under_way
        await place.run(sample_tools.glance, an_invocation(arguments={"word": word}), print, admit)
        under_way -= 1

    await asyncio.gather(run("one"), run("other"))

    assert most == 1


async def test_a_result_comes_from_another_process() -> None:
    """The tool has its arguments and its context, and isn't in the worker's process."""
    said = await ran(sample_tools.whoami, {"word": "hi"})

    assert isinstance(said, dict)
    process = said.pop("process")
    assert process != os.getpid()
    assert said == {
        "run": "run-1",
        "first": FIRST,
        "call": "c1",
        "tenant": "acme",
        "actor": "alice",
        "agent": "it",
        "key": f"{FIRST}/c1",
        "secret": "secret of api key",
        "word": "hi",
    }


async def test_what_is_not_admitted_does_not_begin(tmp_path: Path) -> None:
    """Its process is there when it is asked for the last time, and ends without the call."""
    alive = tmp_path / "alive"

    async def refuse() -> None:
        raise ToolDenied("it is switched off")

    with pytest.raises(ToolDenied, match="switched off"):
        await execute(
            sample_tools.linger,
            an_invocation(arguments={"alive": str(alive)}),
            sample_tools.secret_of,
            lambda _: None,
            refuse,
        )

    assert not alive.exists()


async def test_each_call_has_a_process_of_its_own() -> None:
    """What one call leaves behind in its process no other call sees."""
    first, second = await asyncio.gather(ran(sample_tools.whoami), ran(sample_tools.whoami))

    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["process"] != second["process"]


async def test_a_large_result_passes() -> None:
    """A result larger than the buffer of a pipe comes whole."""
    assert await ran(sample_tools.flood, {"characters": 3_000_000}) == "x" * 3_000_000


async def test_a_large_result_passes_among_reports() -> None:
    """What threads of a tool say while it answers stands between its messages, not in them."""
    said = await ran(sample_tools.report_from_threads, {"characters": 3_000_000})

    assert said == "x" * 3_000_000


async def test_the_loop_waits_for_no_process_that_stops_in_its_answer() -> None:
    """A machine may have no time for it, or no memory, when half of a result is there."""
    await RESULT_ROOM.take(an_invocation(), MAX_HELD_BYTES, is_here=False)
    before = multiprocessing.active_children()
    call = asyncio.create_task(ran(sample_tools.flood, {"characters": 3_000_000}))
    while not RESULT_ROOM.waiting:
        assert not call.done()
        await asyncio.sleep(0)
    [child] = set(multiprocessing.active_children()) - set(before)
    assert child.pid is not None

    os.kill(child.pid, signal.SIGSTOP)
    RESULT_ROOM.held.clear()
    room = asyncio.create_task(RESULT_ROOM.take(an_invocation(), 100_001, is_here=False))
    for _ in range(1_000):
        await asyncio.sleep(0)
    stopped = not call.done()
    os.kill(child.pid, signal.SIGCONT)

    assert stopped
    assert await call == "x" * 3_000_000
    await room


async def test_a_refusal_passes_with_its_actions() -> None:
    """What a tool says to the model comes over with type, reason and next actions."""
    with pytest.raises(ToolError) as raised:
        await ran(sample_tools.refuse)

    assert (raised.value.type, raised.value.reason) == ("not_found", "no record 7")
    assert raised.value.next_valid_actions == ("list the records", "ask the user")


async def test_arguments_that_a_type_refuses_are_told_to_the_model() -> None:
    """Where a type is stricter than its schema the process says so as a refusal."""
    with pytest.raises(ToolError, match="word: ") as raised:
        await ran(sample_tools.whoami, {"word": 7})

    assert raised.value.type == "invalid_arguments"


@pytest.mark.parametrize(
    ("tool", "arguments", "kind", "message"),
    [
        pytest.param(sample_tools.crash, {}, "OutOfStock", "nothing left", id="raises"),
        pytest.param(sample_tools.leave, {"how": "exit"}, "SystemExit", "3", id="exits"),
        pytest.param(
            sample_tools.leave,
            {"how": "die"},
            "ProcessDied",
            "the tool's process ended without a result",
            id="dies",
        ),
        pytest.param(
            sample_tools.leave,
            {"how": "kill"},
            "ProcessDied",
            "the tool's process ended without a result",
            id="is killed",
        ),
        pytest.param(
            sample_tools.unwritable, {}, "PydanticSerializationError", "_thread.lock", id="no JSON"
        ),
    ],
)
async def test_a_crash_is_reported_with_its_kind(
    tool: Tool, arguments: JsonObject, kind: str, message: str
) -> None:
    """Whatever ends a process without a result is told apart, and the worker lives on."""  # HG-16
    with pytest.raises(ToolCrashed) as raised:
        await ran(tool, arguments)

    assert raised.value.kind == kind
    assert message in str(raised.value)


async def test_progress_passes() -> None:
    """What a tool reports while it works reaches the activity, in order."""
    heard: list[JsonValue] = []

    await execute(
        sample_tools.progress, an_invocation(), sample_tools.secret_of, heard.append, admitted
    )

    assert heard == [{"done": 1}, {"done": 2}, None]


async def test_what_its_process_writes_is_logged_by_lines() -> None:
    """Each once it has ended, and what is left at the end of the call."""
    with capture_logs() as logged:
        assert await ran(sample_tools.chatter, {"lines": 3, "width": 2}) == "said"
    lines = "\n".join(str(one["stack"]) for one in logged).split("\n")

    assert lines == ["0: ..", "1: ..", "2: ..", "half of a line"]
    assert {(one["event"], one["tool"]) for one in logged} == {("tool.wrote", "chatter")}


async def test_what_its_process_writes_is_logged_beside_the_loop() -> None:
    """To clear 130 kB of escapes takes half a second, and a hundred calls end at once."""
    threads: list[int] = []

    def note(_logger: object, _method: str, event: EventDict) -> EventDict:
        threads.append(threading.get_ident())
        return event

    with capture_logs(processors=[note]):
        assert await ran(sample_tools.chatter, {"lines": 3, "width": 2}) == "said"

    assert threads
    assert threading.get_ident() not in threads


@pytest.mark.parametrize(("lines", "width"), [(1, 1_000_000), (10_000, 100)])
async def test_what_its_process_writes_is_bounded(lines: int, width: int) -> None:
    """It needn't wait, nor fail, for the log's sake; no line is cut, or half a secret remained."""
    with capture_logs() as logged:
        assert await ran(sample_tools.chatter, {"lines": lines, "width": width}) == "said"
    said = [one["event"] for one in logged]
    written = "\n".join(str(one.get("stack", "")) for one in logged).split("\n")

    assert said.count("tool.wrote_more") == 1
    assert {len(line.partition(": ")[2]) for line in written} <= {0, width}
    assert sum(map(len, written)) < 200_000


@asynccontextmanager
async def calling(tool: Tool, alive: Alive) -> AsyncGenerator[asyncio.Task[JsonValue]]:
    """A call under way: its process and a process that it started both run."""
    call = asyncio.create_task(ran(tool, {"alive": alive.path}))
    assert await alive.heard() == b"up\n"
    yield call


@pytest.mark.slow
async def test_at_its_time_limit_a_tool_is_killed_with_its_children(alive: Alive) -> None:
    """Nothing that a tool started survives its time limit."""  # HG-04 RK-17 T-01
    async with calling(sample_tools.linger, alive) as call:
        with pytest.raises(ToolTimeout, match=r"^linger was ended at its time limit of 5 s$"):
            await call

    assert await alive.heard() == b""


@pytest.mark.slow
@pytest.mark.parametrize("lingering", [sample_tools.linger, sample_tools.linger_inside])
async def test_beyond_its_time_limit_a_tool_ends_though_its_worker_stands_still(
    alive: Alive, lingering: Tool
) -> None:
    """Who looks what became of a write believes that it can't be under way any more."""  # T-01
    async with calling(lingering, alive) as call:
        heard = alive.heard_meanwhile(patience=30)
        with pytest.raises((ToolTimeout, ToolCrashed)):
            await call

    assert heard == b""


async def test_on_cancellation_a_tool_is_killed_with_its_children(alive: Alive) -> None:
    """Nothing that a tool started survives the cancellation of its call."""  # HG-04 T-44
    async with calling(sample_tools.linger_long, alive) as call:
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    assert await alive.heard() == b""


async def test_what_the_system_has_no_room_for_did_not_begin() -> None:
    """
    Who uses up processes or files makes no call of others one that may have happened.

    A read fails, and is tried again.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(NotNow, match="no process can be started now: Too many"):
            await ran(sample_tools.note, {"text": "hi"})
        with pytest.raises(OSError, match="Too many open files"):
            await ran(sample_tools.whoami)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_call_cancelled_at_once_leaves_nothing() -> None:
    """A call that is cancelled while its process starts leaves no process."""
    call = asyncio.create_task(ran(sample_tools.whoami))
    await asyncio.sleep(0)

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    assert multiprocessing.active_children() == []


async def test_a_call_cancelled_twice_leaves_nothing_either(alive: Alive) -> None:
    """A second cancellation, while the process still starts, doesn't save it."""
    call = asyncio.create_task(ran(sample_tools.linger_long, {"alive": alive.path}))
    for _ in range(2):
        await asyncio.sleep(0)
        call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    try:
        await alive.heard(patience=0.3)
    except TimeoutError:
        return  # it was killed before it said a word
    assert await alive.heard() == b""
