"""What a person types at the terminal."""

import asyncio
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from holdfast.cli.screen import Screen

_LOCAL_MODES = 3
"""Where `termios` keeps, among others, whether what is typed is shown."""


async def line(out: Screen, question: str, *, shown: bool = True) -> str:
    """
    Ask for a line, without a thread, so that the wait for it can be cancelled.

    Raises EOFError when nobody types any more.
    """
    # What was typed before the question was shown doesn't answer it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    out.question(question)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    with nullcontext() if shown else _unseen(out):
        loop.add_reader(sys.stdin, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(sys.stdin)
        if not (typed := sys.stdin.readline()):
            raise EOFError
    return typed.strip() if shown else typed.rstrip("\r\n")


@contextmanager
def _unseen(out: Screen) -> Generator[None]:
    """Show nothing of what is typed while the block lasts."""
    before = termios.tcgetattr(sys.stdin)
    silent = [*before]
    silent[_LOCAL_MODES] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, before)
        out.line("")
