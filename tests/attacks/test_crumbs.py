"""Attacks by whoever a worker asks: answers of nothing, without end, that take its loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.activities import webhooks
from holdfast.activities.authority import keys
from holdfast.activities.authority.keys import Keys
from holdfast.activities.notifications import Undelivered, Webhook
from holdfast.activities.webhooks import WebhookMessenger
from holdfast.contracts.errors import AnswerLost, ToolError
from holdfast.policy.signatures import KeyClaim
from holdfast.policy.trust import Issuer
from holdfast.tools.egress.client import Timeouts
from holdfast.tools.egress.exchange import request
from holdfast.tools.network import pace
from holdfast.tools.network.clients import open_client
from holdfast.tools.network.pace import UnacceptableResponse
from tests.activities.test_notifications import SECRET, a_notice
from tests.attacks.net import PUBLIC, Net, Serve
from tests.attacks.servers import serving
from tests.counting import count_calls

pytestmark = pytest.mark.usefixtures("waits")

EVERYBODY = ("*",)
PATIENT = 300.0
PATIENCE = Timeouts(total=PATIENT, connect=PATIENT)
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
PROMISES = b"HTTP/1.1 103 Early Hints\r\n\r\n" * 5_000
HEADERS = b"HTTP/1.1 103 Early Hints\r\n" + b"a:b\r\n" * 9_000 + b"\r\n"
CRUMBS = b"1\r\ny\r\n" * 20_000

ENDLESS = pytest.mark.parametrize(
    ("begin", "more", "said"),
    [
        pytest.param(HEAD, CRUMBS, "smaller pieces", id="crumbs"),
        pytest.param(b"", PROMISES, "never begins", id="promises"),
        pytest.param(b"", HEADERS, "never begins", id="headers of promises"),
    ],
)


@pytest.fixture(autouse=True)
def few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand are enough to see that they are counted; a busy machine is waited for."""
    monkeypatch.setattr(pace, "MAX_SMALL_PIECES", 2_000)
    monkeypatch.setattr(keys, "TIMEOUT_SECONDS", PATIENT)
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", PATIENT)


def endless(begin: bytes, more: bytes) -> Serve:
    """A server that sends the same for as long as anybody listens."""

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(begin)
        while True:
            writer.write(more)
            await writer.drain()

    return serve


@asynccontextmanager
async def turns() -> AsyncGenerator[Callable[[], int]]:
    """Count the turns that others have on the loop."""
    had = 0

    async def others() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    yield lambda: had
    waiting.cancel()


@ENDLESS
async def test_no_granted_host_keeps_the_loop(begin: bytes, more: bytes, said: str) -> None:
    """What it sends is counted, and others have their turn while it is taken."""
    net = Net()
    async with net.serving(endless(begin, more)), turns() as had:
        with pytest.raises(ToolError, match=said):
            await net.egress(PATIENCE).ask(request("GET", f"http://{PUBLIC}/"), EVERYBODY)

        assert had() >= 30


@ENDLESS
async def test_a_write_that_is_answered_so_may_have_happened(
    begin: bytes, more: bytes, said: str
) -> None:
    """The host has heard it: nobody takes it for undone."""
    net = Net()
    async with net.serving(endless(begin, more)):
        with pytest.raises(AnswerLost, match=said):
            await net.egress(PATIENCE).ask(request("POST", f"http://{PUBLIC}/"), EVERYBODY)


async def test_a_large_answer_comes_whole_however_its_lines_are() -> None:
    """Lines of a body cost nothing, and pieces of five hundred bytes are no crumbs."""
    piece = b"1;2;3\r\n" * 72
    chunks = b"%x\r\n%s\r\n" % (len(piece), piece) * 1_900

    async def serve(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + chunks + b"0\r\n\r\n")
        await writer.drain()

    net = Net()
    async with net.serving(serve):
        answer = await net.egress(PATIENCE).ask(request("GET", f"http://{PUBLIC}/"), EVERYBODY)

    assert answer.body == piece * 1_900


@ENDLESS
async def test_a_client_of_the_workers_own_gives_up(begin: bytes, more: bytes, said: str) -> None:
    """Whatever reads by it reads at its pace."""
    async with (
        serving(endless(begin, more)) as address,
        open_client(PATIENT, trust_env=False) as client,
        turns() as had,
    ):
        with pytest.raises(UnacceptableResponse, match=said):
            await client.get(address)

        assert had() >= 30


async def test_a_flood_is_read_no_faster_than_its_share(waits: list[float]) -> None:
    """Whoever reads waits for seconds: one whom a tool asks, and one whom the worker asks."""
    flood = endless(b"", HEADERS)
    net = Net()
    async with net.serving(flood):
        with pytest.raises(ToolError, match="never begins"):
            await net.egress(PATIENCE).ask(request("GET", f"http://{PUBLIC}/"), EVERYBODY)
    of_tools = max(waits)
    waits.clear()
    async with serving(flood) as address, open_client(PATIENT, trust_env=False) as client:
        with pytest.raises(UnacceptableResponse, match="never begins"):
            await client.get(address)

    assert min(of_tools, max(waits)) > 1


async def test_no_server_of_keys_keeps_the_loop(tmp_path: Path) -> None:
    """An answer that never begins is why its keys count for nothing."""
    async with serving(endless(b"", PROMISES)) as address:
        issuer = Issuer(issuer="https://idp.example", jwks=address)
        trusted = await Keys([issuer], None, tmp_path / "none").find_issuers(
            {KeyClaim(issuer.issuer, "idp-1")}
        )

    assert trusted[-1].problem == f"{address}: an answer that never begins"


async def test_no_receiver_of_notices_keeps_the_loop() -> None:
    """An answer that never begins is a notice that wasn't delivered."""
    async with serving(endless(b"", PROMISES)) as address:
        messenger = WebhookMessenger(Webhook(url=address, secret="hook"), lambda _: SECRET)
        with pytest.raises(Undelivered, match="can't be reached"):
            await messenger.deliver(a_notice())


def test_no_notice_reads_the_authorities_again() -> None:
    """That takes 25 ms of the loop, and a hundred runs may ask for people at once."""
    open_client(1.0, trust_env=True)

    assert count_calls(lambda: open_client(1.0, trust_env=True), "create_default_context") == 0
