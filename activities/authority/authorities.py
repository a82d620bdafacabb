"""Which authorities stand now: those in the file beside a policy that haven't expired."""

import asyncio
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from holdfast.contracts.errors import HoldfastError
from holdfast.event_log import log
from holdfast.policy.document import parse_authorities
from holdfast.policy.rules import Authority

MAX_FILE_CHARS = 1_000_000
"""Characters; more than any file of authorities has."""

_READERS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="authorities")
"""Threads of their own, as for keys."""


class _Kept(NamedTuple):
    """What a file held, and which it was."""

    version: tuple[int, ...]
    authorities: tuple[Authority, ...]


_NOTHING = _Kept((), ())


class AuthorityFile:
    """
    The authorities of a policy, read whenever something is decided or begins.

    What can't be read stands no more: rules that rest on it don't fit then. Without a file there
    are none. Of one that has expired no clock that is set back makes one that stands.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._kept = _NOTHING
        self._problem = ""
        self._expired = frozenset[Authority]()

    async def find_standing(self, now: datetime) -> tuple[Authority, ...]:
        """Return those that stand."""
        if self._path is None:
            return ()
        known = await asyncio.get_running_loop().run_in_executor(_READERS, self._read, self._path)
        self._expired |= {one for one in known if one.expires <= now}
        return tuple(one for one in known if one not in self._expired)

    def _read(self, path: Path) -> tuple[Authority, ...]:
        try:
            file_status = path.stat()
            if file_status.st_mode & stat.S_IWOTH:
                return self._report(f"everybody may write {path}: chmod o-w {path}")
            version = _version(file_status)
            kept = self._kept
            if version != kept.version:
                with path.open(encoding="utf-8-sig") as file:
                    text = file.read(MAX_FILE_CHARS + 1)  # cut, one would be for more
                found = parse_authorities(text, str(path))
                # At once: another thread may have read what was there before.
                self._kept = kept = _Kept(version, found)
        except OSError as error:
            return self._report(f"{path}: {error.strerror}")
        except UnicodeDecodeError:
            return self._report(f"{path} is no text in UTF-8")
        except HoldfastError as error:
            return self._report(str(error))
        self._problem = ""
        return kept.authorities

    def _report(self, problem: str) -> tuple[Authority, ...]:
        """Say once what is wrong; nothing stands meanwhile."""
        if problem != self._problem:
            log.warning("authorities.unreadable", problem=problem, effect="none stands")
        self._problem, self._kept = problem, _NOTHING
        return ()


def _version(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
