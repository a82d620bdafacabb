"""What an attack is seen with from outside the sandbox."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import NoReturn

from pydantic import JsonValue

from holdfast.tools.egress.exchange import HttpRequest

PATIENCE = 120.0
"""Seconds after which a process that should have ended has survived."""

Attack = Callable[..., Coroutine[None, None, JsonValue]]


async def nobody(_: HttpRequest) -> NoReturn:
    raise AssertionError("somebody was asked")


class Alive:
    """A pipe in the workspace that stays open as long as any process there holds it."""

    def __init__(self, workspace: Path) -> None:
        self._path = workspace / "alive"
        os.mkfifo(self._path)
        self._path.chmod(0o666)
        self.reader = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)

    async def heard(self) -> bytes:
        """What comes next; nothing when the last process that held the pipe has ended."""
        readable = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self.reader, readable.set)
        try:
            async with asyncio.timeout(PATIENCE):
                await readable.wait()
            return os.read(self.reader, 100)
        finally:
            loop.remove_reader(self.reader)

    async def until_dead(self) -> None:
        """Return once no process holds the pipe, also if none had the time to open it."""
        os.close(os.open(self._path, os.O_WRONLY))
        while await self.heard():
            pass

    def close(self) -> None:
        os.close(self.reader)
