"""A server that says one recorded answer after the other, whatever it is asked."""

from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from tests.adapters.recordings.exchanges import Exchange


class Replay:
    """`says` is the next answer; `asked` counts the requests for it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked = 0
        self._says: Exchange | None = None

    def say(self, exchange: Exchange) -> None:
        self._says = exchange
        self.asked = 0

    def answer(self) -> Exchange:
        assert self._says
        self.asked += 1
        return self._says


@contextmanager
def replaying() -> Generator[Replay]:
    """Serve on a free port while the block lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        replay = Replay(f"http://127.0.0.1:{http.server_port}")
        http.RequestHandlerClass = _speaking(replay)
        http.daemon_threads = True
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield replay
        finally:
            http.shutdown()
            thread.join()


def _speaking(replay: Replay) -> type[BaseHTTPRequestHandler]:
    class Speaker(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            exchange = replay.answer()
            self.send_response(exchange.status)
            self.send_header("content-type", exchange.content_type)
            self.send_header("content-length", str(len(exchange.raw)))
            if exchange.retry_after:
                self.send_header("retry-after", exchange.retry_after)
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(exchange.raw)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Speaker
