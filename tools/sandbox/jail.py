"""What a sandbox holds, as arguments for bubblewrap: whatever isn't named here isn't there."""

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, product
from pathlib import Path, PurePath
from typing import NamedTuple

from holdfast.tools.sandbox.bounds import Bounds
from holdfast.tools.sandbox.identity import INNER_UID
from holdfast.tools.sandbox.sources import CODE

WORKSPACE = "/workspace"

_ENTRY = f"{CODE}/holdfast/tools/sandbox/entry.py"

# Never all of a folder: people keep applications in /usr/src, and make a whole project the
# environment of its Python, with all its secrets beside `lib`.
_PARTS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "share", "include")

_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""What is a link into /usr on most systems, and a folder of its own on some."""

_ETC = ("/etc/ld.so.cache", "/etc/alternatives")


class Jail(NamedTuple):
    """
    One sandbox: its code, the run's workspace, and the user it belongs to where that is set.

    Of what is *hidden* nothing is seen, though it lies in a folder that is there.
    """

    code: Path
    workspace: Path
    user: int | None
    bounds: Bounds
    hidden: tuple[Path, ...] = ()

    def files(self) -> Mapping[str, str]:
        """Return the files that are made up for the inside."""
        user = INNER_UID if self.user is None else self.user
        return {
            "/etc/passwd": f"agent:x:{user}:{user}:agent:{WORKSPACE}:/bin/sh\n",
            "/etc/group": f"agent:x:{user}:\n",
            "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
        }

    def arguments(self, files: Mapping[str, int], syscall_filter: int) -> list[str]:
        """Return bubblewrap's arguments; what it reads itself comes by file descriptor."""
        scratch = str(self.bounds.scratch)
        found = [
            *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
            *("--unshare-cgroup-try", "--hostname", "sandbox"),
            *("--die-with-parent", "--new-session", "--clearenv"),
            *("--cap-drop", "ALL", *self._identity()),
            *("--seccomp", str(syscall_filter)),
            *("--perms", "01777", "--size", scratch, "--tmpfs", "/tmp"),  # noqa: S108 -- its own
            *("--proc", "/proc", "--dev", "/dev"),
            # Reads the same, but no memory can be mapped of it, which only its kernel would count.
            *("--dev-bind", "/dev/full", "/dev/zero"),
            *("--perms", "01777", "--size", scratch, "--tmpfs", "/dev/shm"),  # noqa: S108 -- its own
        ]
        folders = find_system_folders()
        found += _parents([*folders, PurePath("/etc/passwd")])
        for folder in folders:
            found += ("--ro-bind", str(folder), str(folder))
        for place in map(str, _find_hidden(self.hidden, folders)):
            is_folder = Path(place).is_dir()
            found += ("--tmpfs", place) if is_folder else ("--ro-bind", "/dev/null", place)
            found += ("--remount-ro", place)
        found += ("--ro-bind", str(self.code), CODE)
        found += _links()
        for path in (*_ETC, f"{sys.prefix}/pyvenv.cfg"):
            found += ("--ro-bind-try", path, path)
        for path, descriptor in files.items():
            found += ("--perms", "0444", "--file", str(descriptor), path)
        for name, value in _environment().items():
            found += ("--setenv", name, value)
        found += ("--bind", str(self.workspace), WORKSPACE)
        read_only = (("--remount-ro", folder) for folder in ("/", "/dev", "/proc"))
        return [*found, *chain.from_iterable(read_only)]

    def command(self) -> list[str]:
        """Return the program that runs inside, without its arguments."""
        return [str(Path(sys.executable).resolve()), "-I", "-S", "-B", _ENTRY]

    def _identity(self) -> tuple[str, ...]:
        if self.user is None:
            inside = str(INNER_UID)
            return ("--unshare-user", "--disable-userns", "--uid", inside, "--gid", inside)
        # Both are gone as soon as the entry has become this user.
        return ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def find_system_folders() -> tuple[Path, ...]:
    """Return the folders of the system and of Python: what an app loads from there is there."""
    python = {Path(sys.base_prefix), Path(sys.prefix), Path(sys.executable).resolve().parents[1]}
    prefixes = [Path("/usr"), Path("/usr/local"), *sorted(python - {Path("/")})]
    parts = (prefix / part for prefix in prefixes for part in _PARTS)
    found: list[Path] = []
    for folder in (*parts, *map(Path, libraries_of_python())):
        if folder.is_dir() and not any(folder.is_relative_to(known) for known in found):
            found.append(folder)
    return tuple(found)


def libraries_of_python() -> list[str]:
    """Return the folders of installed packages that this process imports from."""
    own = sysconfig.get_paths()
    named = [
        path for path in sys.path if PurePath(path).name in {"site-packages", "dist-packages"}
    ]
    return [*dict.fromkeys([own["purelib"], own["platlib"], *named])]


def _find_hidden(hidden: Iterable[Path], folders: Iterable[Path]) -> Iterator[Path]:
    """Yield where what is hidden would be seen: a folder may be there by several names."""
    every = dict.fromkeys(hidden)
    outermost = (one for one in every if every.keys().isdisjoint(one.parents))
    for folder, known in product(outermost, folders):
        if folder.is_relative_to(whole := known.resolve()) and folder.exists():
            yield known / folder.relative_to(whole)


def _links() -> Iterator[str]:
    for name in _MERGED:
        path = Path("/", name)
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))


def _parents(paths: list[PurePath]) -> Iterator[str]:
    """Make the folders that paths lie in; those that bubblewrap makes itself are root's alone."""
    made = {PurePath("/"), PurePath("/tmp"), PurePath("/dev")}  # noqa: S108 -- the sandbox's own
    for path in paths:
        for parent in reversed(path.parents):
            if parent not in made:
                made.add(parent)
                yield from ("--perms", "0755", "--dir", str(parent))


def _environment() -> Mapping[str, str]:
    return {
        "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": WORKSPACE,
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        # For programs of the run; the process that serves the call ignores it.
        "PYTHONPATH": WORKSPACE,
        # Looking for plugins takes pydantic longer than most tools take.
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
    }
