"""Tools to test with; at the top of a module, so that a process of its own can import them."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import Risk
from holdfast.tools.context import ToolContext
from holdfast.tools.tool import tool

SLEEP = (sys.executable, "-c", "import signal; signal.alarm(60); signal.pause()")
"""A process that would outlive its test, but not the day."""


class Colour(StrEnum):
    """What something looks like."""

    RED = "red"
    GREEN = "green"


class Line(BaseModel):
    """One line of an order."""

    article: str
    price: Decimal
    pieces: int = 1


class OutOfStock(Exception):
    """Something that a tool raises without telling anybody why."""


@tool(risk=Risk.READ_ONLY)
def chatter(lines: int, width: int) -> str:
    """Say that often how it goes on, with a last line that never ends."""
    for number in range(lines):
        os.write(2, f"{number}: {'.' * width}\n".encode())
    os.write(1, b"half of a line")
    return "said"


@tool(risk=Risk.READ_ONLY, timeout=5, local=True)
def glance(word: str) -> str:
    """Glance at a word, and say it again."""
    return word


@tool(risk=Risk.COMPUTE_ONLY, timeout=5)
async def order(
    lines: list[Line],
    colour: Colour,
    ctx: ToolContext,
    size: Annotated[int, Field(ge=1, le=9, description="Size of the box.")] = 3,
    speed: Literal["slow", "fast"] = "slow",
    note: str | None = None,
) -> dict[str, Decimal]:
    """Add up an order and say what it costs."""
    total = sum((line.price * line.pieces for line in lines), Decimal(0))
    return {f"{colour.value} {size} {speed} {note} {ctx.tenant}": total}


def secret_of(name: str) -> str:
    """Where the worker's secrets come from; importable, like the tools."""
    return f"secret of {name}"


@tool(risk=Risk.READ_ONLY, timeout=5)
def whoami(ctx: ToolContext, word: str = "") -> dict[str, str | int]:
    """Say what this tool knows of its call."""
    return {
        "run": ctx.run_id,
        "first": ctx.first_execution_run_id,
        "call": ctx.call_id,
        "tenant": ctx.tenant,
        "actor": ctx.actor,
        "agent": ctx.agent,
        "key": ctx.idempotency_key,
        "secret": ctx.secret("api key"),
        "word": word,
        "process": os.getpid(),
    }


@tool(risk=Risk.WRITE_EXTERNAL, timeout=5)
def note(text: str) -> str:
    """Write a text down somewhere."""
    raise AssertionError(text)


@tool(risk=Risk.READ_ONLY, timeout=5)
def refuse() -> str:
    """Refuse to do what was asked."""
    raise ToolError("not_found", "no record 7", ("list the records", "ask the user"))


@tool(risk=Risk.READ_ONLY, timeout=5)
def crash() -> str:
    """Raise something that nobody expects."""
    raise OutOfStock("nothing left")


@tool(risk=Risk.READ_ONLY, timeout=5)
def leave(how: Literal["exit", "die", "kill"]) -> str:
    """End the process before there is a result."""
    match how:
        case "exit":
            sys.exit(3)
        case "die":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@tool(risk=Risk.READ_ONLY, timeout=5)
def progress(ctx: ToolContext) -> str:
    """Report progress three times."""
    for done in (1, 2):
        ctx.heartbeat({"done": done})
    ctx.heartbeat()
    return "done"


@tool(risk=Risk.READ_ONLY, timeout=5)
def flood(characters: int) -> str:
    """Return a text of so many characters."""
    return "x" * characters


@tool(risk=Risk.READ_ONLY, timeout=30)
def report_from_threads(characters: int, ctx: ToolContext) -> str:
    """Report progress from eight threads, still while a text of so many characters is returned."""

    def report() -> None:
        for _ in range(500):
            ctx.heartbeat("y" * 1_000)

    for _ in range(8):
        threading.Thread(target=report, daemon=True).start()
    return "x" * characters


@tool(risk=Risk.READ_ONLY, timeout=5)
def unwritable() -> list[object]:
    """Return something that is no JSON."""
    return [threading.Lock()]


@tool(risk=Risk.READ_ONLY, timeout=5)
def linger(alive: str) -> str:
    """Start a process, for which there is time, say so in a pipe that both hold, and never end."""
    return _linger(alive)


@tool(risk=Risk.READ_ONLY, timeout=60)
def linger_long(alive: str) -> str:
    """Do as linger does, with more time."""
    return _linger(alive)


@tool(risk=Risk.READ_ONLY, timeout=5)
def linger_inside(alive: str) -> str:
    """Say so in a pipe, and stay in a library that lets no thread of Python go on."""
    with Path(alive).open("wb", buffering=0) as pipe:
        pipe.write(b"up\n")
        ctypes.PyDLL(None).sleep(60)
    return "never"


def _linger(alive: str) -> str:
    with (
        Path(alive).open("wb", buffering=0) as pipe,
        subprocess.Popen(SLEEP, pass_fds=[pipe.fileno()]),
    ):
        pipe.write(b"up\n")
        signal.alarm(60)
        signal.pause()
    return "never"
