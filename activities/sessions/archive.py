"""The archive: what outlives the histories of a server."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol
from uuid import uuid4

SCHEME = "file:"


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

    A folder that is there already is left as open as it is.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def read(self, path: str) -> bytes | None:
        """Return what lies under a path, or null where nothing does."""
        return await asyncio.to_thread(self._read, path)

    async def has(self, path: str) -> bool:
        """Whether something lies under a path."""
        return await asyncio.to_thread((self.folder / path).is_file)

    async def write(self, path: str, content: bytes) -> None:
        """Keep something under a path: it is on the disk when this returns."""
        await asyncio.to_thread(self._write, path, content)

    async def write_pieces(self, path: str, pieces: AsyncIterable[bytes]) -> None:
        """Keep what comes in pieces under a path, as `write` does."""
        with _replacing(self.folder / path) as file:
            async for piece in pieces:
                await asyncio.to_thread(file.write, piece)
            await asyncio.to_thread(_sync, file)
        await asyncio.to_thread(self._sync_folders, path)

    def _read(self, path: str) -> bytes | None:
        try:
            return (self.folder / path).read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, path: str, content: bytes) -> None:
        with _replacing(self.folder / path) as file:
            file.write(content)
            _sync(file)
        self._sync_folders(path)

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


@contextmanager
def _replacing(target: Path) -> Generator[BinaryIO]:
    """Have a file beside a path, which takes its place when the block is done."""
    for folder in (*reversed(target.parent.parents), target.parent):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    beside = target.with_name(f".{uuid4().hex}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            yield file
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


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
