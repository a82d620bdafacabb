"""Tools whose library says in every way what it was given: an address with a key in it."""

import logging
import os
import subprocess
import threading
import warnings
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from holdfast import Agent, App, Risk, ToolContext, tool
from holdfast.testing import call, say

library = logging.getLogger("urllib3.connectionpool")

Way: TypeAlias = Literal["log", "wrong log", "warning", "thread", "end"]
WAYS: tuple[Way, ...] = get_args(Way)


class Lost:
    """Something whose end fails, where nobody can be told."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __del__(self) -> None:
        raise ConnectionError(self._words)


def echo(way: Way, words: str) -> None:
    """Say words in one of all ways."""
    match way:
        case "log":
            library.warning("%s", words)
        case "wrong log":
            library.warning("Retrying as %d", words)
        case "warning":
            warnings.warn(words, stacklevel=1)
        case "thread":
            thread = threading.Thread(target=_fail, args=(words,))
            thread.start()
            thread.join()
        case "end":
            Lost(words)


def _fail(words: str) -> None:
    raise ConnectionError(words)


def words(ctx: ToolContext) -> str:
    return f"Retrying after connection broken: /report?key={ctx.secret('db')}\x1b[2J"


@tool(risk=Risk.READ_ONLY)
def fetch_far(ctx: ToolContext) -> str:
    """Fetch a report in a process of its own, and with a program."""
    for way in WAYS:
        echo(way, words(ctx))
    os.write(1, f"{words(ctx)}\n".encode())
    subprocess.run(["/bin/sh", "-c", 'printf %s "$0" >&2', words(ctx)], check=True)
    return "fetched"


@tool(risk=Risk.READ_ONLY)
async def fetch_near(ctx: ToolContext) -> str:
    """Fetch a report within the worker itself."""
    for way in WAYS:
        echo(way, words(ctx))
    return "fetched"


@dataclass
class Login:
    """What a service answers, as its page on the web says."""

    token: int


@tool(risk=Risk.READ_ONLY)
async def fetch_login(ctx: ToolContext) -> Login:
    """Fetch what proves who we are, which is of another type than it was said to be."""
    library.warning("Retrying")
    return Login(ctx.secret("db"))  # pyright: ignore[reportArgumentType] -- as pages are


def build(name: str) -> App:
    """An app whose run calls one of them once."""
    tools = [fetch_far, fetch_near, fetch_login]
    agent = Agent(name="it", instructions="Fetch.", models=["scripted:it"], tools=tools)
    return App(agents=[agent], scripts={"it": [call(name), say("done")]})


far, near, login = map(build, ("fetch_far", "fetch_near", "fetch_login"))
