"""Which authorities stand now: those in the file beside a policy that haven't expired."""

import asyncio
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from holdfast.contracts.errors import HoldfastError
from holdfast.event_log import log
from holdfast.policy.document import parse_authorities
from holdfast.policy.rules import Authority

MAX_FILE_BYTES = 1_000_000
"""Bytes; more than any file of authorities has."""

_READERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="authorities")
"""Threads of their own, as for keys."""


class AuthorityFile:
    """
    The authorities of a policy, read whenever something is decided or begins.

    What can't be read stands no more: rules that rest on it don't fit then. Without a file there
    are none.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._read_from: tuple[int, ...] = ()
        self._known: tuple[Authority, ...] = ()
        self._problem = ""

    async def find_standing(self, now: datetime) -> tuple[Authority, ...]:
        """Return those that stand."""
        if self._path is None:
            return ()
        known = await asyncio.get_running_loop().run_in_executor(_READERS, self._read, self._path)
        return tuple(one for one in known if now < one.expires)

    def _read(self, path: Path) -> tuple[Authority, ...]:
        try:
            found = path.stat()
            if found.st_mode & stat.S_IWOTH:
                return self._report(f"everybody may write {path}: chmod o-w {path}")
            version = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
            if version != self._read_from:
                with path.open(encoding="utf-8-sig") as file:
                    self._known = parse_authorities(file.read(MAX_FILE_BYTES), str(path))
                self._read_from = version
        except OSError as error:
            return self._report(f"{path}: {error.strerror}")
        except UnicodeDecodeError:
            return self._report(f"{path} is no text in UTF-8")
        except HoldfastError as error:
            return self._report(str(error))
        self._problem = ""
        return self._known

    def _report(self, problem: str) -> tuple[Authority, ...]:
        """Say once what is wrong; nothing stands meanwhile."""
        if problem != self._problem:
            log.warning("authorities.unreadable", problem=problem, effect="none stands")
        self._problem, self._read_from = problem, ()
        return ()
