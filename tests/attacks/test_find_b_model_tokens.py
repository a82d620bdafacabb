"""Found: a token that a provider's SDK was given for its own identity isn't known as a secret."""

import asyncio
import gzip
import json
import os
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from threading import Event, Thread

import pytest

from holdfast import Agent, App, Budget, ModelSettings
from tests.adapters.provider_server import point_adapters_at
from tests.attacks.test_secrets import histories, texts
from tests.running import Runs

TOKEN = "federated-9f8e7d6c5b4a3f2e1d0c"


class Quoting(BaseHTTPRequestHandler):
    """Gives a token to who proves itself, and quotes it to who asks with it."""

    quote: Callable[[str], str] = str

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/oauth/token"):
            return self._say(200, {"access_token": TOKEN, "expires_in": 600})
        token = self.headers["authorization"].removeprefix("Bearer ")
        said = f"this token is no good: {type(self).quote(token)}"
        return self._say(400, {"error": {"type": "invalid_request_error", "message": said}})

    def _say(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def quoting(quote: Callable[[str], str]) -> Generator[str]:
    handler = type("Handler", (Quoting,), {"quote": staticmethod(quote)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()
            thread.join()


QUOTES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "base64": lambda token: b64encode(token.encode()).decode(),
    "hex": lambda token: token.encode().hex(),
}


@pytest.mark.parametrize("quote", QUOTES.values(), ids=QUOTES)
async def test_a_token_of_a_federated_identity_stays_in_the_worker(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quote: Callable[[str], str]
) -> None:
    """The SDK changes the worker's identity for a token, and a server quotes that."""
    with quoting(quote) as address:
        point_adapters_at(address, "", tmp_path, monkeypatch)
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN", "the-identity-of-this-worker")
        monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")
        monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "org-1")
        agent = Agent(name="it", instructions="Be brief.", models=["anthropic:claude-sonnet-5"])
        async with runs.working(App(agents=[agent])):
            run = await runs.start("it")
            result = await run.result()
            whole = "\n".join(text for one in await histories(runs, run) for text in texts(one))

    assert result.status == "failed"
    assert "this token is no good" in whole
    assert quote(TOKEN) not in whole


class Bomb(Quoting):
    """Gives an answer in place of a token that unpacks to a thousand times its size."""

    packed = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-encoding", "gzip")
        self.send_header("content-length", str(len(self.packed)))
        self.end_headers()
        self.wfile.write(self.packed)


async def test_no_answer_in_place_of_a_token_unpacks(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK asks for it by a client of its own, for which nothing that is bounded applies."""
    zeros = 400 * 2**20
    monkeypatch.setattr(Bomb, "packed", gzip.compress(bytes(zeros), 1))
    with ThreadingHTTPServer(("127.0.0.1", 0), Bomb) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        point_adapters_at(f"http://127.0.0.1:{http.server_port}", "", tmp_path, monkeypatch)
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN", "the-identity-of-this-worker")
        monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")
        monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "org-1")
        settings = ModelSettings(patience=0)
        agent = Agent(
            name="it",
            instructions="Be brief.",
            models=["anthropic:claude-sonnet-5"],
            settings=settings,
            budget=Budget(max_model_retries=0),
        )
        before = getrusage(RUSAGE_SELF).ru_maxrss
        try:
            async with runs.working(App(agents=[agent])):
                await (await runs.start("it")).result()
        finally:
            http.shutdown()
            thread.join()
    grown = (getrusage(RUSAGE_SELF).ru_maxrss - before) * 1024

    assert grown < zeros / 2


class Dripping(Quoting):
    """Gives a token byte by byte, as long as anybody listens."""

    over = Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "1000000")
        self.end_headers()
        while not self.over.wait(1):
            self.wfile.write(b" ")
            self.wfile.flush()


async def test_no_wait_for_a_token_takes_the_threads_of_others(
    runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one agent wait for its provider; the end of each sandbox needs a thread, too."""
    number = min(32, (os.cpu_count() or 1) + 4)  # as many as a loop has
    monkeypatch.setattr(Dripping, "over", over := Event())
    with ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as http:
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        point_adapters_at(f"http://127.0.0.1:{http.server_port}", "", tmp_path, monkeypatch)
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        monkeypatch.setenv("ANTHROPIC_IDENTITY_TOKEN", "the-identity-of-this-worker")
        monkeypatch.setenv("ANTHROPIC_FEDERATION_RULE_ID", "fdrl_1")
        monkeypatch.setenv("ANTHROPIC_ORGANIZATION_ID", "org-1")
        agent = Agent(name="it", instructions="Be brief.", models=["anthropic:claude-sonnet-5"])
        try:
            async with runs.working(App(agents=[agent])):
                waiting = [await runs.start("it") for _ in range(number)]
                for one in waiting:
                    while not (await one.status()).in_flight:  # noqa: ASYNC110 -- it is elsewhere
                        await asyncio.sleep(0.1)
                await asyncio.sleep(2)  # whatever shall be waited for is waited for by now
                free = asyncio.create_task(asyncio.to_thread(int))
                done, _ = await asyncio.wait({free}, timeout=20)
                for one in waiting:
                    await one.handle.terminate()
                over.set()
        finally:
            over.set()
            http.shutdown()
            thread.join()

    assert done == {free}
