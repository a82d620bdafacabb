"""A collector of spans on this machine, which answers what a test tells it to."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from holdfast.contracts.base import JsonObject


class Collector(ThreadingHTTPServer):
    """Keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.answer = 200, "{}"
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.messages: list[JsonObject] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["content-length"]))
        collector.paths.append(self.path)
        collector.headers.append(dict(self.headers.items()))
        collector.messages.append(json.loads(body))
        self.send_response(collector.status)
        self.end_headers()
        self.wfile.write(collector.answer.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@contextmanager
def collecting() -> Generator[Collector]:
    """Have a collector listen."""
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()
