"""Looks names up in threads that nothing else needs: some name servers never answer."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Sequence
from typing import Protocol

MAX_LOOK_UPS = 64
"""Names that a process looks up at the same time. One may take the system a minute and more."""

_SLOTS = threading.BoundedSemaphore(MAX_LOOK_UPS)


class LookUpsExhausted(Exception):
    """As many names are being looked up as may be at the same time."""


class Resolver(Protocol):
    """Finds the addresses of a name. Raises OSError where it has none, and LookUpsExhausted."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


async def system_addresses(host: str, port: int) -> Sequence[str]:
    """
    Ask the system's resolver.

    Whoever gives a look-up up gives up no thread: the system can't be interrupted. So each has one
    of its own, never one of the loop's, on which all tools and decisions depend; their number is
    bounded, and none keeps a worker from ending.
    """
    if not _SLOTS.acquire(blocking=False):
        raise LookUpsExhausted
    answer = asyncio.get_running_loop().create_future()
    looking = threading.Thread(target=_look_up, args=(host, port, answer), daemon=True)
    try:
        looking.start()
    except RuntimeError:  # the system has no more threads
        _SLOTS.release()
        raise LookUpsExhausted from None
    return await answer


def _look_up(host: str, port: int, answer: asyncio.Future[Sequence[str]]) -> None:
    found: Sequence[str] | Exception
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        found = [str(entry[4][0]) for entry in entries]
    except (OSError, UnicodeError) as error:
        found = error
    finally:
        _SLOTS.release()
    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
        answer.get_loop().call_soon_threadsafe(_tell, answer, found)


def _tell(answer: asyncio.Future[Sequence[str]], found: Sequence[str] | Exception) -> None:
    if answer.done():
        return  # given up
    if isinstance(found, Exception):
        answer.set_exception(found)
    else:
        answer.set_result(found)
