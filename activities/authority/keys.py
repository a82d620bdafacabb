"""Whose signatures count now: the public keys of people and of identity providers."""

import asyncio
import math
import stat
import time
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

import httpx

from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import AppError
from holdfast.event_log import log
from holdfast.policy.signatures import MAX_JWKS_BYTES, KeyClaim, parse_jwks
from holdfast.policy.trust import LOCAL_ISSUER, Issuer, TrustedIssuer, is_address
from holdfast.tools.network.clients import open_client

FRESH_SECONDS = 300.0
"""Seconds for which fetched keys are used without asking again."""

STALE_SECONDS = 3600.0
"""Seconds after which they aren't used any more, even if no others can be had."""

UNKNOWN_KEY_PAUSE_SECONDS = 60.0
"""Seconds between two fetches because of an unknown key: anybody can name one."""

RETRY_SECONDS = 10.0
"""Seconds between two fetches that failed."""

TIMEOUT_SECONDS = 3.0
"""Seconds that a provider has to answer; a run waits for it."""

_PLAIN = {"accept": "application/json", "accept-encoding": "identity"}


class KeysUnavailable(Exception):
    """A set of keys can't be had; the message says why, and ends up in a refusal."""


class Keys:
    """
    The keys of everybody whose signatures count, read when something of theirs is judged.

    *approvers* are the keys of people who sign on their own (`holdfast keys trust`), *issuers*
    those that the policy names, *folder* is where it lies. Files are read each time, so that a key
    that was removed counts no more.
    """

    def __init__(
        self,
        issuers: Sequence[Issuer],
        folder: Path | None,
        approvers: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        names = [LOCAL_ISSUER, *(issuer.issuer for issuer in issuers)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise AppError(
                f"issuer {twice!r} is there twice: name each identity provider once, and none "
                f"{LOCAL_ISSUER!r}, which vouches for people's own keys"
            )
        folder = folder or Path()
        local = Issuer(issuer=LOCAL_ISSUER, jwks=str(approvers))
        self._sources: tuple[_Source, ...] = (
            _JwksFile(local, approvers, may_be_missing=True),
            *(
                _JwksEndpoint(issuer, clock)
                if is_address(issuer.jwks)
                else _JwksFile(issuer, folder / issuer.jwks)
                for issuer in issuers
            ),
        )

    async def find_issuers(self, claims: AbstractSet[KeyClaim]) -> tuple[TrustedIssuer, ...]:
        """Return all issuers, those of the keys that somebody claims to have used with keys."""
        if not claims:
            return tuple(TrustedIssuer(source.issuer, ()) for source in self._sources)
        found = await asyncio.gather(*(_read_issuer(source, claims) for source in self._sources))
        return tuple(found)


async def _read_issuer(source: "_Source", claims: AbstractSet[KeyClaim]) -> TrustedIssuer:
    kids = {claim.kid for claim in claims if claim.issuer == source.issuer.issuer}
    if not kids:
        return TrustedIssuer(source.issuer, ())
    try:
        return TrustedIssuer(source.issuer, await source.keys(kids))
    except KeysUnavailable as error:
        return TrustedIssuer(source.issuer, (), str(error))


_READERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="keys")
"""Threads of their own: long texts that others read in the loop's keep no approval waiting."""


class _Source(Protocol):
    @property
    def issuer(self) -> Issuer: ...
    async def keys(self, kids: set[str], /) -> tuple[JsonObject, ...]: ...


@dataclass(frozen=True)
class _JwksFile:
    """Keys in a file."""

    issuer: Issuer
    path: Path
    may_be_missing: bool = False

    async def keys(self, _: set[str], /) -> tuple[JsonObject, ...]:
        return await asyncio.get_running_loop().run_in_executor(_READERS, self._read)

    def _read(self) -> tuple[JsonObject, ...]:
        try:
            if self.path.stat().st_mode & stat.S_IWOTH:
                raise KeysUnavailable(f"everybody may write {self.path}: chmod o-w {self.path}")
            with self.path.open("rb") as file:
                return parse_jwks(file.read(MAX_JWKS_BYTES + 1))
        except FileNotFoundError:
            if self.may_be_missing:
                return ()
            raise KeysUnavailable(f"there is no file {self.path}") from None
        except OSError as error:
            raise KeysUnavailable(f"{self.path}: {error.strerror}") from None
        except ValueError as error:
            raise KeysUnavailable(f"{self.path}: {error}") from None


class _JwksEndpoint:
    """Keys that a provider publishes. One request at a time, and few of them."""

    def __init__(self, issuer: Issuer, clock: Callable[[], float]) -> None:
        self.issuer = issuer
        self._clock = clock
        self._turn = asyncio.Lock()
        self._keys: tuple[JsonObject, ...] = ()
        self._fetched_at = self._asked_at = -math.inf
        self._problem = ""

    async def keys(self, kids: set[str], /) -> tuple[JsonObject, ...]:
        async with self._turn:
            if self._is_refresh_due(kids):
                await self._refresh()
            if self._problem and self._clock() - self._fetched_at >= STALE_SECONDS:
                raise KeysUnavailable(self._problem)
            return self._keys

    def _is_refresh_due(self, kids: set[str]) -> bool:
        now = self._clock()
        if self._problem:
            return now - self._asked_at >= RETRY_SECONDS
        if now - self._fetched_at >= FRESH_SECONDS:
            return True
        unknown = kids.difference(str(key.get("kid")) for key in self._keys)
        return bool(unknown) and now - self._asked_at >= UNKNOWN_KEY_PAUSE_SECONDS

    async def _refresh(self) -> None:
        self._asked_at = self._clock()
        try:
            self._keys = await _fetch(self.issuer.jwks)
        except KeysUnavailable as error:
            self._problem = str(error)
            log.warning("keys.unreadable", issuer=self.issuer.issuer, problem=self._problem)
        else:
            self._problem, self._fetched_at = "", self._clock()
            log.info("keys.fetched", issuer=self.issuer.issuer, keys=len(self._keys))


async def _fetch(address: str) -> tuple[JsonObject, ...]:
    """Fetch a set of keys; raises Unreadable for whatever comes instead."""
    # Only loopback has no TLS, and no proxy is asked for it.
    client = open_client(TIMEOUT_SECONDS, trust_env=address.startswith("https:"))
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            client,
            client.stream("GET", address, headers=_PLAIN) as response,
        ):
            if response.status_code != HTTPStatus.OK:
                raise KeysUnavailable(f"{address} answers with {response.status_code}")
            return parse_jwks(await _body(response))
    except TimeoutError:
        raise KeysUnavailable(f"{address} doesn't answer within {TIMEOUT_SECONDS:.0f} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise KeysUnavailable(f"{address}: {error or type(error).__name__}") from None


async def _body(response: httpx.Response) -> bytes:
    """Read no more than may be there. It comes as it is: what is packed could be a bomb."""
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_JWKS_BYTES:
            break
    return body
