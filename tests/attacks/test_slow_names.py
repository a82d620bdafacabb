"""Names whose servers never answer, asked for by code in the sandbox, as often as it likes."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Sequence

import pytest

from holdfast.contracts.errors import ToolError
from holdfast.tools.egress.client import Egress
from holdfast.tools.egress.exchange import HttpAnswer, request
from holdfast.tools.egress.names import MAX_LOOK_UPS
from tests.attacks.net import PUBLIC, Net


@pytest.fixture
async def server_answers(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[threading.Event]:
    """Until this is set nobody who looks a name up hears anything."""
    answers = threading.Event()

    def look_up(*_: object, **__: object) -> Sequence[object]:
        answers.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (PUBLIC, 80))]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    yield answers
    answers.set()


async def ask(number: int = 0) -> HttpAnswer:
    wanted = request("GET", f"http://host-{number}.slow.example/")
    return await Egress(connect=Net().connect).ask(wanted, ["*.slow.example"])


async def begin_to_ask(times: int) -> list[asyncio.Task[HttpAnswer]]:
    asking = [asyncio.create_task(ask(number)) for number in range(times)]
    await asyncio.sleep(0)  # each goes on until it waits for its name
    return asking


async def refusal(asking: asyncio.Task[HttpAnswer]) -> str:
    with pytest.raises(ToolError) as raised:
        await asking
    return raised.value.type


@pytest.mark.usefixtures("server_answers")
async def test_who_looks_names_up_takes_no_threads_of_others() -> None:
    """Tools, key files and guardrails have the loop's threads, however many names are slow."""
    asking = await begin_to_ask(40)  # the loop's own threads are 32 at most
    async with asyncio.timeout(10):
        assert await asyncio.to_thread(lambda: "done") == "done"

    for task in asking:
        task.cancel()


async def test_look_ups_are_bounded(server_answers: threading.Event) -> None:
    """One that was given up counts until its thread has ended; who comes then is told at once."""
    given_up, *asking = await begin_to_ask(MAX_LOOK_UPS)
    given_up.cancel()

    with pytest.raises(ToolError, match="too many names are being looked up") as raised:
        await ask()
    assert raised.value.type == "rate_limited"

    server_answers.set()
    assert {await refusal(task) for task in asking} == {"internal_error"}  # nobody is there
    with pytest.raises(ToolError, match="All connection attempts failed"):
        await ask()
