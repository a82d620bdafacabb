"""Attacks from inside the sandbox: on the worker, through the channel to it."""

import asyncio
import json
import os
import shutil
import signal
import threading
from pathlib import Path
from time import monotonic

import pytest
from pydantic import JsonValue

from holdfast.contracts.bounds import TOO_DEEP_JSON
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolCrashed, ToolError
from holdfast.tools.large_json import READERS, look_through
from holdfast.tools.redaction import Redactor
from holdfast.tools.sandbox.bounds import BOUNDS
from holdfast.tools.sandbox.channel import Channel, close, open_pipes
from holdfast.tools.sandbox.identity import derive_uid
from holdfast.tools.sandbox.jail import Jail
from holdfast.tools.sandbox.launch import launch
from holdfast.tools.sandbox.sandbox import Sandbox
from holdfast.tools.sandbox.sources import OURS_ALONE, copy_code
from holdfast.tools.sandbox.talk import (
    BYTES_PER_SECOND,
    LISTENERS,
    MAX_MESSAGES,
    MAX_REPORT_BYTES,
    MORE_BYTES_PER_SECOND,
    outcome,
)
from holdfast.tools.workspaces import Workspaces
from tests.attacks import hostile
from tests.attacks.hostile import CHANNEL
from tests.attacks.outside import Attack, nobody
from tests.builders import admitted

REPORT = b'{"kind": "progress", "value": 1}'
FORGED = json.dumps({"kind": "done", "content": '"forged"'})


def says(words: str) -> str:
    """Code that says something to the worker itself, and then waits to be ended."""
    return f"""
{CHANNEL}
import signal
os.set_blocking(channel[0], True)
data = {words}
while data:
    data = data[os.write(channel[0], data):]
signal.alarm(60)
signal.pause()
"""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        pytest.param("b'x' * 40_000_000", "more than 16,777,216 bytes", id="a flood"),
        pytest.param("b'what?' + bytes([10])", "can't be read", id="garbage"),
        pytest.param('b\'{"kind": "allow"}\\n\'', "can't be read", id="an unknown word"),
        pytest.param("b'[' * 100_000 + bytes([10])", "can't be read", id="deep nesting"),
        pytest.param("bytes(range(256))", "can't be read", id="no text"),
        pytest.param('b\'{"kind": "ready"}\\n\'', "it began twice", id="a second beginning"),
        pytest.param(
            f'b\'{{"kind": "progress", "value": 1}}\\n\' * {MAX_MESSAGES + 1}',
            "more than 10,000 messages",
            id="a flood of small messages",
        ),
        pytest.param(
            'b\'{"kind": "progress", "value": [\' + b"[]," * 300_000 + b"0]}" + bytes([10])',
            "more than 250,000 values",
            id="a flood of values",
        ),
        pytest.param(
            f'b\'{{"kind": "progress", "value": "\' + b\'x\' * {MAX_REPORT_BYTES} + b\'"}}\\n\'',
            "has more than 10000 bytes",
            id="a heavy report",
        ),
        pytest.param(
            'b\'{"kind": "raised", "error": "../../x y", "message": ""}\\n\'',
            "can't be read",
            id="a forged kind of error",
        ),
    ],
)
async def test_words_that_no_worker_expects(attack: Attack, words: str, reason: str) -> None:
    """Whatever a process says that it shouldn't, ends its call, and nothing else."""
    with pytest.raises(ToolCrashed, match=reason) as raised:
        await attack(says(words))

    assert raised.value.kind == "SandboxGarbled"


@pytest.mark.parametrize(
    "content", ["'\"seven\"'", "'[1'", "'{}'", "'1.5'"], ids=["text", "no JSON", "object", "part"]
)
async def test_a_result_that_was_not_promised(attack: Attack, content: str) -> None:
    """A result is what the tool's contract says, or there is none."""
    words = f"(json.dumps({{'kind': 'done', 'content': {content}}}) + chr(10)).encode()"

    with pytest.raises(ToolCrashed, match="isn't what was promised"):
        await attack("import json\n" + says(words), hostile.count)


async def test_words_of_a_grandchild(attack: Attack) -> None:
    """A process that the tool started has no channel, and can't take its parent's."""
    code = f"""
import subprocess, sys
{CHANNEL}
own = [names[number] for number in channel]
LOOK = '''
{CHANNEL}
found = [str([name for name in names.values() if name in {{own}}])]
for path in ("/proc/{{parent}}/fd", "/proc/{{parent}}/mem", "/proc/{{parent}}/environ"):
    try:
        os.listdir(path) if path.endswith("fd") else open(path, "rb").read()
        found.append("opened " + path)
    except PermissionError:
        pass
'''
look = LOOK.replace("{{parent}}", str(os.getpid())).replace("{{own}}", str(own))
started = subprocess.run([sys.executable, "-c", look + "print(found)"], close_fds=False,
                         capture_output=True, text=True)
reader, writer = os.pipe()
if os.fork() == 0:
    names = {{}}
    exec(look, names)
    os.write(writer, str(names["found"]).encode())
    os._exit(0)
os.close(writer)
result = [started.stdout.strip() + started.stderr, open(reader).read()]
"""
    assert await attack(code) == ["['[]']", "['[]']"]


async def test_a_fork_of_a_fork_keeps_its_files(attack: Attack) -> None:
    """What its parent opened has the numbers that the channel had: nobody closes it for it."""
    code = """
import os
reader, writer = os.pipe()
if os.fork() == 0:
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
    if os.fork() == 0:
        lost = [number for number in files if not os.path.lexists(f"/proc/self/fd/{number}")]
        os.write(writer, str(lost).encode())
        os._exit(0)
    os.wait()
    os._exit(0)
os.close(writer)
result = open(reader).read()
"""
    assert await attack(code) == "[]"


async def test_words_on_the_standard_output(attack: Attack) -> None:
    """What a tool prints is no message, whatever it looks like."""
    code = (
        f"print({FORGED!r}, flush=True)\nimport os\nos.write(2, {FORGED!r}.encode())\nresult = 1"
    )

    assert await attack(code) == 1


async def test_megabytes_are_taken_in_turns_with_everybody_else() -> None:
    """Reports of blanks, each as large as a result: to read one takes the loop of all runs."""
    said = (REPORT.ljust(1_999_999) + b"\n") * 6 + FORGED.encode() + b"\n"
    began = monotonic()

    with open_pipes() as (ours, its), os.fdopen(its.writing, "wb") as writing:
        saying = asyncio.create_task(asyncio.to_thread(writing.write, said))
        assert await outcome(Channel(ours, "run-1"), lambda _: None, nobody) == b'"forged"'
        await saying
        os.close(its.reading)
    beyond = 12_000_000 - 8 * BYTES_PER_SECOND - MORE_BYTES_PER_SECOND
    assert monotonic() - began > 0.9 * beyond / MORE_BYTES_PER_SECOND


async def test_values_are_counted_where_a_result_is_read() -> None:
    """A result is read beside the loop, and so is whether it has too many values for anybody."""
    said = json.dumps({"kind": "done", "content": f"[{'[],' * 300_000}0]"}).encode() + b"\n"

    with open_pipes() as (ours, its), os.fdopen(its.writing, "wb") as writing:
        saying = asyncio.create_task(asyncio.to_thread(writing.write, said))
        result = await outcome(Channel(ours, "run-1"), lambda _: None, nobody)
        await saying
        os.close(its.reading)

    assert result == TOO_DEEP_JSON


async def test_a_report_is_measured_where_it_is_read() -> None:
    """What is said of one that is too large comes from beside the loop."""
    said = json.dumps({"kind": "progress", "value": "\n" * 3_000_000}).encode() + b"\n"

    with open_pipes() as (ours, its), os.fdopen(its.writing, "wb") as writing:
        saying = asyncio.create_task(asyncio.to_thread(writing.write, said))
        with pytest.raises(ToolCrashed, match="has more than 10000 bytes") as raised:
            await outcome(Channel(ours, "run-1"), lambda _: None, nobody)
        await saying
        os.close(its.reading)

    assert look_through.__name__ in [one.name for one in raised.traceback]


async def test_large_messages_are_read_beside_the_loop() -> None:
    """One of few bytes is read at once; for others a run waits until it is its turn."""
    heard, first, free = list[JsonValue](), asyncio.Event(), threading.Event()
    others = [asyncio.create_task(LISTENERS.run(f"other-{n}", free.wait)) for n in range(2)]
    with open_pipes() as (ours, its), os.fdopen(its.writing, "wb") as writing:
        writing.write(REPORT + b"\n" + REPORT.ljust(20_000) + b"\n" + FORGED.encode() + b"\n")
        writing.flush()

        def hear(report: JsonValue) -> None:
            heard.append(report)
            first.set()

        calling = asyncio.create_task(outcome(Channel(ours, "run-1"), hear, nobody))
        await first.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        waits = list(heard)
        free.set()
        said = await calling
        os.close(its.reading)
    await asyncio.gather(*others)

    assert waits == [1]
    assert heard == [1, 1]
    assert said == b'"forged"'


async def test_no_call_is_late_because_results_of_others_are_looked_at() -> None:
    """Its time limit goes on until it is known what it came to: a write that is done stays so."""
    free, content = threading.Event(), json.dumps("x" * 20_000)
    others = [asyncio.create_task(READERS.run(f"other-{n}", free.wait)) for n in range(2)]
    with open_pipes() as (ours, its), os.fdopen(its.writing, "wb") as writing:
        writing.write(json.dumps({"kind": "done", "content": content}).encode() + b"\n")
        writing.flush()
        calling = asyncio.create_task(outcome(Channel(ours, "run-1"), lambda _: None, nobody))
        await asyncio.wait({calling}, timeout=30)
        done = calling.done()
        free.set()
        said = await calling
        os.close(its.reading)
    await asyncio.gather(*others)

    assert done
    assert said == content.encode()


async def test_nothing_but_words_comes_through_the_channel(attack: Attack) -> None:
    """Whoever is sent a connection closes it, for as long as its sender has it linger."""
    code = f"""
{CHANNEL}
import array, errno, socket, struct
with socket.create_server(("127.0.0.1", 0)) as server:
    line = socket.create_connection(server.getsockname())
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 20))
    line.setblocking(False)
    try:
        while line.send(bytes(65_536)):
            pass
    except BlockingIOError:
        along = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [line.fileno()]))]
    try:
        way = socket.socket(fileno=channel[0])
        way.sendmsg([b" "], along)
        result = way.detach() and "sent"
    except OSError as error:
        result = errno.errorcode[error.errno]
"""

    assert await attack(code) == "ENOTSOCK"


async def test_a_call_ends_though_its_worker_stands_still(
    sandbox_home: Path, invocation: ToolInvocation
) -> None:
    """Beyond all time that it may have the kernel ends it, with all that is in it."""
    run = invocation.first_execution_run_id
    code = copy_code(OURS_ALONE, sandbox_home / "sandbox")
    jail = Jail(code, Workspaces(sandbox_home).ensure(run), derive_uid(run), BOUNDS)
    with open_pipes() as (ours, its):
        running = launch(Path(shutil.which("bwrap") or ""), jail, its, 1)
        close(its)
        while await Channel(ours, "run-1").read_line(100) is not None:
            pass  # it is ready, and nobody says anything
        how = os.WEXITED | os.WNOWAIT
        ended = await asyncio.to_thread(os.waitid, os.P_PID, running.pid, how)
        await running.end()

    assert ended is not None
    assert ended.si_status == signal.SIGALRM


async def test_silence(attack: Attack) -> None:
    """A process that closes its channel has no result."""
    with pytest.raises(ToolCrashed, match="ended without a result"):
        await attack(f"{CHANNEL}\nimport time\nos.close(channel[0])\ntime.sleep(30)")


async def test_floods_that_nobody_reads(attack: Attack) -> None:
    """A process that never reads what it asked for blocks nobody but itself."""
    with pytest.raises(ToolError) as raised:
        await attack("ctx.http('GET', 'x' * 9000)")

    assert raised.value.type == "invalid_arguments"


@pytest.mark.parametrize("raised", ["ValueError(words)", "ToolError('conflict', words)"])
@pytest.mark.parametrize("place", [3_985, 20])
async def test_no_failure_is_cut_within_a_token(attack: Attack, raised: str, place: int) -> None:
    """What a tool says when it fails is cleared of secrets before anything of it is cut."""
    code = f"words = '.' * {place} + 'ghp_' + '0' * 36 + '.' * {4_000 - place}"
    with pytest.raises((ToolCrashed, ToolError)) as failed:
        await attack(f"from holdfast.contracts.errors import ToolError\n{code}\nraise {raised}")
    error, redactor = failed.value, Redactor(frozenset)
    stack = error.stack if isinstance(error, ToolCrashed) else ""
    told = redactor.part(error.reason if isinstance(error, ToolError) else str(error), 4_000)

    assert "000" not in told.text + redactor.part(stack, 8_000, last=True).text


async def test_reports_and_results_of_honest_tools(
    sandbox: Sandbox, invocation: ToolInvocation
) -> None:
    """Progress, large results and awaited functions pass as they do outside."""
    heard: list[JsonValue] = []
    code = "ctx.heartbeat({'done': 1}); ctx.heartbeat(); result = 'x' * 3_000_000"
    call = invocation.model_copy(update={"arguments": {"code": code}})

    said = await sandbox.run(hostile.run_async, call, heard.append, nobody, admitted)

    assert heard == [{"done": 1}, None]
    assert said == b'"' + b"x" * 3_000_000 + b'"'


@pytest.mark.parametrize("report", ["object", "b'\\xff'", "'x' * 20_000", "set('ab'), lambda: 1"])
async def test_a_tool_ends_well_whatever_it_reports(
    sandbox: Sandbox, invocation: ToolInvocation, report: str
) -> None:
    """What can't be told, or is too long, has nothing to do with what was done."""
    heard: list[JsonValue] = []
    code = f"ctx.heartbeat({{'it': ({report})}}); result = 'done'"
    call = invocation.model_copy(update={"arguments": {"code": code}})

    assert await sandbox.run(hostile.run_async, call, heard.append, nobody, admitted) == b'"done"'
    assert len(heard) == 1


async def test_sandboxes_beside_each_other(attack: Attack) -> None:
    """Calls run beside each other, each in a sandbox of its own."""
    code = "import os; result = sorted(name for name in os.listdir('/proc') if name.isdigit())"

    several = await asyncio.gather(*(attack(code) for _ in range(3)))

    # Bubblewrap's first process, and the tool's.
    assert several == [["1", "2"]] * 3


async def test_a_call_ends_whoever_keeps_the_threads_of_the_loop(attack: Attack) -> None:
    """What others do in threads keeps no result from its run."""
    assert await attack("result = 1") == 1  # and its code is copied
    over, loop = threading.Event(), asyncio.get_running_loop()
    others = [loop.run_in_executor(None, over.wait) for _ in range(40)]  # it has 32 at most
    calling = asyncio.create_task(attack("result = 2"))
    ended, _ = await asyncio.wait({calling}, timeout=30)
    over.set()
    await asyncio.wait({calling, *others})

    assert ended
