"""People outside learn that a run waits, by a webhook that proves whom it is from."""

import asyncio
import base64
import dataclasses
import hashlib
import hmac
import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
from temporalio.exceptions import ApplicationError

from holdfast.activities import webhooks
from holdfast.activities.notifications import NotificationActivities, Undelivered, Webhook
from holdfast.activities.webhooks import WebhookMessenger, sign
from holdfast.contracts.errors import AppError, HoldfastError
from holdfast.contracts.journal import Notice
from tests.asking import in_run
from tests.builders import FIRST, LATER, NOW

KEY = bytes(range(32))
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"


@dataclass
class Got:
    """What came to the server."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Listener:
    """A server that people read their notices at; it answers what a test wants."""

    address: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict[str, str])
    got: list[Got] = field(default_factory=list[Got])
    go_on: Event = field(default_factory=Event)


@contextmanager
def listening() -> Generator[Listener]:
    """Have the server while the block lasts."""
    listener = Listener()
    listener.go_on.set()

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            listener.got.append(Got(self.path, headers, body))
            listener.go_on.wait(300)
            try:
                self.send_response(listener.status)
                for name, value in listener.headers.items():
                    self.send_header(name, value)
                self.end_headers()
            except ConnectionError:
                pass  # the client has lost its patience

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        listener.address = f"http://127.0.0.1:{server.server_port}/hooks/s3cr3t-path"
        try:
            yield listener
        finally:
            listener.go_on.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def listener() -> Generator[Listener]:
    with listening() as found:
        yield found


def a_notice(**changes: object) -> Notice:
    fields: dict[str, object] = {
        "run_id": "run-1",
        "first_execution_run_id": FIRST,
        "agent": "support",
        "tenant": "acme",
        "request_id": "req-1",
        "kind": "escalation",
        "reason": "All model fallbacks exhausted",
        "requested_at": NOW,
        "expires_at": LATER,
    }
    return Notice.model_validate({**fields, **changes})


class Waiting:
    """A run that waits, or doesn't any more."""

    def __init__(self, *, waits: bool = True) -> None:
        self._waits = waits

    async def waits_for(self, request_id: str) -> bool:
        return self._waits


async def notify(url: str, notice: Notice | None = None, *, at: float = 1_614_265_330.9) -> None:
    """Tell somebody, as a run does."""
    messenger = WebhookMessenger(Webhook(url=url, secret="hook"), lambda _: SECRET, lambda: at)
    told = notice or a_notice()
    await in_run(told.run_id).run(NotificationActivities(messenger, Waiting()).notify, told)


async def refused(url: str) -> ApplicationError:
    """What the activity fails with."""
    with pytest.raises(ApplicationError) as raised:
        await notify(url)
    assert raised.value.__cause__ is None
    assert "s3cr3t-path" not in str(raised.value)
    return raised.value


def test_the_signature_is_that_of_the_specification() -> None:
    """The published example of the specification's own libraries comes out to the letter."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    headers = sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', key)

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


async def test_a_notice_arrives_signed(listener: Listener) -> None:
    """It is JSON of the recommended shape, and its signature covers id, time and body."""
    await notify(listener.address)

    [got] = listener.got
    assert got.path == "/hooks/s3cr3t-path"
    assert json.loads(got.body) == {
        "type": "request.opened",
        "timestamp": "2026-03-01T12:00:00Z",
        "data": json.loads(a_notice().model_dump_json()),
    }
    assert got.headers["content-type"] == "application/json"
    assert got.headers["webhook-id"] == f"{FIRST}/req-1"
    assert got.headers["webhook-timestamp"] == "1614265330"
    said = f"{FIRST}/req-1.1614265330.".encode() + got.body
    mac = base64.b64encode(hmac.new(KEY, said, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{mac}"


async def test_an_attempt_more_is_the_same_message(listener: Listener) -> None:
    """Whoever gets it twice knows by its id; only the time of the attempt is another."""
    await notify(listener.address, at=100)
    await notify(listener.address, at=160)

    first, second = listener.got
    assert (first.body, first.headers["webhook-id"]) == (second.body, second.headers["webhook-id"])
    assert [got.headers["webhook-timestamp"] for got in listener.got] == ["100", "160"]
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


async def test_a_name_of_a_run_forges_no_message(listener: Listener) -> None:
    """Whoever starts a run names it; no name gets into a header, or is another run's."""
    await notify(listener.address, a_notice(run_id="run.2\r\nx: y"))
    await notify(listener.address, a_notice(run_id="run-1", first_execution_run_id="0190-other"))

    told = [got.headers["webhook-id"] for got in listener.got]
    assert told == [f"{FIRST}/req-1", "0190-other/req-1"]


@pytest.mark.parametrize(
    ("attempt", "waits", "told"), [(1, False, 1), (2, True, 1), (2, False, 0)]
)
async def test_nobody_is_told_late_of_what_is_decided(
    listener: Listener, attempt: int, told: int, *, waits: bool
) -> None:
    """Before it is tried again a notice must still be true."""
    messenger = WebhookMessenger(Webhook(url=listener.address, secret="hook"), lambda _: SECRET)
    asking = in_run("run-1")
    asking.info = dataclasses.replace(asking.info, attempt=attempt)

    await asking.run(NotificationActivities(messenger, Waiting(waits=waits)).notify, a_notice())

    assert len(listener.got) == told


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_success_is_one(listener: Listener, status: int) -> None:
    """Every status of 2xx means that somebody has it."""
    listener.status = status
    await notify(listener.address)

    assert len(listener.got) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "final"),
    [
        (302, False),
        (400, True),
        (401, True),
        (404, True),
        (408, False),
        (410, True),
        (429, False),
        (499, True),
        (500, False),
        (503, False),
    ],
)
async def test_what_a_failure_means(listener: Listener, status: int, *, final: bool) -> None:
    """What may pass is tried again by Temporal; what the other side refuses for good isn't."""
    listener.status, listener.headers = status, {"location": "/elsewhere"}

    error = await refused(listener.address)

    assert (error.type, error.non_retryable, len(listener.got)) == ("Undelivered", final, 1)
    origin = listener.address.partition("//")[2].partition("/")[0]
    assert error.message == f"the webhook at {origin} answers with {status}"


@pytest.mark.parametrize(
    ("said", "wait"),
    [("7", 7), ("3600", 3600), ("90000", 3600), ("0.001", 1), ("0", 1), ("x", None)],
)
async def test_the_wait_that_is_asked_for_is_kept(
    listener: Listener, said: str, wait: int | None
) -> None:
    """From a second up to an hour; what makes no sense says nothing."""
    listener.status, listener.headers = 429, {"retry-after": said}

    error = await refused(listener.address)

    assert error.next_retry_delay == (None if wait is None else timedelta(seconds=wait))


async def test_a_webhook_that_is_silent_is_given_up(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One attempt has its time; then Temporal tries another."""
    monkeypatch.setattr(webhooks, "TIMEOUT_SECONDS", 0.05)
    listener.go_on.clear()

    error = await refused(listener.address)

    assert not error.non_retryable
    assert "doesn't answer within" in error.message


async def test_a_webhook_that_hangs_keeps_few_places(listener: Listener) -> None:
    """A worker has a hundred, for the calls of all runs; what isn't posted now is tried again."""
    listener.go_on.clear()
    messenger = WebhookMessenger(Webhook(url=listener.address, secret="hook"), lambda _: SECRET)
    posting = [
        asyncio.create_task(messenger.deliver(a_notice(request_id=f"req-{number}")))
        for number in range(webhooks.MAX_AT_ONCE)
    ]
    await asyncio.sleep(0)  # each has begun
    with pytest.raises(Undelivered) as raised:
        await messenger.deliver(a_notice())
    listener.go_on.set()
    await asyncio.gather(*posting)
    await messenger.deliver(a_notice())

    assert not raised.value.final
    assert "on their way" in str(raised.value)
    assert len(listener.got) == webhooks.MAX_AT_ONCE + 1


async def test_a_webhook_that_is_away_is_tried_again() -> None:
    """Where nobody listens the failure says so, without the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    error = await refused(f"http://127.0.0.1:{port}/hooks/s3cr3t-path")

    assert (error.message, error.non_retryable) == (
        f"the webhook at 127.0.0.1:{port} can't be reached (ConnectError)",
        False,
    )


async def test_a_notice_is_of_the_run_that_asks(listener: Listener) -> None:
    """Nobody else can have people told of a request that isn't there."""
    hook = Webhook(url=listener.address, secret="hook")
    messenger = WebhookMessenger(hook, lambda _: SECRET)

    with pytest.raises(ApplicationError, match="in the name of another one"):
        await in_run("run-2").run(NotificationActivities(messenger, Waiting()).notify, a_notice())

    assert listener.got == []


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/s3cr3t-path",
        "https://hooks.example.com:8443/",
        "http://localhost:8000/x",
        "http://127.0.0.1/x",
        "http://[::1]:9/x",
    ],
)
def test_an_address_is_https_or_this_machine(url: str) -> None:
    """These can be used, and their path isn't shown."""
    hook = Webhook(url=url, secret="hook")

    assert hook.url == url
    assert "/" not in str(hook.origin)
    assert url not in repr(hook)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://hooks.example.com/s3cr3t", "must begin with https://"),
        ("http://localhost.example.com/s3cr3t", "must begin with https://"),
        ("http://10.0.0.1/s3cr3t", "must begin with https://"),
        ("https://ann:s3cr3t@example.com/", "without a name or password"),
        ("ftp://example.com/s3cr3t", "can't be used"),
        ("hooks.example.com/s3cr3t", "can't be used"),
        ("https:///s3cr3t", "can't be used"),
        ("https://[s3cr3t", "can't be used"),
        ("https://example.com/s3cr3t\n", "can't be used"),
        ("", "can't be used"),
    ],
)
def test_any_other_address_is_refused(url: str, said: str) -> None:
    """An app with such a webhook isn't defined; the error doesn't repeat the address."""
    with pytest.raises(AppError, match=said) as raised:
        Webhook(url=url, secret="hook")

    assert "s3cr3t" not in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1


def secret_of(length: int) -> str:
    return f"whsec_{base64.b64encode(bytes(length)).decode()}"


@pytest.mark.parametrize(
    "secret",
    [
        "correct horse battery staple",
        base64.b64encode(KEY).decode(),
        f"whsec_{base64.b64encode(KEY).decode()[:-1]}",
        "whsec_not in base64 at all, is it not",
        "whsec_pr\u00fcfen" * 8,
        secret_of(23),
        secret_of(65),
    ],
)
def test_a_secret_that_signs_nothing_is_refused(secret: str) -> None:
    """The worker doesn't start with one; the error says how to make it, and not what it is."""
    with pytest.raises(HoldfastError, match="secret 'hook' signs no webhook: make it") as raised:
        WebhookMessenger(Webhook(url="http://localhost/", secret="hook"), lambda _: secret)

    assert secret not in str(raised.value)


@pytest.mark.parametrize("length", [24, 64])
def test_a_key_at_its_bounds_signs(length: int) -> None:
    """24 to 64 bytes, as the specification has it."""
    hook = Webhook(url="http://localhost/", secret="hook")
    assert WebhookMessenger(hook, lambda _: secret_of(length))


async def test_a_secret_can_be_rotated(listener: Listener) -> None:
    """It is read for each notice; one that went missing fails the attempt and not for ever."""
    secrets = [SECRET, SECRET, secret_of(24)]
    hook = Webhook(url=listener.address, secret="hook")
    messenger = WebhookMessenger(hook, lambda _: secrets.pop(0))
    activities = NotificationActivities(messenger, Waiting())

    await in_run("run-1").run(activities.notify, a_notice())
    await in_run("run-1").run(activities.notify, a_notice())

    one, other = (got.headers["webhook-signature"] for got in listener.got)
    assert one != other
