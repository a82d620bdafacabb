"""Trees of files that somebody hostile has written and may still write: no link is followed."""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.errors import HoldfastError
from holdfast.tools.sandbox.bounds import BOUNDS

Kind: TypeAlias = Literal["file", "folder", "link", "other"]

_CHUNK = 2**20
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_NONBLOCK
"""A pipe that nobody writes to must not keep its reader waiting."""

FOLDER_FLAGS = _READ_FLAGS | os.O_DIRECTORY
"""How a folder is opened."""

_HANDLE = os.O_PATH | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class TreeLimits(NamedTuple):
    """
    How much a tree may hold. Each name of a file counts, also where several mean the same file.

    `bytes` is the size of all files, `path` that of one path, `names` that of all paths together.
    """

    entries: int = 50_000
    bytes: int = 10**9
    names: int = 10**7
    path: int = 2_000
    depth: int = 100


TREE_LIMITS = TreeLimits()


class TreeEntry(NamedTuple):
    """
    What lies in a tree. `folder` is open as long as the walk stands here.

    The mode has no bits but those of owner, group and others, and its owner may always read it:
    who is root sees the same as who isn't.
    """

    path: str
    kind: Kind
    mode: int
    size: int
    folder: int

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


class Walk:
    """
    One way through a tree, with each folder before what lies in it, and names in their order.

    *called* is what the tree is called in errors. With *mends* the tree is the worker's own: what
    its owner can't read becomes readable. Raises HoldfastError beyond a limit or where it may not
    read, and OSError when something changed meanwhile.
    """

    def __init__(
        self,
        top: Path,
        called: str,
        limits: TreeLimits = TREE_LIMITS,
        *,
        mends: bool,
        leaves_out: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._top = top
        self._called = called
        self._limits = limits
        self._mends = mends
        self._leaves_out = leaves_out
        self._entries = self._bytes = self._names = 0

    def __iter__(self) -> Iterator[TreeEntry]:
        folder = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield from self._below(folder, "")
        finally:
            os.close(folder)

    def open(self, found: TreeEntry) -> int:
        """Open a file that was found; whoever asks closes it."""
        descriptor = self._open(found, _READ_FLAGS)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise build_stale_error()
        return descriptor

    def target(self, found: TreeEntry) -> str:
        """Return what is written in a link."""
        target = os.readlink(found.name, dir_fd=found.folder)
        self._count_name(target)
        return target

    def _below(self, folder: int, prefix: str) -> Iterator[TreeEntry]:
        for name in self._list_names(folder, prefix):
            found = self._read_entry(folder, prefix + name)
            yield found
            if found.kind == "folder":
                inner = self._open(found, FOLDER_FLAGS)
                try:
                    yield from self._below(inner, f"{found.path}/")
                finally:
                    os.close(inner)

    def _list_names(self, folder: int, prefix: str) -> list[str]:
        """
        Return the names of what lies in a folder, in their order.

        They count at once: all folders on the way down hold theirs until they have had their turn.
        """
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if not self._leaves_out(prefix + entry.name):
                    self._count(prefix + entry.name)
                    names.append(entry.name)
        return sorted(names)

    def _read_entry(self, folder: int, path: str) -> TreeEntry:
        status = os.stat(path.rpartition("/")[2], dir_fd=folder, follow_symlinks=False)
        kind = _kind(status.st_mode)
        owners = stat.S_IRWXU if kind == "folder" else stat.S_IRUSR
        if kind == "file":
            self._count_bytes(status.st_size)
        return TreeEntry(path, kind, status.st_mode & 0o777 | owners, status.st_size, folder)

    def _count(self, path: str) -> None:
        self._entries += 1
        if self._entries > self._limits.entries:
            raise self._build_limit_error(f"more than {self._limits.entries:,} files and folders")
        if path.count("/") >= self._limits.depth:
            raise self._build_limit_error(f"folders that lie deeper than {self._limits.depth}")
        self._count_name(path)

    def _count_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > self._limits.bytes:
            raise self._build_limit_error(f"more than {self._limits.bytes:,} bytes")

    def _count_name(self, path: str) -> None:
        size = len(os.fsencode(path))
        self._names += size
        if size > self._limits.path or self._names > self._limits.names:
            raise self._build_limit_error("names that are too long")

    def _build_limit_error(self, what: str) -> HoldfastError:
        way = "delete there" if self._mends else "leave out"
        return HoldfastError(f"{self._called} has {what}: {way} what isn't needed")

    def _open(self, found: TreeEntry, flags: int) -> int:
        try:
            return os.open(found.name, flags, dir_fd=found.folder)
        except PermissionError:
            if not self._mends:
                raise HoldfastError(
                    f"{self._called} has {found.path[:200]!r}, which this worker may not read: "
                    "let it, or leave it out"
                ) from None
            set_mode(found.name, found.folder, found.mode)
            return os.open(found.name, flags, dir_fd=found.folder)
        except OSError as error:
            # It became a link, or no folder.
            if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO}:
                raise build_stale_error() from None
            raise


def open_below(top: Path, path: str) -> int:
    """Open what lies below a folder, with no link on the way; whoever asks closes it."""
    *folders, name = path.split("/")
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in folders:
            inner = os.open(part, FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, _READ_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def build_stale_error() -> OSError:
    """Say that a tree changed while it was read; to read it again may help."""
    return OSError(errno.ESTALE, "it changed while it was read")


def contents(descriptor: int, size: int) -> Iterator[bytes]:
    """Yield what is in a file from its beginning; raises OSError if that isn't *size* bytes."""
    place = 0
    while chunk := os.pread(descriptor, _CHUNK, place):
        place += len(chunk)
        if place > size:
            break
        yield chunk
    if place != size:
        raise build_stale_error()


def require_disk_space(size: int, place: Path) -> None:
    """Raise OSError where a file would leave the worker too little of its disk."""
    disk = os.statvfs(place)
    if disk.f_bavail * disk.f_frsize - size < BOUNDS.free_disk:
        raise OSError(errno.ENOSPC, "the worker's disk is nearly full: make room")


class NewTree:
    """A tree where nobody else looks yet; all of it belongs to *user*, where that is set."""

    def __init__(self, top: Path, user: int | None) -> None:
        self._top = top
        self._user = user
        self._set_owner(str(top))

    def folder(self, path: str, mode: int) -> None:
        """Make a folder; the one that it lies in is there."""
        place = self._place(path)
        os.mkdir(place, 0o700)  # noqa: PTH102 -- a Path for each of 10,000 files is slow
        os.chmod(place, mode)  # noqa: PTH101
        self._set_owner(place)

    def link(self, path: str, target: str) -> None:
        """Make a link, wherever it leads."""
        place = self._place(path)
        os.symlink(target, place)  # noqa: PTH211
        self._set_owner(place)

    def file(self, path: str, mode: int, size: int, chunks: Iterable[bytes]) -> None:
        """Write a file."""
        require_disk_space(size, self._top)
        descriptor = os.open(self._place(path), _NEW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            os.fchmod(descriptor, mode)
        self._set_owner(self._place(path))

    def _place(self, path: str) -> str:
        return f"{self._top}/{path}"

    def _set_owner(self, place: str) -> None:
        if self._user is not None:
            os.chown(place, self._user, self._user, follow_symlinks=False)


def set_mode(name: str, folder: int, mode: int) -> None:
    """Give what lies in a folder another mode, and nothing else, even if it is swapped now."""
    handle = os.open(name, _HANDLE, dir_fd=folder)
    try:
        if not stat.S_ISLNK(os.fstat(handle).st_mode):
            os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101
    finally:
        os.close(handle)


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"
