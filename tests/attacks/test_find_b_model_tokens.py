"""Found: a token that a provider's SDK was given for its own identity isn't known as a secret."""

import json
from base64 import b64encode
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from holdfast import Agent, App
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


@pytest.mark.parametrize(
    "quote",
    [str, lambda token: b64encode(token.encode()).decode(), lambda token: token.encode().hex()],
    ids=["as it is", "base64", "hex"],
)
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
        agent = Agent(
            name="it", instructions="Be brief.", models=["anthropic:claude-sonnet-5"]
        )
        async with runs.working(App(agents=[agent])):
            run = await runs.start("it")
            result = await run.result()
            whole = "\n".join(text for one in await histories(runs, run) for text in texts(one))

    assert result.status == "failed"
    assert "this token is no good" in whole
    assert quote(TOKEN) not in whole
