"""Commands as people and scripts run them: each a process of its own, also on a terminal."""

import asyncio
import codecs
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import termios
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from holdfast.client import RunEvent
from holdfast.contracts.base import JsonObject

ROOT = Path(__file__).parents[2]


class Ended(NamedTuple):
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> JsonObject:
        """Standard output as a JSON object."""
        return json.loads(self.out)

    @property
    def events(self) -> list[RunEvent]:
        """Standard output as events, one on each line."""
        return [RunEvent.model_validate_json(line) for line in self.out.splitlines()]


class Forker(NamedTuple):
    """What forks commands, and where it is asked to; it ends with this process."""

    process: subprocess.Popen[bytes]
    asked: socket.socket


async def started(*arguments: str) -> asyncio.subprocess.Process:
    """Start a command beside the worker, which needs this event loop."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "holdfast.cli.main", *arguments),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(process: asyncio.subprocess.Process, stdin: str = "") -> Ended:
    """Wait for the end of a command."""
    out, err = await process.communicate(stdin.encode())
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


async def holdfast(*arguments: str, stdin: str = "") -> Ended:
    """Run a command to its end, in a process that needn't import it first."""
    return await asyncio.to_thread(_ask, arguments, stdin)


def forked(*arguments: str) -> Ended:
    """The same, where no event loop waits."""
    return _ask(arguments, "")


class Forked:
    """A command in a process that was forked, with these streams."""

    def __init__(
        self,
        arguments: tuple[str, ...],
        streams: list[int],
        environment: Mapping[str, str] | None = None,
        *,
        is_session: bool = False,
    ) -> None:
        forker = _forker()
        asking = {
            "arguments": arguments,
            "folder": str(ROOT),
            "environment": {**os.environ, **(environment or {})},  # noqa: TID251 -- to hand it on
            "is_session": is_session,
        }
        self._told, its = socket.socketpair()
        with its:
            said = json.dumps(asking).encode()
            socket.send_fds(forker.asked, [said], [its.fileno(), *streams])

    def wait(self) -> int:
        """Wait for the end of the command, and return its exit code."""
        with self._told.makefile("rb") as told:
            return int(told.read().split()[1])

    def close(self) -> None:
        """Wait for nothing any more."""
        self._told.close()

    def send_signal(self, number: signal.Signals) -> None:
        process, _, _ = self._told.recv(16, socket.MSG_PEEK).partition(b" ")
        os.kill(int(process), number)


def _ask(arguments: tuple[str, ...], stdin: str) -> Ended:
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        given.write(stdin.encode())
        given.seek(0)
        streams = [given.fileno(), out.fileno(), err.fileno()]
        with closing(Forked(arguments, streams)) as command:
            code = command.wait()
        out.seek(0)
        err.seek(0)
        return Ended(code, out.read().decode(), err.read().decode())


@cache
def _forker() -> Forker:
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        command = (sys.executable, "-m", "tests.holdfast.forked")
        return Forker(
            subprocess.Popen(command, cwd=ROOT, stdin=its.fileno(), stdout=subprocess.DEVNULL),
            mine,
        )


async def waiting(run: str) -> JsonObject:
    """Wait until a run waits for a person, and return the request."""
    while True:
        asked = await holdfast("pending", run, "--json")
        if asked.code == 0 and (found := json.loads(asked.out)):
            return found[0]


async def seen(run: str) -> tuple[str, str, str]:
    """What says that somebody saw the first request of a run: its id and its digest."""
    request = await waiting(run)
    return str(request["request_id"]), "--digest", str(request["digest"])


SAYS_SECONDS = 300
"""What waits for longer has been forgotten: no machine is so slow."""


class Terminal:
    """A command on a terminal of its own, and somebody who types."""

    def __init__(self, end: int, command: Forked) -> None:
        self._end = end
        self._command = command
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.shown = ""
        self._heard = 0

    async def says(self, words: str) -> None:
        """Wait for words behind those that were waited for before; both may come in one piece."""
        try:
            async with asyncio.timeout(SAYS_SECONDS):
                while (found := self.shown.find(words, self._heard)) < 0:
                    await self._read()
        except TimeoutError:
            self._command.send_signal(signal.SIGKILL)  # who reads it in a thread hears of the end
            pytest.fail(f"it says no {words!r} but: {self.shown[self._heard :]!r}")
        self._heard = found + len(words)

    def types(self, line: str) -> None:
        os.write(self._end, f"{line}\n".encode())

    def interrupts(self) -> None:
        """Press Ctrl-C."""
        self._command.send_signal(signal.SIGINT)

    async def code(self) -> int:
        """Read what is left, and return the exit code."""
        try:
            while await self._read():
                pass
        except OSError:
            pass  # a terminal whose command has gone
        return await asyncio.to_thread(self._command.wait)

    async def _read(self) -> bytes:
        piece = await asyncio.to_thread(os.read, self._end, 4096)
        self.shown += self._decoder.decode(piece)
        return piece


@asynccontextmanager
async def terminal(*arguments: str, columns: int = 0) -> AsyncGenerator[Terminal]:
    """Start a command on a terminal; one with no columns doesn't say how wide it is."""
    mine, its = pty.openpty()
    termios.tcsetwinsize(its, (24, columns))
    with closing(Forked(arguments, [its] * 3, is_session=True)) as command:
        os.close(its)
        yield Terminal(mine, command)
    os.close(mine)
