"""Reading an address so that what is checked is what is asked: one reader, no second opinion."""

from typing import NamedTuple
from urllib.parse import quote, urlsplit

from holdfast.contracts.errors import ToolError
from holdfast.contracts.patterns import Pattern
from holdfast.tools.egress.allowlists import Origin, parse_origin

MAX_LABEL_CHARS = 63
MAX_HOST_CHARS = 253

_READABLE = Pattern(r"[^\x00-\x20\x7f\\]+")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


class Target(NamedTuple):
    """Where one request goes; `path` is what stands behind the host, with the query."""

    scheme: str
    origin: Origin
    path: str

    @property
    def host(self) -> str:
        """The host's name or address, bare."""
        return self.origin.host

    @property
    def usual_port(self) -> bool:
        """Whether the port goes without saying."""
        return self.origin.port == {"http": 80, "https": 443}[self.scheme]

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.usual_port else f"{host}:{self.origin.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def target(address: str) -> Target:
    """Read an address. Raises ToolError where servers, libraries and people might disagree."""
    origin = parse_origin(address) if _READABLE.fits(address) else None
    if origin is None:
        raise _unreadable(
            address, "it is no plain http:// or https:// address, or a number in disguise"
        )
    labels = origin.host.split(".")
    if len(origin.host) > MAX_HOST_CHARS or max(map(len, labels)) > MAX_LABEL_CHARS:
        raise _unreadable(address, "its host is too long")
    parts = urlsplit(address)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return Target(parts.scheme, origin, quote(path, safe=_VISIBLE))


def _unreadable(address: str, reason: str) -> ToolError:
    return ToolError(
        "permission_denied",
        f"the address {address[:200]!r} can't be asked: {reason}",
        (
            "write it as https://host/path, without user, password, spaces or control characters",
            "write a name with other letters than a-z in its ASCII form (xn--...)",
            "write a number as 192.0.2.1 or [2001:db8::1], and no IPv4 one as IPv6",
        ),
    )
