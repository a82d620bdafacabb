"""
Notices as webhooks, signed so that whoever gets them knows whom they are from.

The format is that of the Standard Webhooks specification, version 1.0.0
(https://www.standardwebhooks.com), so that libraries in any language verify it.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TypeAlias

import httpx
from pydantic_core import to_json

from holdfast.activities.notifications import Undelivered, Webhook
from holdfast.adapters import retry_after
from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.journal import Notice
from holdfast.contracts.texts import escape_invisible_json
from holdfast.tools.context import SecretSource
from holdfast.tools.network.clients import open_client
from holdfast.tools.network.pace import UnacceptableResponse

Clock: TypeAlias = Callable[[], float]

TIMEOUT_SECONDS = 10.0
"""Seconds for one attempt, from looking up the host to the answer's status."""

MIN_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 3600.0
"""Seconds that the other side may ask us to wait: a person waits for the notice."""

MAX_AT_ONCE = 10
"""Notices that a worker posts at once: one that waits for a receiver has a place of its calls."""

MIN_KEY_BYTES, MAX_KEY_BYTES = 24, 64
"""Bytes of a signing key, as the specification has them."""

EVENT = "request.opened"

_PREFIX = "whsec_"
_TRANSIENT_STATUSES = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
_CLIENT_ERRORS = range(400, 500)


class WebhookMessenger:
    """
    Posts notices to a webhook.

    The secret is read for each notice, so that it can be rotated. Raises HoldfastError at once
    where there is none, or it is no signing key.
    """

    def __init__(self, webhook: Webhook, secret: SecretSource, clock: Clock = time.time) -> None:
        self._webhook = webhook
        self._secret = secret
        self._clock = clock
        self._posting = 0
        self._read_key()

    async def deliver(self, notice: Notice) -> None:
        """
        Post a notice once; raises Undelivered for any answer but a success (2xx).

        So it does where MAX_AT_ONCE are on their way: the next attempt may find room.
        """
        if self._posting >= MAX_AT_ONCE:
            raise Undelivered(
                f"{MAX_AT_ONCE} notices are on their way to the webhook at {self._webhook.origin}"
            )
        self._posting += 1
        try:
            await self._deliver(notice)
        finally:
            self._posting -= 1

    async def _deliver(self, notice: Notice) -> None:
        body = render_body(notice)
        headers = {
            "content-type": "application/json",
            **sign(message_id(notice), int(self._clock()), body, self._read_key()),
        }
        answer = await self._post(body, headers)
        if answer.is_success:
            return
        raise Undelivered(
            f"the webhook at {self._webhook.origin} answers with {answer.status_code}",
            final=answer.status_code in _CLIENT_ERRORS
            and answer.status_code not in _TRANSIENT_STATUSES,
            retry_after=_wait(answer),
        )

    async def _post(self, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """Post, and read nothing of the answer but its head. No error has the address in it."""
        url, shown = self._webhook.url, self._webhook.origin
        # Only this machine is asked without TLS, and no proxy for it.
        client = open_client(TIMEOUT_SECONDS, trust_env=url.startswith("https:"))
        try:
            async with (
                asyncio.timeout(TIMEOUT_SECONDS),
                client,
                client.stream("POST", url, content=body, headers=headers) as answer,
            ):
                return answer
        except (TimeoutError, httpx.TimeoutException):
            raise Undelivered(
                f"the webhook at {shown} doesn't answer within {TIMEOUT_SECONDS:.0f} s"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnacceptableResponse) as error:
            raise Undelivered(
                f"the webhook at {shown} can't be reached ({type(error).__name__})"
            ) from None

    def _read_key(self) -> bytes:
        name = self._webhook.secret
        said = self._secret(name)
        try:
            key = base64.b64decode(said.removeprefix(_PREFIX), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if not said.startswith(_PREFIX) or not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
            raise HoldfastError(
                f"secret {name!r} signs no webhook: make it {_PREFIX!r} and {MIN_KEY_BYTES} to "
                f"{MAX_KEY_BYTES} random bytes in base64"
            )
        return key


def render_body(notice: Notice) -> bytes:
    """Return what is posted: the same bytes for every attempt."""
    said = to_json({"type": EVENT, "timestamp": notice.requested_at, "data": notice})
    return escape_invisible_json(said.decode()).encode()


def message_id(notice: Notice) -> str:
    """
    Return the id of a notice: the same for every attempt, another for every request.

    A dot ends the id where it is signed. None is in it: nobody outside chose a part of it.
    """
    return f"{notice.first_execution_run_id}/{notice.request_id}"


def sign(message: str, timestamp: int, body: bytes, key: bytes) -> dict[str, str]:
    """Return the headers that say whom a message is from; *timestamp* is that of this attempt."""
    mac = hmac.new(key, f"{message}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(mac.digest()).decode()}",
    }


def _wait(answer: httpx.Response) -> float | None:
    wait = retry_after.seconds(answer.headers, datetime.now(UTC))
    return None if wait is None else min(max(wait, MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)
