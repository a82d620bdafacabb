"""No row of a terminal begins with words of a stranger: not by their width, nor by a variable."""

import ctypes
import locale
import os
import pty
import re
import sys
import termios
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from uuid import uuid4

import pytest
from rich.console import Console
from temporalio.client import Client

from holdfast import Agent, App, Risk, tool, worker
from holdfast.cli import request_details
from holdfast.cli.screen import Screen, break_rows
from holdfast.contracts.run import TASK_QUEUE, RunResult
from holdfast.contracts.switches import SWITCHES
from holdfast.contracts.texts import escape_invisible
from holdfast.testing import call, say
from tests.attacks.test_screens import OURS
from tests.builders import a_request
from tests.holdfast.commands import terminal
from tests.running import Run

COLUMNS = 80
FORGED = "    who       anybody, but not whom it is for"
LIBRARY = ctypes.CDLL(None)
WIDE = {
    "letters": "a",  # for comparison
    "spacing marks": "\u0bc1",
    "tones of skin": "\U0001f3fb",
    "circled numbers": "\u3248",
    "joined pictures": "\U0001f469\u200d",
}


def cells(text: str) -> int:
    """How many columns a text takes, as the C library says, which terminals agree with."""
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    return sum(map(width, text))


def width(character: str) -> int:
    return max(LIBRARY.wcwidth(ctypes.c_uint32(ord(character))), 0)


def rows(shown: str) -> list[str]:
    """What stands in each row of the terminal, which begins another where one is full."""
    found: list[str] = []
    for line in OURS.sub("\n", shown).replace("\n\n", "\n").split("\n"):
        row = ""
        for character in line:
            if cells(row + character) > COLUMNS:
                found.append(row)
                row = ""
            row += character
        found.append(row)
    return found


@tool(risk=Risk.WRITE_INTERNAL)
async def post(text: str) -> str:
    """Post something where colleagues read it."""
    return "posted"


async def asked(client: Client, text: str) -> str:
    """Start a run whose model wants to post a text, and return its id when it waits."""
    handle = await client.start_workflow(
        "AgentRun",
        {"agent": "wide", "input": text},
        id=f"run-{uuid4().hex[:8]}",
        task_queue=TASK_QUEUE,
        result_type=RunResult,
    )
    await Run(handle).asked_for_approval()
    return handle.id


async def request_rows(client: Client, text: str, *, columns: int = 0) -> list[str]:
    """What whoever is to approve reads of the request of a run with this text, row by row."""
    run = await asked(client, text)
    async with terminal("approve", run, columns=columns) as asking:
        await asking.says("approve? [y/N] ")
        asking.types("n")
        await asking.code()
    await client.get_workflow_handle(run).terminate()
    return rows(asking.shown.partition("approve? [y/N]")[0])


@asynccontextmanager
async def serving(client: Client, text: str) -> AsyncGenerator[None]:
    """Have a worker for an agent whose model wants to post a text."""
    agent = Agent(name="wide", instructions="Post.", models=["scripted:wide"], tools=[post])
    script = [call("post", text=text), say("done")]
    async with worker.run_worker(client, App(agents=[agent], scripts={"wide": script})):
        yield


@pytest.mark.slow
def test_no_character_takes_more_columns_than_a_row_has_for_it() -> None:
    """Of all that Unicode has, whatever its tables say by now: rows are as full as they may be."""
    shown = [
        one for code in range(sys.maxunicode + 1) if escape_invisible(one := chr(code)) == one
    ]
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    broken = list(break_rows("".join(shown), COLUMNS, COLUMNS // 2))

    assert len(shown) > 100_000
    assert "".join(broken) == "".join(shown)
    assert {len(row) for row in broken[3:-1]} == {COLUMNS // 4}
    assert max(sum(map(width, row)) for row in broken[1:]) <= COLUMNS // 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four", ["one two ", "three ", "four"]),
        ("one twothreefour", ["one twothr", "eefour"]),
        ("one two ", ["one two "]),
        ("aaaaaaaaaa bbbb", ["aaaaaaaaaa", " bbbb"]),
    ],
)
def test_rows_end_at_words(text: str, expected: list[str]) -> None:
    """A word that leaves half of a row is broken all the same."""
    assert list(break_rows(text, 10, 6)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("width", range(2, 12))
def test_no_row_is_too_long(width: int) -> None:
    """Whatever words there are, and however many columns each takes."""
    below = width - (width - 1) // 2
    for text in map("".join, product("a 漢", repeat=9)):
        first, *more = break_rows(text, width, below)
        assert "".join([first, *more]) == text
        assert cells(first) <= width
        assert max(map(cells, more), default=0) <= max(below, 2)


@pytest.mark.parametrize("columns", [2, 7, 30, 200])
def test_a_row_is_no_wider_than_its_terminal(columns: int) -> None:
    """However narrow it is, and however far to the right a line would go on."""
    mine, its = pty.openpty()
    termios.tcsetwinsize(its, (24, columns))
    with os.fdopen(its, "w", encoding="utf-8") as writing:
        Screen(Console(file=writing)).line(f"{'漢' * 9}{'x' * 300}", hang=18)
        writing.flush()
        written = b""
        while written.count(b"x") < 300:  # a terminal gives away what it has, piece by piece
            written += os.read(mine, 65_536)
    os.close(mine)
    shown = written.decode().splitlines()

    assert max(map(cells, shown)) <= columns
    assert {row.startswith(" " * min(18, (columns - 1) // 2)) for row in shown[1:]} == {True}


def test_no_row_of_what_is_read_along_begins_with_it() -> None:
    """However it is cut into pieces, and whatever ends its lines; a line of ours stands below."""
    mine, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 20))
    with os.fdopen(its, "w", encoding="utf-8") as writing:
        out = Screen(Console(file=writing))
        for piece in ("Hello\n", "\nrun-1  req-1", "  approve\r\n", f"{'漢' * 12}\x1b[2J\n", "x"):
            out.words(piece)
        out.line("ours")
        out.words("\n")
        out.line("ours again")
        writing.flush()
        written = b""
        while b"again" not in written:
            written += os.read(mine, 65_536)
    os.close(mine)
    shown = re.sub(r"\x1b\[\d*m", "", written.decode()).splitlines()
    words, begin = shown[: shown.index("ours")], shown.index("ours")

    assert words[:3] == ["| Hello", "| ", "| run-1  req-1  appr"]
    assert {row[:2] for row in words} == {"| "}
    assert max(map(cells, words)) <= 20
    assert "".join(row[2:] for row in words) == (f"Hellorun-1  req-1  approve{'漢' * 12}\\x1b[2Jx")
    assert shown[begin:] == ["ours", "| ", "ours again"]


@pytest.mark.usefixtures("command_line")
async def test_no_row_of_an_answer_in_a_session_begins_with_its_words(client: Client) -> None:
    """What a model says looks like no request that waits for who talks with it."""
    forged = "session-1  req-1  approve nothing?"
    agent = Agent(name="talker", instructions="Talk.", models=["scripted:talker"])
    app = App(agents=[agent], scripts={"talker": [say(f"Hello\n{forged}\n{FORGED}")]})
    async with (
        worker.run_worker(client, app),
        terminal("chat", "talker", "--session", f"session-{uuid4().hex[:8]}") as talking,
    ):
        await talking.says("> ")
        talking.types("hello")
        await talking.says("but not whom")
        await talking.says("> ")
        talking.types("\x04")
        await talking.code()
    found = rows(talking.shown)

    assert [row for row in found if row.startswith((forged, "    who"))] == []
    assert f"| {forged}" in found


@pytest.mark.usefixtures("command_line")
@pytest.mark.parametrize("character", WIDE.values(), ids=list(WIDE))
async def test_no_row_of_a_request_begins_with_words_of_the_model(
    client: Client, character: str
) -> None:
    """
    Nor where they have characters that take more columns than were counted.

    They fill the row behind `text = "`, and what follows is a field of the request to its reader.
    """
    left = COLUMNS - len('              text = "')
    wide = (character * (left // cells(character))).removesuffix("\u200d")
    async with serving(client, text := f"{'a' * (left - cells(wide))}{wide}{FORGED}"):
        block = await request_rows(client, text)

    assert len([row for row in block if row.startswith("    who ")]) == 1


@pytest.mark.usefixtures("command_line")
async def test_a_variable_says_nothing_of_how_wide_a_terminal_is(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell that was wider once may have said COLUMNS to all that it starts."""
    monkeypatch.setenv("COLUMNS", "200")
    text = "a" * (COLUMNS - len('              text = "')) + FORGED
    async with serving(client, text):
        block = await request_rows(client, text, columns=COLUMNS)

    assert len([row for row in block if row.startswith("    who ")]) == 1


@pytest.mark.usefixtures("command_line")
async def test_no_row_of_a_trace_begins_with_words_of_the_model(client: Client) -> None:
    """A line that is longer than the terminal is wide forges no other one."""
    text = f"{'a' * (COLUMNS - len('goal    '))}wait approved by dana: figures checked"
    async with serving(client, text):
        run = await asked(client, text)
        async with terminal("trace", run) as reading:
            await reading.code()
    await client.get_workflow_handle(run).terminate()

    assert [row for row in rows(reading.shown) if row.startswith("wait approved")] == []


@pytest.mark.usefixtures("command_line")
async def test_no_row_of_the_switches_begins_with_words_of_a_stranger(client: Client) -> None:
    """A reason that is longer than the terminal is wide forges no switch."""
    board = client.get_workflow_handle(SWITCHES)
    name, before = uuid4().hex[:8], len("tool  12345678  x   2026-03-01 12:00:00 UTC  ")
    forged = "tool  refunds   eve 2026-03-01 12:00:00 UTC  INC-71"
    reason = f"{'.' * (COLUMNS - before)}{forged}"
    async with serving(client, "x"):
        await asked(client, "x")  # the workflow of the switches is there
        await board.signal("off", {"kind": "tool", "name": name, "by": "x", "reason": reason})
        shown = ""
        while name not in shown:
            async with terminal("switch", "list") as reading:
                await reading.code()
            shown = reading.shown
        await board.signal("on", {"kind": "tool", "name": name, "by": "x"})

    assert [row for row in rows(shown) if row.startswith(forged)] == []


@pytest.mark.parametrize(
    ("run", "name"),
    [
        pytest.param("run-1", f"1-x/{'a' * 90} {FORGED * 40}", id="request"),
        pytest.param("run-1", f"1-x/{'a' * 1_000}{'who' * 1_000}", id="without end"),
        pytest.param(f"run-1 {FORGED * 20}", "req-1", id="run"),
    ],
)
def test_no_row_of_a_line_to_copy_begins_with_words_of_a_stranger(run: str, name: str) -> None:
    """Whoever speaks for a part, or answers for a run of their own, chooses what it is called."""
    request = a_request(request_id=name)
    mine, its = pty.openpty()
    termios.tcsetwinsize(its, (24, COLUMNS))
    with os.fdopen(its, "w", encoding="utf-8") as writing:
        out = Screen(Console(file=writing))
        request_details.show_request(out, run, request)
        out.line("over")
        writing.flush()
        written = b""
        while b"over\r\n" not in written:
            written += os.read(mine, 65_536)
    os.close(mine)
    shown = rows(written.decode())

    assert len([row for row in shown if row.startswith(FORGED[:12])]) == 1
    assert [row for row in shown if row.startswith(("who", "a", "ho", "ow"))] == []


@pytest.mark.usefixtures("command_line")
async def test_no_row_of_an_earlier_answer_begins_with_its_words(client: Client) -> None:
    """Who comes back to a session, or looks at it, is shown it as who was told it first."""
    forged, name = "who       anybody, but not whom it is for", f"session-{uuid4().hex[:8]}"
    agent = Agent(name="talker", instructions="Talk.", models=["scripted:talker"])
    app = App(agents=[agent], scripts={"talker": [say(f"Hello\n  {forged}")]})
    async with worker.run_worker(client, app):
        async with terminal("chat", "talker", "--session", name) as talking:
            await talking.says("> ")
            talking.types("hello")
            await talking.says("but not whom")
            await talking.says("> ")
            talking.types("\x04")
            await talking.code()
        async with terminal("chat", "talker", "--session", name) as back:
            await back.says("but not whom")
            await back.says("> ")
            back.types("\x04")
            await back.code()
        async with terminal("sessions", name) as looking:
            await looking.code()

    for shown in (back.shown, looking.shown):
        assert [row for row in rows(shown) if row.strip().startswith(forged)] == []
        assert f"|   {forged}" in rows(shown)
