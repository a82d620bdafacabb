"""The terminal: what the command line writes, and what a person types."""

import asyncio
import os
import shlex
import sys
import termios
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, suppress
from getpass import getpass

from rich.console import Console
from rich.text import Text

from holdfast.contracts.texts import (
    escape_invisible,
    escape_invisible_json,
)

_HANG = 10
"""The column in which a line goes on that is too long: no line of ours begins so far right."""

_SPOKEN = "| "
"""What stands before each row of what a model says, for who reads along."""

_COLUMNS = 80
"""Columns of a terminal that doesn't say how wide it is."""


class Screen:
    """
    A place to write lines to: plain text, with colours on a terminal only.

    Strangers and models chose much of what stands in a line: every character of it shows, and none
    moves another, ends the line or is taken for markup.
    """

    def __init__(self, console: Console | None = None, *, errors: bool = False) -> None:
        self._console = console or Console(
            stderr=errors, highlight=False, markup=False, emoji=False
        )
        self._spoken = 0

    @property
    def is_terminal(self) -> bool:
        """Whether somebody reads along."""
        return self._console.file.isatty()

    def line(
        self, text: str, style: str = "", *, head: str = "", hang: int | None = _HANG
    ) -> None:
        """
        Write a line, after a *head* in a quiet colour.

        A line that is too long for the terminal goes on below, *hang* columns to the right: so its
        end is never read as a line of its own. None is for what people copy, and no stranger says.
        """
        self.end_words()
        whole = escape_invisible(head) + escape_invisible(text)
        first, *more = [whole] if hang is None else self._wrap(whole, hang)
        begin = min(len(escape_invisible(head)), len(first))
        self._write(Text.assemble((first[:begin], "dim"), (first[begin:], style)), "\n")
        for row in more:
            self._write(Text(row, style), "\n")

    def question(self, text: str) -> None:
        """Write the beginning of a line that somebody ends by typing."""
        self.end_words()
        self._write(Text(escape_invisible(text), "bold"), "")

    def words(self, text: str, style: str = "dim") -> None:
        """
        Write what a model has just said, behind what it said before, as it comes.

        Each row has a mark before it, which no line of ours has: it could look like one.
        """
        shown = list[str]()
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
            if number:
                shown.append("\n" if self._spoken else f"{_SPOKEN}\n")
                self._spoken = 0
            shown += self._mark_rows(escape_invisible(line))
        self._write(Text("".join(shown), style), "")

    def _mark_rows(self, text: str) -> Iterator[str]:
        """Yield a piece of a line with a mark before each row of a terminal that it begins."""
        width = self.find_width()
        for character in text:
            columns = 1 if character.isascii() else 2
            if self._spoken and self._spoken + columns > width:
                yield "\n"
                self._spoken = 0
            if not self._spoken:
                yield _SPOKEN
                self._spoken = len(_SPOKEN)
            yield character
            self._spoken += columns

    def end_words(self) -> None:
        """End the row of what a model has just said, if there is one."""
        if self._spoken:
            self._spoken = 0
            self._write(Text(), "\n")

    def json(self, text: str) -> None:
        """Write JSON, for programs: no colours, and escapes for what doesn't show."""
        self._console.file.write(f"{escape_invisible_json(text).rstrip()}\n")
        self._console.file.flush()  # somebody may wait for the next line

    def _write(self, text: Text, end: str) -> None:
        self._console.print(text, end=end, soft_wrap=True)

    def _wrap(self, text: str, hang: int) -> list[str]:
        if not self.is_terminal:
            return [text]
        width = self.find_width()
        hang = min(hang, (width - 1) // 2)
        first, *more = break_rows(text, width, width - hang)
        return [first, *(f"{' ' * hang}{row}" for row in more)]

    def find_width(self) -> int:
        """Ask the terminal itself: COLUMNS is what some other one once was."""
        try:
            return os.get_terminal_size(self._console.file.fileno()).columns or _COLUMNS
        except OSError:
            return _COLUMNS


def break_rows(text: str, width: int, width_below: int) -> Iterator[str]:
    """
    Break a text into rows that no terminal breaks once more, the second and on by *width_below*.

    A row ends behind a blank, unless that left half of it empty. Terminals differ in how wide a
    character is, also with the tables of Unicode that each has: so all but those of ASCII count
    as two columns, and none takes more.
    """
    begin, used, room = 0, 0, width
    word, before = 0, 0
    for place, character in enumerate(text):
        columns = 1 if character.isascii() else 2
        if used + columns > room and place > begin:
            carried = used - before
            whole = word > begin and 2 * before >= room and carried + columns <= width_below
            end = word if whole else place
            yield text[begin:end]
            begin, used, room = end, carried if whole else 0, width_below
            word, before = begin, 0
        used += columns
        if character == " ":
            word, before = place + 1, used
    yield text[begin:]


def tell(text: str) -> None:
    """Write a line to standard output."""
    Screen().line(text)


def warn(text: str, *, hang: int | None = _HANG) -> None:
    """Write a line to standard error, beside what was asked for; *hang* as in a line."""
    Screen(errors=True).line(text, hang=hang)


def ask_secret(question: str) -> str:
    """Ask the person at the terminal for words that nobody else shall see."""
    return getpass(escape_invisible(question))


def command(name: str, *words: str) -> str:
    """Write a command of ours with these arguments, for people who copy it into a shell."""
    ends_options = " --" if any(word.startswith("-") for word in words) else ""
    return f"holdfast {name}{ends_options} {' '.join(map(quote, words))}"


def quote(text: str) -> str:
    """Write a text as one word; what doesn't show is escaped so that it still means the text."""
    if escape_invisible(text) == text:
        return shlex.quote(text)
    return f"$'{''.join(map(_escape, text))}'"


def _escape(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if escape_invisible(character) == character:
        return character
    return f"\\U{ord(character):08x}"


_LOCAL_MODES = 3
"""Where `termios` keeps, among others, whether what is typed is shown."""


async def read_line(out: Screen, question: str, *, shown: bool = True) -> str:
    """
    Ask for a line, without a thread, so that the wait for it can be cancelled.

    Raises EOFError when nobody types any more.
    """
    # What was typed before the question was shown doesn't answer it.
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    out.question(question)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    with nullcontext() if shown else _hide_input(out):
        loop.add_reader(sys.stdin, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(sys.stdin)
        if not (typed := sys.stdin.readline()):
            raise EOFError
    return typed.strip() if shown else typed.rstrip("\r\n")


async def read_piped_line() -> str | None:
    """Read a line that no person types; null at the end. The wait for it can be cancelled."""
    loop = asyncio.get_running_loop()
    coming: asyncio.Future[str] = loop.create_future()

    def tell(line: str) -> None:
        if not coming.done():
            coming.set_result(line)

    def read() -> None:
        with suppress(RuntimeError):  # nobody waits any more, and the loop is closed
            loop.call_soon_threadsafe(tell, sys.stdin.readline())

    threading.Thread(target=read, daemon=True).start()
    line = await coming
    return line.rstrip("\r\n") if line else None


@contextmanager
def _hide_input(out: Screen) -> Generator[None]:
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
