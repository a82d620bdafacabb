"""Found: names of models' servers that are never looked up take the threads of all others."""

import asyncio
import os
import socket
import threading
from collections.abc import Generator

import pytest

from holdfast import Agent, App, ChatServer, ModelSettings
from holdfast.testing import say
from tests.running import Runs

NOWHERE = "models.never.example"


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Generator[threading.Event]:
    """The servers of one name keep silent, until somebody says that it is enough."""
    look_up, event = socket.getaddrinfo, threading.Event()

    def keep_silent(host: object, *arguments: object, **more: object) -> object:
        if host in {NOWHERE, NOWHERE.encode()}:
            event.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return look_up(host, *arguments, **more)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(socket, "getaddrinfo", keep_silent)
    monkeypatch.setenv("NEVER_KEY", "a-key-of-a-server-that-nobody-finds")
    yield event
    event.set()


async def test_no_name_of_a_models_server_takes_the_threads_of_others(
    runs: Runs, released: threading.Event
) -> None:
    """One provider's name has no answer; openings, guardrails and sandboxes need threads, too."""
    number = min(32, (os.cpu_count() or 1) + 4) + 2  # more than a loop has
    agent = Agent(
        name="it",
        instructions="Be brief.",
        models=["openai-chat:never/some"],
        settings=ModelSettings(patience=0),
    )
    servers = {"never": ChatServer(base_url=f"https://{NOWHERE}/v1", key_variable="NEVER_KEY")}
    other = Agent(name="other", instructions="Be brief.", models=["scripted:it"])
    app = App(agents=[agent, other], chat_servers=servers, scripts={"it": [say("done")]})
    async with runs.working(app):
        waiting = [await runs.start("it") for _ in range(number)]
        await asyncio.sleep(8)  # longer than a connection to a provider may take to come about
        theirs = asyncio.create_task((await runs.start("other", tenant="acme")).result())
        free = asyncio.create_task(asyncio.to_thread(int))
        done, _ = await asyncio.wait({free, theirs}, timeout=20)
        released.set()
        for one in waiting:
            await one.handle.terminate()
        await theirs

    assert done == {free, theirs}
