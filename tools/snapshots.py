"""Snapshots of a run's workspace: a listing for each, and every content of a file once."""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.errors import HoldfastError
from holdfast.contracts.project import WorkspaceSnapshot
from holdfast.tools.safe_walk import (
    TreeEntry,
    Walk,
    build_stale_error,
    contents,
    require_disk_space,
)


class Entry(NamedTuple):
    """
    A line of a listing. `content` is a file's SHA-256, or what is written in a link.

    A name that is no UTF-8 has surrogates (PEP 383), which JSON writes as it writes all but ASCII.
    """

    kind: Literal["file", "folder", "link"]
    path: str
    mode: int = 0
    size: int = 0
    content: str = ""


Listing: TypeAlias = tuple[Entry, ...]


def encode_listing(listing: Listing) -> bytes:
    """Write a listing; the SHA-256 of this is the digest of the tree."""
    return "".join(f"{json.dumps(entry)}\n" for entry in listing).encode()


def summary(listing: Listing) -> WorkspaceSnapshot:
    """Return the digest of a tree, and how much it holds."""
    return WorkspaceSnapshot(
        digest=hashlib.sha256(encode_listing(listing)).hexdigest(),
        files=sum(entry.kind == "file" for entry in listing),
        bytes=sum(entry.size for entry in listing),
    )


class Snapshots:
    """
    The snapshots of one run, below *folder*.

    `<digest>/listing` is what a tree held, `contents/<SHA-256>` what was in its files: two
    snapshots share what they have in common. A snapshot is there when its listing is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._contents = folder / "contents"
        self._partial = folder / "partial"

    def prepare(self) -> None:
        """Make room for another snapshot; what a killed attempt left is removed."""
        for folder in (self._folder.parent, self._folder, self._contents, self._partial):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self._partial.iterdir():
            left.unlink(missing_ok=True)

    def entry(self, walk: Walk, found: TreeEntry, *, keep: bool) -> Entry | None:
        """Return the line for what was found, and keep its content; a pipe has none."""
        match found.kind:
            case "folder":
                return Entry("folder", found.path, found.mode)
            case "link":
                return Entry("link", found.path, content=walk.target(found))
            case "file":
                descriptor = walk.open(found)
                try:
                    content = self._read(descriptor, found.size, keep=keep)
                finally:
                    os.close(descriptor)
                return Entry("file", found.path, found.mode, found.size, content)
            case "other":
                return None

    def keep(self, listing: Listing) -> WorkspaceSnapshot:
        """Keep a listing all of whose contents are kept."""
        snapshot = summary(listing)
        place = self._folder / snapshot.digest
        place.mkdir(mode=0o700, exist_ok=True)
        self._write(place / "listing", (encode_listing(listing),))
        return snapshot

    def listing(self, digest: str) -> Listing:
        """Return what a snapshot held. Raises HoldfastError if there is none, or it is damaged."""
        try:
            content = (self._folder / digest / "listing").read_bytes()
        except FileNotFoundError:
            raise HoldfastError(
                f"this worker has no snapshot {digest[:12]} of the run: workers with the sandbox "
                "must share HOLDFAST_HOME"
            ) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise _build_damage_error(digest)
        return tuple(Entry(*json.loads(line)) for line in content.splitlines())

    def contents(self, entry: Entry) -> Iterator[bytes]:
        """Yield what is in a file. Raises HoldfastError in the end if it isn't what it was."""
        known = hashlib.sha256()
        try:
            descriptor = os.open(self._contents / entry.content, os.O_RDONLY)
        except FileNotFoundError:
            raise _build_damage_error(entry.path) from None
        try:
            while chunk := os.read(descriptor, 2**20):
                known.update(chunk)
                yield chunk
        finally:
            os.close(descriptor)
        if known.hexdigest() != entry.content:
            raise _build_damage_error(entry.path)

    def _read(self, descriptor: int, size: int, *, keep: bool) -> str:
        known = hashlib.sha256()
        for chunk in contents(descriptor, size):
            known.update(chunk)
        digest = known.hexdigest()
        if keep:
            self._keep(descriptor, size, digest)
        return digest

    def _keep(self, descriptor: int, size: int, digest: str) -> None:
        place = self._contents / digest
        # A machine that fell may have lost the end of it.
        if place.exists() and place.stat().st_size == size:
            return
        require_disk_space(size, self._contents)
        self._write(place, _verify_chunks(contents(descriptor, size), digest))

    def _write(self, place: Path, chunks: Iterable[bytes]) -> None:
        descriptor, partial = tempfile.mkstemp(dir=self._partial)
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
        os.replace(partial, place)  # noqa: PTH105 -- a Path for each of 10,000 files is slow


def _verify_chunks(chunks: Iterable[bytes], digest: str) -> Iterator[bytes]:
    """Pass on what is read a second time; raises OSError if it isn't what it was."""
    known = hashlib.sha256()
    for chunk in chunks:
        known.update(chunk)
        yield chunk
    if known.hexdigest() != digest:
        raise build_stale_error()


def _build_damage_error(what: str) -> HoldfastError:
    return HoldfastError(f"a snapshot is damaged ({what[:200]!r}): start another run")
