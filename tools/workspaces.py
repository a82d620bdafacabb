"""The workspaces of runs: folders below a worker's home, each for the calls of one run."""

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.project import WorkspaceSnapshot
from holdfast.tools.artifacts import as_file_name
from holdfast.tools.execution import PATIENCE, OwnFile
from holdfast.tools.remove_tree import remove
from holdfast.tools.safe_walk import (
    TREE_LIMITS,
    NewTree,
    TreeEntry,
    TreeLimits,
    Walk,
    contents,
    open_below,
)
from holdfast.tools.sandbox.identity import derive_uid
from holdfast.tools.snapshots import Listing, Snapshots, summary

EXCLUDED_NAMES = frozenset({".git", ".env"})
"""What isn't copied, wherever it lies: its addresses and its variables hold credentials."""

MAX_DOCUMENT_BYTES = 200_000
"""Bytes of a file that are read."""

_MOVED_AWAY = ".old."
"""What stands behind the name of a workspace in that of the folder which it was until now."""

_MISSING = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO}


class Document(NamedTuple):
    """A file of a workspace: its beginning, the SHA-256 of all, and whether there is more."""

    content: bytes
    digest: str
    more: bool


class LeftOut(NamedTuple):
    """What of a project isn't in a workspace, and why."""

    path: str
    reason: str


class Workspaces:
    """
    The workspaces of runs lie in `workspaces/<run>` below *home*, where only the worker gets in.

    What is in one was written by code that nobody has read: no link in it is followed to where it
    leads out, and whoever reads it raises HoldfastError when it is too large. All of this blocks.
    Anything may be killed at any point and done again. No project has what is the worker's *own*.
    """

    def __init__(
        self, home: Path, limits: TreeLimits = TREE_LIMITS, *, own: Sequence[Path] = ()
    ) -> None:
        self._home = home.absolute()
        self._own = tuple(map(OwnFile, (self._home, *own)))
        self._folder = self._home / "workspaces"
        self._limits = limits

    def ensure(self, run: str) -> Path:
        """Return the workspace of a run, which is made if there is none, as its user's own."""
        workspace = self._place(run)
        self._home.mkdir(parents=True, exist_ok=True)
        self._put_back(run)
        for folder in (self._folder, workspace):
            folder.mkdir(exist_ok=True, mode=0o700)
        if (user := derive_uid(run)) is not None:
            os.chown(workspace, user, user)
        # What runs in it may have closed it, also to a worker that isn't root.
        workspace.chmod(0o700)
        return workspace

    def fill(self, run: str, folder: Path) -> tuple[LeftOut, ...]:
        """
        Copy a project into an empty workspace; one that holds something stays as it is.

        Links stay links. Returns what was left out. Raises InvalidInput where there is no folder,
        HoldfastError where it is too large or can't be read.
        """
        if not folder.is_dir():
            raise InvalidInput(
                f"there is no folder {str(folder)!r} on this worker: put the project on all "
                "workers that have the sandbox, or name another folder"
            )
        project = folder.resolve()
        if project == self._home.resolve():
            raise InvalidInput(f"{str(folder)!r} is HOLDFAST_HOME: name the project's own folder")
        workspace = self.ensure(run)
        with os.scandir(workspace) as found:
            if any(found):  # there may be millions
                return ()
        with self._fresh(run) as fresh:
            left_out = self._copy_project(project, NewTree(fresh, derive_uid(run)))
            fresh.rename(workspace)
        return left_out

    def read(self, run: str, path: str) -> Document | None:
        """
        Read a file, through links that stay in the workspace; null where there is none.

        Raises InvalidInput where a path leads out by its own words.
        """
        workspace = os.path.realpath(self.ensure(run))
        if path.startswith("/") or ".." in path.split("/") or "\0" in path:
            raise InvalidInput(f"{path[:200]!r} leads out of the project: name a file in it")
        place = _follow_links(f"{workspace}/{path}")
        if place is None or not place.startswith(f"{workspace}/"):
            return None
        try:
            descriptor = open_below(Path(workspace), place.removeprefix(f"{workspace}/"))
        except OSError as error:
            if error.errno in _MISSING:
                return None
            raise
        try:
            return _document(descriptor)
        finally:
            os.close(descriptor)

    def digest(self, run: str) -> str:
        """Return the digest of what is in a workspace."""
        return summary(self._listing(run, keep=False)).digest

    def snapshot(self, run: str) -> WorkspaceSnapshot:
        """
        Keep what is in a workspace: files, folders and links with their modes, and no times.

        What its owner couldn't read becomes readable. Pipes and sockets are left out.
        """
        kept = self._open_snapshots(run)
        kept.prepare()
        return kept.keep(self._listing(run, keep=True))

    def restore(self, run: str, digest: str) -> WorkspaceSnapshot:
        """
        Make a workspace what it was at a snapshot, and nothing more.

        Raises HoldfastError where there is no such snapshot. The workspace is another folder then:
        a call that still runs in the old one changes nothing.
        """
        kept = self._open_snapshots(run)
        listing = kept.listing(digest)
        with self._fresh(run) as fresh:
            tree = NewTree(fresh, derive_uid(run))
            for entry in listing:
                match entry.kind:
                    case "folder":
                        tree.folder(entry.path, entry.mode)
                    case "link":
                        tree.link(entry.path, entry.content)
                    case "file":
                        tree.file(entry.path, entry.mode, entry.size, kept.contents(entry))
            self._exchange(run, fresh)
        return summary(listing)

    def _place(self, run: str) -> Path:
        return self._folder / as_file_name(run)

    def _open_snapshots(self, run: str) -> Snapshots:
        return Snapshots(self._home / "snapshots" / as_file_name(run))

    def _listing(self, run: str, *, keep: bool) -> Listing:
        kept = self._open_snapshots(run)
        walk = Walk(self.ensure(run), "the workspace", self._limits, mends=True)
        entries = (kept.entry(walk, found, keep=keep) for found in walk)
        return tuple(entry for entry in entries if entry is not None)

    def _copy_project(self, project: Path, tree: NewTree) -> tuple[LeftOut, ...]:
        left_out: list[LeftOut] = []
        own = {os.path.relpath(one.find(PATIENCE).path, project) for one in self._own}

        def leaves_out(path: str) -> bool:
            if path in own:
                left_out.append(LeftOut(path, "the worker itself goes by it"))
            elif path.rpartition("/")[2] in EXCLUDED_NAMES:
                left_out.append(LeftOut(path, "it may hold credentials"))
            else:
                return False
            return True

        walk = Walk(
            project, "the project's folder", self._limits, mends=False, leaves_out=leaves_out
        )
        copied = ((found.path, _copy(walk, found, project, tree)) for found in walk)
        skipped = [LeftOut(path, reason) for path, reason in copied if reason is not None]
        return (*sorted(left_out), *skipped)

    @contextmanager
    def _fresh(self, run: str) -> Generator[Path]:
        """
        Have an empty folder beside a workspace, and leave nothing of it.

        What an earlier attempt has left goes first; if that one still works, it fails now.
        """
        # A quoted id has no dot: none of these is the workspace of another run.
        beside = f"{self.ensure(run).name}."
        for left in self._folder.iterdir():
            if left.name.startswith(beside):
                remove(left)
        fresh = Path(tempfile.mkdtemp(prefix=beside, dir=self._folder))
        try:
            yield fresh
        finally:
            if fresh.exists():
                remove(fresh)

    def _put_back(self, run: str) -> None:
        """Put a workspace back in its place, where an attempt ended that had moved it away."""
        workspace = self._place(run)
        if not workspace.exists() and self._folder.exists():
            for left in self._folder.iterdir():
                if left.name.startswith(f"{workspace.name}{_MOVED_AWAY}"):
                    left.rename(workspace)

    def _exchange(self, run: str, fresh: Path) -> None:
        workspace = self.ensure(run)
        old = Path(tempfile.mkdtemp(prefix=f"{workspace.name}{_MOVED_AWAY}", dir=self._folder))
        workspace.rename(old)
        try:
            fresh.rename(workspace)
        except OSError:
            # A later attempt has removed it, which restores; or the disk fails, and what was there
            # is still what there is.
            old.rename(workspace)
            raise
        remove(old)


def _copy(walk: Walk, found: TreeEntry, project: Path, tree: NewTree) -> str | None:
    """Copy one thing, or say why not."""
    match found.kind:
        case "folder":
            tree.folder(found.path, found.mode)
        case "link":
            target = walk.target(found)
            place = _follow_links(f"{project}/{found.path}")
            if target.startswith("/") or (place and not Path(place).is_relative_to(project)):
                return "it is a link that leads out of the project"
            tree.link(found.path, target)
        case "file":
            descriptor = walk.open(found)
            try:
                tree.file(found.path, found.mode, found.size, contents(descriptor, found.size))
            finally:
                os.close(descriptor)
        case "other":
            return "it is no file, folder or link"
    return None


def _follow_links(path: str) -> str | None:
    """
    Return where a path leads; null where nobody gets anywhere by it.

    So it is with circles, and with more links than the system follows: it would take long here.
    """
    try:
        os.stat(path)  # noqa: PTH116 -- asked of the system alone
        return os.path.realpath(path)
    except RecursionError:
        return None  # they were swapped since
    except OSError as error:
        return None if error.errno == errno.ELOOP else os.path.realpath(path)


def _document(descriptor: int) -> Document | None:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    known, beginning = hashlib.sha256(), b""
    for chunk in contents(descriptor, status.st_size):
        known.update(chunk)
        if len(beginning) < MAX_DOCUMENT_BYTES:
            beginning += chunk[: MAX_DOCUMENT_BYTES - len(beginning)]
    return Document(beginning, known.hexdigest(), status.st_size > len(beginning))
