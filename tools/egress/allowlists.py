"""Whether a command or a host is on a list: the same words for the policy and for the sandbox."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

from holdfast.contracts.patterns import Pattern
from holdfast.tools.egress.addresses import hides_ipv4

ANY = "*"
"""The entry that lists everything."""

HARMLESS_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods of requests that change nothing: made again, they do no more."""

DEFAULT_PORTS = {"http": 80, "https": 443}

_NAME = Pattern(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_ENTRY = Pattern(r"(\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(\d{1,5}))?")
_BEGINNING = Pattern(r"[hH][tT][tT][pP][sS]?://[A-Za-z0-9._:\[\]-]+(?:[/?#]|$)")
"""Of an address; in other letters of a host Python's reader takes quadratic time."""

_NUMBER = Pattern(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")
"""A host that readers take for an address, in whatever form; no name ends like that."""

_INVISIBLE = Pattern(r"[\x00-\x20\x7f]")


class Origin(NamedTuple):
    """Where a request goes: a host in lower case and without a last dot, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port in DEFAULT_PORTS.values() else f"{host}:{self.port}"


def parse_origin(address: str) -> Origin | None:
    """
    Return where a request to an address (URL) goes, or null where readers could disagree.

    Only http and https. Names with other than ASCII letters are read in their ASCII form only,
    and addresses that are numbers in their usual one: each has one form in which lists have it.
    """
    if _INVISIBLE.found_in(address) or not _BEGINNING.beginning(address):
        return None
    try:
        parts = urlsplit(address)
        host, port = _normalize_host(parts.hostname or ""), parts.port
    except ValueError:
        return None
    if host is None:
        return None
    port = DEFAULT_PORTS[parts.scheme] if port is None else port
    return Origin(host, port) if port else None


def is_command_entry(entry: str) -> bool:
    """
    Whether an entry can list a command: words that begin with a program, or a star alone.

    No program has a star in its name, nor a slash behind it: neither stands for all in a folder.
    """
    program, *words = entry.split() or ("",)
    is_program = bool(program) and ANY not in program and not program.endswith("/")
    return entry == ANY or (is_program and ANY not in words)


def is_host_entry(entry: str) -> bool:
    """Whether an entry can list a host: `host`, `*.suffix`, `*`, each with `:port` or without."""
    return _parse_entry(entry) is not None


def matches_command(command: Sequence[str], entries: Iterable[str]) -> bool:
    """Whether the first words of a command are the words of an entry."""
    for entry in entries:
        words = entry.split()
        if command and words and (words == [ANY] or list(command[: len(words)]) == words):
            return True
    return False


def matches_host(origin: Origin, entries: Iterable[str]) -> bool:
    """
    Whether a host is an entry, or lies below the suffix of an entry `*.suffix`.

    An entry without a port lists the usual ports 80 and 443.
    """
    parsed = filter(None, map(_parse_entry, entries))
    return any(_matches_origin(entry, origin, _DEFAULT_PORTS) for entry in parsed)


def host_is_forbidden(origin: Origin, entries: Iterable[str]) -> bool:
    """Whether a host is on a list that forbids: an entry without a port means all of them."""
    parsed = filter(None, map(_parse_entry, entries))
    return any(_matches_origin(entry, origin, {origin.port}) for entry in parsed)


class _Entry(NamedTuple):
    host: str
    port: int | None


_DEFAULT_PORTS = frozenset(DEFAULT_PORTS.values())


def _parse_entry(entry: str) -> _Entry | None:
    found = _ENTRY.fullmatch(entry.lower())
    if found is None:
        return None
    _, host, said = found.groups
    if not host.startswith(ANY):
        plain = _normalize_host(host.strip("[]"))
        if plain is None:
            return None
        host = plain
    if not said:
        return _Entry(host, None)
    port = int(said)
    return _Entry(host, port) if 0 < port <= 65_535 else None  # noqa: PLR2004 -- the last


def _matches_origin(entry: _Entry, origin: Origin, unsaid: AbstractSet[int]) -> bool:
    """Whether an entry means a host; one without a port means those that are *unsaid*."""
    if origin.port not in (unsaid if entry.port is None else {entry.port}):
        return False
    if entry.host.startswith("*."):
        # With its dot, so that neither the bare suffix nor a longer name ends with it.
        return origin.host.endswith(entry.host[1:])
    return entry.host in {ANY, origin.host}


def _normalize_host(host: str) -> str | None:
    name = host.lower().removesuffix(".")
    try:
        if ":" in host:
            address = IPv6Address(host)
            return None if address.scope_id or hides_ipv4(address) else str(address)
        if _NUMBER.fits(name):
            return str(IPv4Address(name))
    except ValueError:
        return None
    return name if _NAME.fits(name) else None
