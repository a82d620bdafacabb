"""The archive: what outlives the histories of a server."""

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Lock, Thread
from typing import BinaryIO, Protocol, TypeVar
from uuid import uuid4

from holdfast.tools.fair_threads import FairThreads

SCHEME = "file:"

READ_TIMEOUT = timedelta(minutes=1)
WRITE_TIMEOUT = timedelta(minutes=10)
"""Until an archive that doesn't answer counts as one that can't be used."""

BUSY_TIMEOUT = timedelta(seconds=2)
"""
So long those wait that come when many wait already: sessions open and close in places that others
need for whatever they decide.
"""

MAX_PATIENT = 20
"""Of the hundred such places."""

_THREADS = 8
"""Reads and writes at a time; where a mount hangs each keeps its thread until that is back."""

Result = TypeVar("Result")


class Archive(Protocol):
    """Keeps bytes under names, which are paths of safe parts, below a folder of this machine."""

    @property
    def folder(self) -> Path: ...

    async def read(self, path: str) -> bytes | None:
        """Return what lies under a path, or null where nothing does."""
        ...

    async def has(self, path: str) -> bool:
        """Whether something lies under a path."""
        ...

    async def write(self, path: str, content: bytes) -> None:
        """Keep something under a path: all of it, or what was there before."""
        ...

    async def write_pieces(self, path: str, pieces: AsyncIterable[bytes]) -> None:
        """Keep what comes in pieces under a path, as `write` does; raises what *pieces* raises."""
        ...


class DirectoryArchive:
    """
    An archive in a directory, which nobody but this user reads, nor its names. Raises OSError.

    A folder that is there already is left as open as it is. One on a mount that hangs keeps
    threads of its own alone, and nobody waits for it longer than a time limit, nor many so long.
    """

    def __init__(
        self,
        folder: Path,
        *,
        read_timeout: timedelta = READ_TIMEOUT,
        write_timeout: timedelta = WRITE_TIMEOUT,
        busy_timeout: timedelta = BUSY_TIMEOUT,
    ) -> None:
        self.folder = folder
        self._read_timeout, self._write_timeout = read_timeout, write_timeout
        self._busy_timeout, self._waiting = busy_timeout, 0
        self._threads = FairThreads(_THREADS, "archive")

    async def read(self, path: str) -> bytes | None:
        """Return what lies under a path, or null where nothing does."""
        return await self._run(path, lambda: self._read(path), self._read_timeout)

    async def has(self, path: str) -> bool:
        """Whether something lies under a path."""
        return await self._run(path, (self.folder / path).is_file, self._read_timeout)

    async def write(self, path: str, content: bytes) -> None:
        """Keep something under a path: it is on the disk when this returns."""
        await self.write_pieces(path, _as_pieces(content))

    async def write_pieces(self, path: str, pieces: AsyncIterable[bytes]) -> None:
        """Keep what comes in pieces under a path, as `write` does."""
        whole = _Replacement(self.folder / path)
        try:
            async for piece in pieces:
                await self._run(path, partial(whole.write, piece), self._write_timeout)
            await self._run(path, whole.finish, self._write_timeout)
        finally:
            whole.close()
        await self._run(path, lambda: self._sync_folders(path), self._write_timeout)

    async def _run(self, path: str, work: Callable[[], Result], limit: timedelta) -> Result:
        """Do what blocks in a thread of the archive's; each session and run has its turn."""
        if self._waiting >= MAX_PATIENT:
            limit = min(limit, self._busy_timeout)
        self._waiting += 1
        try:
            async with asyncio.timeout(limit.total_seconds()):
                return await self._threads.run(path.rpartition("/")[0], work)
        except TimeoutError as error:
            raise TimeoutError(errno.ETIMEDOUT, "it doesn't answer") from error
        finally:
            self._waiting -= 1

    def _read(self, path: str) -> bytes | None:
        try:
            return (self.folder / path).read_bytes()
        except FileNotFoundError:
            return None

    def _sync_folders(self, path: str) -> None:
        """Have on the disk that the folders on the way name what is new."""
        for folder in (self.folder / path).parents:
            opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)
            if folder == self.folder.parent:
                return


async def _as_pieces(content: bytes) -> AsyncGenerator[bytes]:
    yield content


class _Replacement:
    """
    A file beside a path, which takes its place when it is whole.

    It blocks, but for being closed: what hung meanwhile replaces nothing that came later.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        self._beside = target.with_name(f".{uuid4().hex}")
        self._file: BinaryIO | None = None
        self._is_whole = self._is_over = False
        self._lock = Lock()

    def write(self, piece: bytes) -> None:
        with self._lock:
            self._open().write(piece)

    def finish(self) -> None:
        """Have all of it on the disk, and in its place."""
        with self._lock:
            file = self._open()
            file.flush()
            os.fsync(file.fileno())
            file.close()
            self._refuse_if_over()
            self._beside.replace(self._target)
            self._is_whole = True

    def close(self) -> None:
        """
        Leave nothing beside the path.

        Of what isn't whole nobody waits for that: it may be the mount that hangs. Where nothing
        was begun nothing is there, and from here on nothing is begun.
        """
        self._is_over = True
        # In this order: who has the lock may let it go in between, and then has opened the file.
        was_begun = self._lock.locked() or self._file is not None
        if was_begun and not self._is_whole:
            Thread(target=self._discard, name="give-up", daemon=True).start()

    def _discard(self) -> None:
        with self._lock, suppress(OSError):
            if self._file is not None:
                with suppress(OSError):  # what it still holds may not fit
                    self._file.close()
            self._beside.unlink(missing_ok=True)

    def _refuse_if_over(self) -> None:
        if self._is_over:
            raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED))

    def _open(self) -> BinaryIO:
        self._refuse_if_over()
        if self._file is None:
            for folder in (*reversed(self._target.parent.parents), self._target.parent):
                if not folder.is_dir():
                    folder.mkdir(mode=0o700, exist_ok=True)
            opened = os.open(self._beside, os.O_WRONLY | os.O_CREAT, 0o600)
            self._file = os.fdopen(opened, "wb")
        return self._file


def open_archive(named: str | None) -> Archive | None:
    """Return the archive of this name, as in "file:PATH", or null without one."""
    return None if named is None else DirectoryArchive(Path(named.removeprefix(SCHEME)))


def name_session(namespace: str, session_id: str) -> str:
    """
    Return the folder of a session, which no other has: of any id, namespace and file system.

    Some fold capitals, so a digest of both is part of the name.
    """
    readable = session_id.replace(":", "_").lower()
    whole = f"{namespace}/{session_id}".encode()  # no id has a slash
    return f"sessions/{readable}-{hashlib.sha256(whole).hexdigest()[:16]}"
