"""A tool in a process of its own, whose library warns of what it was given."""

import logging
import threading
import warnings
from dataclasses import dataclass

from holdfast import Agent, App, Risk, ToolContext, tool
from holdfast.testing import call, say

library = logging.getLogger("urllib3.connectionpool")


@tool(risk=Risk.READ_ONLY)
def fetch_report(how: str, ctx: ToolContext) -> str:
    """Fetch a report from a service that wants a key in its address."""
    words = f"Retrying after connection broken: /report?key={ctx.secret('db')}\x1b[2J"
    match how:
        case "log":
            library.warning("%s", words)
        case "warn":
            warnings.warn(words, stacklevel=1)
        case _:
            thread = threading.Thread(target=_fail, args=(words,))
            thread.start()
            thread.join()
    return "fetched"


@tool(risk=Risk.READ_ONLY)
async def fetch_nearby(how: str, ctx: ToolContext) -> str:
    """Fetch a report, within the worker itself."""
    words = f"Retrying after connection broken: /report?key={ctx.secret('db')}\x1b[2J"
    match how:
        case "log":
            library.warning("%s", words)
        case "warn":
            warnings.warn(words, stacklevel=1)
        case _:
            thread = threading.Thread(target=_fail, args=(words,))
            thread.start()
            thread.join()
    return "fetched"


@dataclass
class Login:
    """What a service answers, as its page on the web says."""

    token: int


@tool(risk=Risk.READ_ONLY)
async def fetch_login(how: str, ctx: ToolContext) -> Login:
    """Fetch what proves who we are; Retrying is a word of its answer."""
    return Login(f"Retrying {ctx.secret('db')}")  # pyright: ignore[reportArgumentType] -- as pages are


def _fail(words: str) -> None:
    raise ConnectionError(words)


def build(name: str, how: str) -> App:
    """An app whose run calls one of them once."""
    agent = Agent(
        name="it",
        instructions="Fetch the report.",
        models=["scripted:it"],
        tools=[fetch_report, fetch_nearby, fetch_login],
    )
    return App(agents=[agent], scripts={"it": [call(name, how=how), say("done")]})


far_log, far_warn, far_thread = (build("fetch_report", how) for how in ("log", "warn", "thread"))
near_log, near_warn, near_thread = (
    build("fetch_nearby", how) for how in ("log", "warn", "thread")
)
near_type = build("fetch_login", "type")
