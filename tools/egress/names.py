"""Looks names up in threads that nothing else needs: some name servers never answer."""

import asyncio
import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from holdfast.tools.fair_threads import TENANT

MAX_LOOK_UPS = 64
"""
Names that a process looks up at the same time for code in the sandbox, and as many for the rest.

One may take the system a minute and more.
"""

MAX_LOOK_UPS_OF_ONE = MAX_LOOK_UPS // 2
"""Of one tenant: code that is granted a host may ask for it, and end, some times a second."""

Found = TypeVar("Found")

_Host: TypeAlias = bytes | str | None
_Address: TypeAlias = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
_Entry: TypeAlias = tuple[socket.AddressFamily, socket.SocketKind, int, str, _Address]


class LookUpsExhausted(Exception):
    """As many names are being looked up as may be at the same time."""


class Resolver(Protocol):
    """Finds the addresses of a name. Raises OSError where it has none, and LookUpsExhausted."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


class _LookUps(Generic[Found]):
    """
    Look-ups with a thread each, of which there are so many at the same time.

    Whoever gives a look-up up gives up no thread: the system can't be interrupted. So it is none
    of the loop's, on which all tools and decisions depend, and keeps no worker from ending.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._looking = Counter[str]()

    async def run(self, look_up: Callable[[], Found], tenant: str = "") -> Found:
        """Look something up, for a *tenant* alone. Raises what that does, and LookUpsExhausted."""
        if not self._begin(tenant):
            raise LookUpsExhausted
        answer: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        looking = threading.Thread(target=self._run, args=(look_up, answer, tenant), daemon=True)
        try:
            looking.start()
        except RuntimeError:  # the system has no more threads
            self._end(tenant)
            raise LookUpsExhausted from None
        return await answer

    def _begin(self, tenant: str) -> bool:
        most = MAX_LOOK_UPS_OF_ONE if tenant else MAX_LOOK_UPS
        with self._lock:
            begins = self._looking.total() < MAX_LOOK_UPS and self._looking[tenant] < most
            if begins:
                self._looking[tenant] += 1
        return begins

    def _end(self, tenant: str) -> None:
        with self._lock:
            self._looking[tenant] -= 1
            if not self._looking[tenant]:
                del self._looking[tenant]

    def _run(
        self, look_up: Callable[[], Found], answer: asyncio.Future[Found], tenant: str
    ) -> None:
        try:
            tell = partial(_tell, answer, look_up())
        except (OSError, ValueError, OverflowError, TypeError) as error:
            tell = partial(_tell_error, answer, error)
        finally:
            self._end(tenant)
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            answer.get_loop().call_soon_threadsafe(tell)


def _tell(answer: asyncio.Future[Found], found: Found) -> None:
    if not answer.done():  # or it was given up
        answer.set_result(found)


def _tell_error(answer: asyncio.Future[Found], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


_OF_THE_SANDBOX = _LookUps[Sequence[str]]()


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """Ask the system's resolver, for code in the sandbox."""
    return await _OF_THE_SANDBOX.run(partial(_find_addresses, host, port), TENANT.get())


def _find_addresses(host: str, port: int) -> Sequence[str]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in entries]


def look_up_apart(loop: asyncio.AbstractEventLoop) -> None:
    """
    Have whoever connects to a name on this loop look it up in such a thread.

    Python takes one of the loop's own. These are few: one provider without a name server would
    have no run of anybody begin or end.
    """
    with contextlib.suppress(AttributeError):  # a loop that isn't Python's has other threads
        loop.getaddrinfo = _SharedLookUps().getaddrinfo


class _SharedLookUps:
    """Look-ups of a loop: whoever wants to know the same waits for the one that is under way."""

    def __init__(self) -> None:
        self._threads = _LookUps[list[_Entry]]()
        self._under_way: dict[object, asyncio.Task[list[_Entry]]] = {}

    async def getaddrinfo(
        self,
        host: _Host,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[_Entry]:
        asked = (host, port, family, type, proto, flags)
        if asked not in self._under_way:
            looking = asyncio.create_task(self._threads.run(lambda: socket.getaddrinfo(*asked)))
            looking.add_done_callback(lambda _: self._under_way.pop(asked))
            self._under_way[asked] = looking
        try:
            return await asyncio.shield(self._under_way[asked])
        except LookUpsExhausted:
            raise socket.gaierror(
                socket.EAI_AGAIN, "as many names are being looked up as may be at the same time"
            ) from None
