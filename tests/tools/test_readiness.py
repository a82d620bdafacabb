"""The kernel lets a user wait for nothing more for a while: nothing of anybody fails by that."""

import asyncio
import errno
import os
import selectors
from collections.abc import Callable, Coroutine
from typing import Protocol

import pytest

from holdfast.tools.sandbox.channel import Channel, close, open_pipes
from tests.tools import sample_tools
from tests.tools.test_process import ran


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class FullSelector(selectors.EpollSelector):
    """One that has no room for anything, the first time that it is asked, but for what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False
        self.refused = set[int | HasFileno]()

    def register(
        self, fileobj: int | HasFileno, events: int, data: object = None
    ) -> selectors.SelectorKey:
        if self.is_full and fileobj not in self.refused:
            self.refused.add(fileobj)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().register(fileobj, events, data)


async def talk() -> object:
    """Say something through a channel, and hear something."""
    with open_pipes() as (ours, its):
        channel = Channel(ours, "run-1")
        await channel.write(b"asked\n")
        os.write(its.writing, b"told\n")
        said = (os.read(its.reading, 100), await channel.read_line(100))
        close(its)
    return said


async def call() -> object:
    """Have a tool do something in its process."""
    return len(str(await ran(sample_tools.flood, {"characters": 300_000})))


@pytest.mark.parametrize(
    ("do", "expected"),
    [
        pytest.param(talk, (b"asked\n", b"told\n"), id="a sandbox"),
        pytest.param(call, 300_000, id="a process"),
    ],
)
def test_what_waits_for_a_descriptor_waits_until_there_is_room(
    do: Callable[[], Coroutine[None, None, object]], expected: object
) -> None:
    """Whoever has used up all that the user may wait for is found and ended meanwhile."""
    selector = FullSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.get_loop()
        selector.is_full = True
        came = runner.run(do())
        selector.is_full = False

    assert came == expected
    assert selector.refused
