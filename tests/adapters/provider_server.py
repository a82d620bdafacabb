"""A local server that speaks Anthropic Messages and OpenAI Responses, and is strict about both."""

import json
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

from contracts.base import JsonObject
from tests.adapters import wire_rules


class Received(NamedTuple):
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject


class Answer(NamedTuple):
    """What the server says next, and after how many seconds."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    delay: float


class ProviderServer:
    """Answers with what was queued, but only requests that the provider would take."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[Received] = []
        self._answers: deque[Answer] = deque()

    def answer(
        self,
        body: JsonObject | str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
    ) -> None:
        """Queue an answer: an object as JSON, text as it is."""
        text = body if isinstance(body, str) else json.dumps(body)
        kind = "text/html" if isinstance(body, str) else "application/json"
        queued = {"content-type": kind} | dict(headers or {})
        self._answers.append(Answer(status, queued, text.encode(), delay))

    def take(self, received: Received) -> Answer:
        """Note a request, and find its answer."""
        self.requests.append(received)
        problem = wire_rules.problem(received.path, received.headers, received.body)
        if problem:
            error = {"type": "invalid_request_error", "code": None, "message": problem}
            body = json.dumps({"type": "error", "error": error}).encode()
            return Answer(400, {"content-type": "application/json"}, body, 0.0)
        return self._answers.popleft()


@contextmanager
def serving() -> Generator[ProviderServer]:
    """Serve on a free port while the block lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        server = ProviderServer(f"http://127.0.0.1:{http.server_port}")
        http.RequestHandlerClass = _speaking(server.take)
        http.daemon_threads = True
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()


def _speaking(take: Callable[[Received], Answer]) -> type[BaseHTTPRequestHandler]:
    class Speaker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = take(Received(self.path, headers, json.loads(body)))
            time.sleep(answer.delay)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the tests look at `requests`."""

    return Speaker
