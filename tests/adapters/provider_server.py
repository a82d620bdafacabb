"""A local server that speaks the wire format of every provider, as strict as the real ones."""

import json
import select
import socket
import time
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import Literal, NamedTuple

import pytest

from holdfast.adapters.openai_chat.servers import GATEWAY_VARIABLE
from holdfast.contracts.base import JsonObject
from tests.adapters.dialects import DIALECTS
from tests.adapters.rules.strict import Event, KeepsMore, Page, Rules, Understood

Breaking = Literal["cut", "end", "stall", "pause"]
"""
How a stream breaks: the connection drops, the body just ends, or nothing more is said.

A stall ends when the test has set `hanging_up`. Behind a pause it goes on, as soon as the test has
set `going_on`.
"""

NO_JSON = b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n'
NO_UTF8 = b'event: content_block_delta\ndata: {"type": "\xff\xfe"}\n\n'
NO_OBJECT = b'event: content_block_delta\ndata: ["content_block_delta"]\n\n'
"""Garbled events, of a name that no SDK skips."""

JSON_TYPE = "application/json"
JSON = {"content-type": JSON_TYPE}
STREAM = {"content-type": "text/event-stream; charset=utf-8"}
LONGEST_SILENCE = 30.0


class Received(NamedTuple):
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: JsonObject
    method: str = "POST"
    content: bytes = b""


class Break(NamedTuple):
    """
    A stream goes wrong after so many of its events, with some last words.

    An answer that isn't streamed goes wrong after so many bytes.
    """

    how: Breaking
    after: int = 0
    last: Event | bytes = b""


class Answer(NamedTuple):
    """What the server says next, and after how many seconds."""

    status: int
    headers: Mapping[str, str]
    body: JsonObject | str
    delay: float = 0.0
    breaks: Break | None = None

    @property
    def may_stream(self) -> bool:
        """Whether it goes out as a stream where one is asked for: a good answer does."""
        return self.status == 200 and self.headers.get("x-unstreamed") is None


class ProviderServer:
    """
    Answers with what was queued, but only requests that the provider would take.

    `rules` may be exchanged, for a server with peculiarities. `silent` is set while a client is
    kept waiting, `disconnected` as soon as one goes away before it has all of its answer.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[Received] = []
        known = [(dialect, dialect.rules()) for dialect in DIALECTS.values()]
        self.rules: dict[str, Rules] = {rules.path: rules for _, rules in known}
        self._keys = {rules.path: dialect.key for dialect, rules in known}
        self.silent = Flag()
        self.disconnected = Flag()
        self.closing = Flag()
        self.going_on = Flag()
        self.hanging_up = Flag()
        self._answers: deque[Answer] = deque()

    def answer(
        self,
        body: JsonObject | str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        delay: float = 0.0,
        breaks: Break | None = None,
    ) -> None:
        """
        Queue an answer: a whole response as an object, or text as it is.

        A request that asks for a stream gets the object as the provider would stream it, except
        with the header `x-unstreamed`. Text is sent with the content type of *headers*.
        """
        kind = {"content-type": "text/html"} if isinstance(body, str) else JSON
        self._answers.append(Answer(status, kind | dict(headers or {}), body, delay, breaks))

    def stream(self, text: str, content_type: str = STREAM["content-type"]) -> None:
        """Queue a stream of events as it was recorded."""
        self._answers.append(Answer(200, {"content-type": content_type}, text))

    def take(self, received: Received) -> Answer:
        """Note a request, and find its answer."""
        self.requests.append(received)
        if page := self._page(received):
            return Answer(page.status, JSON, page.body)
        if not self._answers:
            return Answer(418, JSON, _error("the test has queued no answer to this request"))
        answer = self._answers.popleft()
        if answer.status == 200 and isinstance(answer.body, dict):
            self._rules_of(received.path).issued(answer.body)
        return answer

    def events(self, path: str, response: JsonObject) -> Iterable[Event]:
        """Return a response as the events that stream it."""
        return self._rules_of(path).events(response)

    def asks_for_stream(self, received: Received) -> bool:
        """Whether a request is one for a reply that comes in pieces."""
        rules = self._find_rules(received.path)
        return rules is not None and rules.streams(received.path, received.body)

    def understand(self, received: Received) -> Understood:
        """Say what a request asks for."""
        return self._rules_of(received.path).understand(received.body)

    def _page(self, received: Received) -> Page | None:
        """Answer what no queued answer is for: a bad request, or one that isn't for a reply."""
        if not any(rules.has_key(received.headers) for rules in self._asked(received)):
            return _refusal("no key")
        if self._is_with_key_of_another(received):
            return _refusal("the key of another provider")
        if received.method == "POST" and received.headers.get("content-type") != JSON_TYPE:
            return _refusal("not JSON")
        for rules in self.rules.values():
            if isinstance(rules, KeepsMore):
                page = rules.page(received.method, received.path, received.body)
                if page:
                    return page
        rules = self._find_rules(received.path)
        if received.method != "POST" or rules is None:
            return Page(_error(f"nothing at {received.method} {received.path}"), 404)
        problem = rules.problem(received.path, received.headers, received.body)
        return _refusal(problem) if isinstance(problem, str) else problem

    def _is_with_key_of_another(self, received: Received) -> bool:
        rules = self._find_rules(received.path)
        others = set(self._keys.values()) - {self._keys[rules.path]} if rules else set[str]()
        return any(key in value for key in others for value in received.headers.values())

    def _asked(self, received: Received) -> Iterable[Rules]:
        """Return whose key a request may have: where it isn't for a reply, anybody's."""
        rules = self._find_rules(received.path)
        return (rules,) if rules else self.rules.values()

    def _rules_of(self, path: str) -> Rules:
        rules = self._find_rules(path)
        assert rules, f"nobody serves {path}"
        return rules

    def _find_rules(self, path: str) -> Rules | None:
        return next((rules for end, rules in self.rules.items() if path.endswith(end)), None)


def _refusal(problem: str) -> Page:
    return Page(_error(problem), 400)


def _error(message: str) -> JsonObject:
    error: JsonObject = {"type": "invalid_request_error", "message": message}
    return {"type": "error", "error": error}


def point_adapters_at(address: str, home: Path, patch: pytest.MonkeyPatch) -> None:
    """Let the adapters find a server as they find the real one, and no other credentials."""
    for dialect in DIALECTS.values():
        for variable in (*dialect.adapter().credentials, *dialect.more_variables):
            patch.delenv(variable, raising=False)
    for dialect in DIALECTS.values():
        patch.setenv(dialect.key_variable, dialect.key)
        patch.setenv(dialect.address_variable, address + dialect.root)
        patch.setenv(GATEWAY_VARIABLE, "1")  # it does what OpenAI does
    patch.setenv("HOME", str(home))
    patch.setenv("NO_PROXY", "127.0.0.1")


@contextmanager
def serving() -> Generator[ProviderServer]:
    """Serve on a free port while the block lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as http:
        server = ProviderServer(f"http://127.0.0.1:{http.server_port}")
        http.RequestHandlerClass = partial(Speaker, server)
        http.daemon_threads = True
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            http.shutdown()
            thread.join()


class Speaker(BaseHTTPRequestHandler):
    """Speaks HTTP for the server, one connection for each request."""

    protocol_version = "HTTP/1.1"

    def __init__(
        self,
        provider: ProviderServer,
        connection: socket.socket,
        address: tuple[str, int],
        http: ThreadingHTTPServer,
    ) -> None:
        self.provider = provider
        super().__init__(connection, address, http)

    def do_GET(self) -> None:
        self._answer(b"")

    def do_DELETE(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the tests look at `requests`."""

    def _answer(self, content: bytes) -> None:
        body: JsonObject = json.loads(content or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, body, self.command, content)
        answer = self.provider.take(received)
        streamed = answer.may_stream and self.provider.asks_for_stream(received)
        try:
            self._keep_silent(answer.delay)
            if isinstance(answer.body, dict) and streamed:
                self._stream(answer, self.provider.events(self.path, answer.body))
            else:
                self._whole(answer)
        except ConnectionError:
            self.provider.disconnected.set()

    def _whole(self, answer: Answer) -> None:
        text = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        content = text.encode()
        self._begin(answer, {**answer.headers, "content-length": str(len(content))})
        self.wfile.write(content[: answer.breaks.after] if answer.breaks else content)
        self._break(answer.breaks)

    def _stream(self, answer: Answer, events: Iterable[Event]) -> None:
        self._begin(answer, {**answer.headers, **STREAM, "transfer-encoding": "chunked"})
        breaks, left = answer.breaks, iter(events)
        for event in islice(left, breaks.after if breaks else None):
            self._chunk(_sse(event))
        if breaks and breaks.how == "pause":
            while not self.provider.going_on.is_set():
                self._keep_silent(0.02)
            breaks = None
            for event in left:
                self._chunk(_sse(event))
        if breaks:
            self._chunk(_sse(breaks.last) if isinstance(breaks.last, Event) else breaks.last)
        if not breaks or breaks.how == "end":
            self.wfile.write(b"0\r\n\r\n")
        self._break(breaks)

    def _break(self, breaks: Break | None) -> None:
        if breaks and breaks.how == "stall":
            self._keep_silent(LONGEST_SILENCE)

    def _begin(self, answer: Answer, headers: Mapping[str, str]) -> None:
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _keep_silent(self, seconds: float) -> None:
        """Wait, until the client has enough of it."""
        until = time.monotonic() + seconds
        ends = (self.provider.closing, self.provider.hanging_up)
        while time.monotonic() < until and not any(flag.is_set() for flag in ends):
            self.provider.silent.set()
            heard, _, _ = select.select([self.connection], [], [], 0.01)
            if heard and not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionAbortedError


def _sse(event: Event) -> bytes:
    name = f"event: {event.name}\n" if event.name else ""
    data = json.dumps(event.data) if event.text is None else event.text
    return f"{name}data: {data}\n\n".encode()
