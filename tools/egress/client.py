"""Asks granted hosts, at the public addresses that were checked, and nobody else."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import NamedTuple

import httpcore
import httpx

from holdfast.contracts.calls import ErrorType
from holdfast.contracts.errors import AnswerLost, ToolError
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.texts import clip_chars, one_line
from holdfast.tools.egress.addresses import is_public
from holdfast.tools.egress.allowlists import HARMLESS_METHODS, matches_host
from holdfast.tools.egress.exchange import MAX_BODY_BYTES, HttpAnswer, HttpRequest
from holdfast.tools.egress.names import LookUpsExhausted, Resolver, system_addresses
from holdfast.tools.egress.pinned import Connector, PinnedBackend, connect_address
from holdfast.tools.egress.targets import Target, target
from holdfast.tools.network.connections import PacedBackend, begin_body
from holdfast.tools.network.pace import Pieces, UnacceptableResponse

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_SIGNS = Pattern(r"[^a-z0-9]+")
_TOKEN = Pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = Pattern(r"[\x20-\x7e\t]*")
_MAX_VALUE_CHARS = 8_000

# What frames the message is ours to say, and whom it is for is said by the address alone.
_RESERVED_HEADERS = frozenset(
    {"host", "contentlength", "transferencoding", "te", "trailer", "connection", "keepalive"}
    | {"upgrade", "http2settings", "expect", "acceptencoding"}
)

# What servers and what stands before them take for the method, the address or the host, in place
# of those that were decided about. Such names are made up anew, so they are known by their shape.
_OTHERWISE = frozenset({"forwarded", "destination", "xhost", "xmethod", "xurl", "xuri", "xpath"})
_OTHERWISE_BEGINNINGS = ("xforwarded", "xenvoy", "xhttp", "proxy")
_OTHERWISE_WORDS = ("original", "rewrite", "override")

_NO_ANSWER = (
    TimeoutError,
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    ssl.SSLError,  # of what comes once a connection stands: the library passes it on
    UnacceptableResponse,
)


@cache
def build_ssl_context() -> ssl.SSLContext:
    """Verify servers by the usual authorities; SSL_CERT_FILE may name others."""
    return httpx.create_ssl_context()


class Timeouts(NamedTuple):
    """How long a request may take, in seconds: altogether, and for one connection."""

    total: float
    connect: float


TIMEOUTS = Timeouts(total=30.0, connect=10.0)


class Egress:
    """
    Asks on behalf of a sandboxed tool. Every refusal is a ToolError that the model can read.

    The parameters are for tests: nothing in them lets a private address pass.
    """

    def __init__(
        self,
        resolve: Resolver = system_addresses,
        connect: Connector = connect_address,
        patience: Timeouts = TIMEOUTS,
        trust: Callable[[], ssl.SSLContext] = build_ssl_context,
    ) -> None:
        self._resolve = resolve
        self._connect = connect
        self._patience = patience
        self._trust = trust

    async def ask(self, request: HttpRequest, hosts: Sequence[str]) -> HttpAnswer:
        """
        Ask one of the granted *hosts*, and follow nowhere: only what was asked was decided.

        Raises ToolError where nothing was done, and AnswerLost where something may have been.
        """
        _check(request)
        where, pinned = target(request.url), None
        _require_listing(where, hosts)
        try:
            async with asyncio.timeout(self._patience.total):
                pinned = PinnedBackend(await self._addresses(where), self._connect)
                async with self._response(pinned, request, where) as response:
                    return await _read(response)
        except _NO_ANSWER as error:
            if pinned is not None and _may_have_been_sent(request, pinned, error):
                raise AnswerLost(
                    f"{request.method} was sent to {where.origin}, and the answer didn't come "
                    f"whole: {self._why(error)}"
                ) from None
            raise self._explain_silence(where, error) from None

    def _why(self, error: Exception) -> str:
        match error:
            case TimeoutError():
                return f"no whole answer within {self._patience.total:g} s"
            case httpcore.TimeoutException():
                return "it doesn't answer"
            case UnacceptableResponse():
                return f"what it sends can't be taken ({error})"
            case _:
                return clip_chars(one_line(str(error)), 300)

    def _explain_silence(self, where: Target, error: Exception) -> ToolError:
        if isinstance(error, TimeoutError):
            return ToolError("timeout", self._why(error), ("try again later", "ask for less"))
        late = isinstance(error, httpcore.TimeoutException)
        return _unreachable(where, self._why(error), "timeout" if late else "internal_error")

    async def _addresses(self, where: Target) -> Sequence[str]:
        try:
            found = await self._resolve(where.host, where.origin.port)
        except (OSError, UnicodeError):
            found = ()
        except LookUpsExhausted:
            raise _unreachable(
                where, "too many names are being looked up", "rate_limited"
            ) from None
        if not found:
            raise _unreachable(where, "its name has no address", "not_found")
        if not all(map(is_public, found)):
            # Not told which: who asks may not learn what lies in our network.
            raise _build_refusal(
                f"the host {where.origin} is no public one: what lies in a private network can't "
                "be asked",
                "ask a public host",
            )
        return found

    @asynccontextmanager
    async def _response(
        self, pinned: PinnedBackend, request: HttpRequest, where: Target
    ) -> AsyncGenerator[httpcore.Response]:
        secure = self._trust() if where.scheme == "https" else None
        url = httpcore.URL(
            scheme=where.scheme,
            host=where.host.encode("ascii"),
            port=None if where.usual_port else where.origin.port,
            target=where.path.encode("ascii"),
        )
        async with (
            httpcore.AsyncConnectionPool(
                ssl_context=secure, network_backend=PacedBackend(pinned)
            ) as pool,
            pool.stream(
                request.method,
                url,
                headers=_headers(request, where),
                content=request.body or None,
                extensions={"timeout": {"connect": self._patience.connect}},
            ) as response,
        ):
            yield response


def _check(request: HttpRequest) -> None:
    if request.method not in METHODS:
        raise _build_refusal(
            f"the method {request.method!r} can't be used", f"use {', '.join(METHODS)}"
        )
    for name, value in request.headers.items():
        fits = len(value) <= _MAX_VALUE_CHARS and _VALUE.fits(value)
        if not fits or not _TOKEN.fits(name):
            raise _build_refusal(
                f"the header {name[:100]!r} can't be sent",
                "use letters, digits and dashes in names, and one line of ASCII as a value",
            )
        if _says_otherwise(name):
            raise _build_refusal(f"the header {name!r} is not the caller's to set", "leave it out")
    if request.body and request.method in HARMLESS_METHODS:
        raise _build_refusal(
            f"a {request.method} has no body, in which a server might find another method",
            "put it into the address",
            "use POST",
        )


def _says_otherwise(name: str) -> bool:
    """Whether a header says what is ours to say, to servers that read letters alone too."""
    read = _SIGNS.sub("", name.lower())
    return (
        read in _RESERVED_HEADERS | _OTHERWISE
        or read.startswith(_OTHERWISE_BEGINNINGS)
        or any(word in read for word in _OTHERWISE_WORDS)
    )


def _require_listing(where: Target, hosts: Sequence[str]) -> None:
    if not matches_host(where.origin, hosts):
        granted = ", ".join(hosts) or "none"
        raise _build_refusal(
            f"the host {where.origin} isn't on the list (listed: {granted})",
            "ask a listed host",
            "ask a person to list this host in the policy",
        )


def _headers(request: HttpRequest, where: Target) -> list[tuple[str, str]]:
    usual = {"user-agent": "holdfast", "accept": "*/*"}
    given = {name.lower(): value for name, value in request.headers.items()}
    framed = {"host": where.authority, "accept-encoding": "identity", "connection": "close"}
    if request.body or request.method in {"POST", "PUT", "PATCH"}:
        framed["content-length"] = str(len(request.body))
    return [*framed.items(), *{**usual, **given}.items()]


def _may_have_been_sent(request: HttpRequest, pinned: PinnedBackend, error: Exception) -> bool:
    """Whether a server may have done what nobody can take for undone: the line to it stood."""
    unconnected = isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout)
    return pinned.connected and not unconnected and request.method not in HARMLESS_METHODS


async def _read(response: httpcore.Response) -> HttpAnswer:
    """Read up to the limit, and as it came: nothing is unpacked here that might explode."""
    body, truncated = bytearray(), False
    pieces = Pieces(begin_body(response.extensions))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] -- the library leaves it open
    async for chunk in response.aiter_stream():
        await pieces.take(chunk)
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            truncated = True
            break
    headers: dict[str, str] = {}
    for name, value in response.headers:
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {said}" if key in headers else said
    return HttpAnswer(
        status=response.status,
        headers=headers,
        body=bytes(body[:MAX_BODY_BYTES]),
        truncated=truncated,
    )


def _build_refusal(reason: str, *actions: str) -> ToolError:
    return ToolError("permission_denied", reason, actions)


def _unreachable(where: Target, reason: str, kind: ErrorType = "internal_error") -> ToolError:
    return ToolError(
        kind, f"the host {where.origin} can't be asked: {reason}", ("try again later",)
    )
