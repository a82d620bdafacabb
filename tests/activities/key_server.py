"""A server that publishes public keys, as identity providers do."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

from tests.tokens import Signer


def key_set(*signers: Signer) -> str:
    return json.dumps({"keys": [signer.public for signer in signers]})


@dataclass
class KeyServer:
    """Publishes keys over HTTP, and sees who asks."""

    address: str = ""
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    asked: int = 0
    most_at_once: int = 0
    encodings: list[str] = field(default_factory=list[str])
    go_on: Event = field(default_factory=Event)
    _now: int = 0
    _lock: Lock = field(default_factory=Lock)

    def publishes(self, *signers: Signer) -> None:
        self.status, self.body = 200, key_set(*signers).encode()

    def enter(self, encoding: str) -> None:
        with self._lock:
            self.asked += 1
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            self.encodings.append(encoding)

    def leave(self) -> None:
        with self._lock:
            self._now -= 1


@contextmanager
def publishing() -> Generator[KeyServer]:
    """Have the server while the block lasts."""
    published = KeyServer()
    published.go_on.set()

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            published.enter(self.headers.get("accept-encoding", ""))
            published.go_on.wait(300)
            try:
                self.send_response(published.status)
                for name, value in published.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(published.body)))
                self.end_headers()
                self.wfile.write(published.body)
            except ConnectionError:
                pass  # the client has what it wants, or has lost its patience
            finally:
                published.leave()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as listening:
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        published.address = f"http://127.0.0.1:{listening.server_port}/keys"
        try:
            yield published
        finally:
            published.go_on.set()
            listening.shutdown()
            thread.join()
