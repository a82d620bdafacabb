"""Names whose servers never answer: of hosts that sandboxed code asks for, and of models' own."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Sequence

import pytest

from holdfast import Agent, App, ChatServer
from holdfast.contracts.errors import ToolError
from holdfast.testing import say
from holdfast.tools.egress.client import Egress
from holdfast.tools.egress.exchange import HttpAnswer, request
from holdfast.tools.egress.names import MAX_LOOK_UPS, look_up_apart
from holdfast.tools.fair_threads import TENANT
from tests.attacks.net import PUBLIC, Net
from tests.running import Runs

NOWHERE = "models.never.example"


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


async def test_no_tenant_takes_all_look_ups(server_answers: threading.Event) -> None:
    """Its code may ask for a granted host, and end, as often as it likes; others still ask."""
    TENANT.set("acme")
    asking = await begin_to_ask(MAX_LOOK_UPS)
    given_up, *_ = asking
    given_up.cancel()
    with pytest.raises(ToolError, match="too many names are being looked up"):
        await ask()
    TENANT.set("globex")
    [other] = await begin_to_ask(1)

    assert not other.done()
    server_answers.set()
    assert await refusal(other) == "internal_error"  # nobody is there
    ends = await asyncio.gather(*asking, return_exceptions=True)
    kinds = Counter(one.type for one in ends if isinstance(one, ToolError))
    assert kinds["rate_limited"] == MAX_LOOK_UPS // 2


@pytest.fixture
async def looked_up(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[list[str]]:
    """The threads in which one name was looked up, which has no answer before the end."""
    look_up, over, threads = socket.getaddrinfo, threading.Event(), list[str]()

    def keep_silent(host: bytes | str, *arguments: int, **more: int) -> Sequence[object]:
        if NOWHERE not in str(host):
            return look_up(host, *arguments, **more)
        threads.append(threading.current_thread().name)
        over.wait()
        raise socket.gaierror(socket.EAI_AGAIN, "no answer")

    monkeypatch.setattr(socket, "getaddrinfo", keep_silent)
    yield threads
    over.set()


async def begun(looked_up: list[str]) -> None:
    async with asyncio.timeout(60):
        while not looked_up:  # noqa: ASYNC110 -- a thread says so
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("server_answers")
async def test_no_client_takes_threads_of_others_for_a_name() -> None:
    """Models, keys, webhooks and probes are asked by clients that have the loop look names up."""
    loop = asyncio.get_running_loop()
    look_up_apart(loop)
    asking = [
        asyncio.create_task(loop.getaddrinfo(f"host-{number}.slow.example", 443))
        for number in range(MAX_LOOK_UPS)
    ]
    await asyncio.sleep(0)  # each goes on until it waits for its name
    async with asyncio.timeout(10):
        assert await asyncio.to_thread(lambda: "done") == "done"
        with pytest.raises(socket.gaierror, match="as many names are being looked up"):
            await loop.getaddrinfo("one-more.slow.example", 443)

    for task in asking:
        task.cancel()


async def test_a_name_is_looked_up_once_for_all_who_wait(looked_up: list[str]) -> None:
    """So one provider's name takes one thread, however many runs try it, and try it again."""
    loop = asyncio.get_running_loop()
    look_up_apart(loop)
    asking = [asyncio.create_task(loop.getaddrinfo(NOWHERE, 443)) for _ in range(2 * MAX_LOOK_UPS)]
    await asyncio.sleep(0)
    for task in asking[1:]:
        task.cancel()
    again = asyncio.create_task(loop.getaddrinfo(NOWHERE, 443))
    await begun(looked_up)
    async with asyncio.timeout(10):
        assert await loop.getaddrinfo("127.0.0.1", 443)

    assert len(looked_up) == 1
    assert not again.done()
    again.cancel()
    asking[0].cancel()


async def test_no_name_of_a_models_server_keeps_others_waiting(
    runs: Runs, looked_up: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One provider's name has no answer; openings, guardrails and sandboxes need threads, too."""
    monkeypatch.setenv("NEVER_KEY", "a-key-of-a-server-that-nobody-finds")
    agent = Agent(name="it", instructions="Be brief.", models=["openai-chat:never/some"])
    servers = {"never": ChatServer(base_url=f"https://{NOWHERE}/v1", key_variable="NEVER_KEY")}
    other = Agent(name="other", instructions="Be brief.", models=["scripted:it"])
    app = App(agents=[agent, other], chat_servers=servers, scripts={"it": [say("done")]})
    async with runs.working(app):
        waiting = await runs.start("it")
        await begun(looked_up)
        theirs = await (await runs.start("other", tenant="acme")).result()
        await waiting.handle.terminate()

    assert theirs.status == "completed"
    assert [name for name in looked_up if name.startswith("asyncio_")] == []
