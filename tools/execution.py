"""Running a tool so that it really ends at its time limit."""

import asyncio
import errno
import os
import site
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from importlib.machinery import all_suffixes
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol, TypeAlias, TypeVar, cast

from holdfast.contracts.bounds import CLEARING_TIMEOUT, MAX_JSON_BYTES, TOO_DEEP_JSON, size
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import NotNow, ToolDenied
from holdfast.tools.artifacts import ArtifactStore
from holdfast.tools.context import (
    Admission,
    Heartbeat,
    KeptSource,
    SecretSource,
    ToolContext,
    refuse_kept,
)
from holdfast.tools.fair_threads import FairThreads, have_thread
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.limits import fail_after, time_limit
from holdfast.tools.process import Job, run_in_process
from holdfast.tools.sharing.own_paths import keep_links, resolve
from holdfast.tools.sharing.room import RESULT_ROOM, NoRoom
from holdfast.tools.tool import Tool

PATIENCE = 2.0
"""Seconds that a call waits for a disk to say where its path leads."""

# More would only divide the same time, of one interpreter.
_READERS = FairThreads(2, "read-arguments")

_MODULE_SUFFIXES = frozenset({*all_suffixes(), ".pth"})

_METADATA_SUFFIXES = (".dist-info", ".egg-info", ".egg-link")
"""What installed packages say of themselves, as which modules are to be loaded into others."""

_TURN_SECONDS = 30.0
"""So long a call waits for others whose arguments are read; nothing has begun by then."""

Result = TypeVar("Result")


class Executor(Protocol):
    """Where tools run."""

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        """
        Run a tool once and return its result as JSON.

        Raises ToolDenied where this is no place for the call, whatever *admit* raises when all is
        ready, and whatever running it raises.
        """
        ...


_File: TypeAlias = tuple[int, int] | Path
"""What a resolved path means, by whatever name: some file systems know no capitals."""


class _Identity(NamedTuple):
    """A file or folder, and the folders in which it lies."""

    path: Path
    file: _File
    above: frozenset[_File]


class OwnFile:
    """
    A file or folder that the worker itself goes by: where it lies is looked at for each call.

    It has a thread of its own: it may lie on a mount that hangs. While it does, what was known of
    it last counts.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="own-file")
        self._lock = Lock()
        self._looking: Future[_Identity] | None = None
        self._known: _Identity | None = None

    def find(self, patience: float) -> _Identity:
        """Say what it is, within so many seconds. It blocks; raises TimeoutError."""
        with self._lock:
            if self._looking is not None and not self._looking.done() and self._known is not None:
                return self._known
            if self._looking is None or self._looking.done():
                self._looking = have_thread(lambda: self._threads.submit(_identify, self._path))
            looking = self._looking
        try:
            self._known = looking.result(patience)
        except TimeoutError:
            if self._known is None:
                raise TimeoutError(errno.ETIMEDOUT, "a disk doesn't answer") from None
        return self._known


MAX_QUICK_PROCESSES = 100
"""
Processes of synchronous tools that are local, as many as those of all others can be.

Of them nobody else limits the number: their runs have a place for each.
"""


class WorkerExecutor:
    """
    The worker itself, and processes forked from it: no place for what needs the sandbox.

    *own* are files and folders that the worker itself goes by: no path of a call leads there. Nor
    does one lead a call that changes something to what counts from the next start on, the *policy*
    and code. Where nobody can say that within so many seconds of *patience*, none begins. Of
    processes for *quick* tools there are so many at once.
    """

    def __init__(
        self,
        secret: SecretSource,
        artifacts: ArtifactStore,
        own: Sequence[Path] = (),
        policy: Path | None = None,
        patience: float = PATIENCE,
        quick: int = MAX_QUICK_PROCESSES,
    ) -> None:
        self._secret = secret
        self._artifacts = artifacts
        self._own = tuple(map(OwnFile, own))
        self._unchanging = (*self._own, *map(OwnFile, [policy] if policy else []))
        self._patience = patience
        self._threads = FairThreads(4, "paths")
        self._quick = asyncio.Semaphore(quick)

    async def run(
        self, tool: Tool, invocation: ToolInvocation, heartbeat: Heartbeat, admit: Admission
    ) -> bytes:
        if invocation.grant is not None or tool.contract.needs_sandbox:
            raise ToolDenied(
                f"{tool.contract.name} runs in the sandbox only, and this is none",
                ("use a tool that needs no sandbox", "tell the user what you would have done"),
            )
        await self._deny_outside_workspace(tool, invocation)
        kept = partial(self._artifacts.read, invocation)
        limited = tool.contract.local and not tool.is_async
        async with self._quick if limited else nullcontext():
            return await execute(tool, invocation, self._secret, heartbeat, admit, kept)

    async def _deny_outside_workspace(self, tool: Tool, invocation: ToolInvocation) -> None:
        """Raise ToolDenied where a path leads out of the workspace, or nobody can say where."""
        scope = tool.contract.resource_scope
        if scope.kind != "workspace" or scope.argument is None:
            return
        read = partial(tool.values, invocation.arguments)
        named = str((await read_arguments(invocation, read)).get(scope.argument))
        changes = not tool.contract.changes_nothing
        own = self._unchanging if changes else self._own
        look = partial(
            _deny_outside_workspace, scope.argument, named, own, self._patience, changes=changes
        )
        try:
            async with asyncio.timeout(5 * self._patience):
                await self._threads.run(invocation.run_id, look)
        except TimeoutError:
            raise ToolDenied(
                f"nobody can say now where {scope.argument} {named[:500]!r} leads: a disk doesn't "
                "answer",
                ("ask for it again later",),
            ) from None


def _list_code_places(place: Path) -> Iterator[str]:
    """Yield where this Python, libraries and programs lie; and modules, for what is like one."""
    yield from filter(None, [getattr(sys.modules["__main__"], "__file__", None)])
    places = sysconfig.get_paths()
    yield from (places[name] for name in ("stdlib", "purelib", "platlib", "scripts"))
    yield from filter(None, (sys.executable, f"{sys.prefix}/pyvenv.cfg"))
    yield site.getusersitepackages()  # once somebody makes it Python looks there
    yield from (folder or os.curdir for folder in os.get_exec_path())  # execvp(3)
    is_module = place.suffix.lower() in _MODULE_SUFFIXES
    if is_module or any(part.lower().endswith(_METADATA_SUFFIXES) for part in place.parts):
        # What a worker starts looks here first: the process that its tools are forked from.
        yield from (*sys.path, os.curdir)
    else:  # an archive has modules in it, whatever it is called
        yield from (one for one in sys.path if not Path(one).is_dir())
    # The loader may look right here, ld.so(8), and Python beside each of its programs.
    if {".so", "._pth"} & {*map(str.lower, place.suffixes)}:
        yield os.curdir


def _names_module(place: Path, folders: AbstractSet[_File]) -> bool:
    """
    Say whether a path may be a package, or lie in one, in the place of one that is known.

    Whoever is given a folder names the files in it: one of them makes a package of it. Below one
    that is called like a module of Python's own alone none does: Python prefers its own then.
    """
    known = {name.partition(".")[0] for name in tuple(sys.modules)}
    below = known - sys.stdlib_module_names
    for one in (place, *place.parents):
        is_known = one.name in (known | sys.stdlib_module_names if one == place else below)
        if (is_known or _is_there(one / "__init__.py")) and _find_file(one.parent) in folders:
            return True
    return False


def _list_start_places() -> Iterator[Path]:
    """
    Yield what Python looks for as it starts (getpath.py), for the most part in vain.

    Beside its program it is told where all lies, and above it the first archive of modules counts.
    """
    major, minor = sys.version_info[:2]
    folders = {sys.platlibdir, "lib"}
    names = [
        f"{one}/python{end}"
        for one in folders
        for end in (f"{major}{minor}.zip", f"{major}.{minor}")
    ]
    # That of an environment may be a copy: what counts then lies above the one that it is of.
    known = filter(None, (sys.executable, f"{sys.base_exec_prefix}/bin/python"))
    programs = [found for one in map(Path, known) for found in (one.absolute(), resolve(one))]
    for one in dict.fromkeys(programs):
        yield from (one.with_name(name) for name in ("pybuilddir.txt", "Modules", "pyvenv.cfg"))
        yield from (above / name for above in one.parents for name in names)
    if library := sysconfig.get_config_var("LIBDIR"):
        yield from (
            above / name for above in (Path(library), *Path(library).parents) for name in names
        )


def _deny_outside_workspace(
    argument: str, named: str, own: Sequence[OwnFile], patience: float, *, changes: bool
) -> None:
    """
    Raise ToolDenied where a path leads through links out of the worker's working directory.

    That is the workspace of a tool that has no sandbox around it; the policy knows words alone.
    What is the worker's *own* is outside as well, wherever it lies, and for who *changes* it so is
    what Python would run; and so are folders in which that lies, of which a tool may take all. A
    disk may keep this waiting.
    """
    workspace = Path.cwd().resolve()
    try:
        place = (workspace / named).resolve()
    except RuntimeError:  # as pathlib has it
        raise ToolDenied(
            f"{argument} {named[:500]!r} leads in a circle", ("use a path without links",)
        ) from None
    if not place.is_relative_to(workspace):
        raise ToolDenied(
            f"{argument} {named[:500]!r} leads out of the workspace",
            ("use a path without links",),
        )
    found = [one.find(patience) for one in own]
    if changes:
        found += map(_identify, map(Path, _list_code_places(place)))
    files = {one.file for one in found}
    if changes:
        files.update(_find_file(resolve(one)) for one in _list_start_places())
    leads = not files.isdisjoint(map(_find_file, (place, *place.parents)))
    folders = _find_module_folders() if changes else frozenset[_File]()
    if leads or (changes and _names_module(place, folders)):
        raise ToolDenied(
            f"{argument} {named[:500]!r} leads to what the worker itself goes by",
            ("use another path",),
        )
    # Whatever is new in a folder of modules may be one.
    holding = folders.union(*(one.above for one in found))
    if _find_file(place) in holding:
        raise ToolDenied(
            f"{argument} {named[:500]!r} has in it what the worker itself goes by",
            ("use another folder",),
        )


def _identify(path: Path) -> _Identity:
    place = resolve(path)
    above = {*place.parents, *keep_links(path).parents}  # a link may be replaced where it lies
    return _Identity(place, _find_file(place), frozenset(map(_find_file, above)))


def _is_there(place: Path) -> bool:
    return not isinstance(_find_file(place), Path)


def _find_module_folders() -> frozenset[_File]:
    return frozenset(map(_find_file, map(Path, (*sys.path, os.curdir))))


def _find_file(place: Path) -> _File:
    try:
        found = place.stat()
    except OSError:
        return place
    return found.st_dev, found.st_ino


async def read_arguments(invocation: ToolInvocation, read: Callable[[], Result]) -> Result:
    """
    Read the arguments of a call, of which some take a second: in a thread where they are large.

    Raises NotNow where the call has no turn, and whatever *read* raises.
    """
    if size(invocation.arguments) <= MAX_INLINE_BYTES:
        return read()
    try:
        async with asyncio.timeout(_TURN_SECONDS):
            return await _READERS.run(invocation.run_id, read)
    except TimeoutError:
        raise NotNow("too many large calls are read; it didn't begin") from None


async def execute(
    tool: Tool,
    invocation: ToolInvocation,
    secret: SecretSource,
    heartbeat: Heartbeat,
    admit: Admission,
    kept: KeptSource = refuse_kept,
) -> bytes:
    """
    Run a tool once and return its result as JSON.

    Raises what *admit* does before it begins, ToolTimeout at the tool's time limit, ToolError when
    the tool refuses, NoRoom when it is done and its result has no room in time, and whatever else
    the tool raises. A synchronous tool runs in a process of its own, which is killed at the limit
    and on cancellation, with everything that it started.
    """
    limit = invocation.limit_time(tool.contract.timeout)
    if not tool.is_async:
        return await _run_apart(Job(tool, invocation, secret), limit, heartbeat, admit)
    context = ToolContext.of(invocation, secret, heartbeat, kept=kept)
    bind = partial(tool.bind, invocation.arguments, context)
    values = await read_arguments(invocation, bind)
    function = cast(Callable[..., Awaitable[object]], tool.function)  # is_async says so
    await admit()
    async with time_limit(tool.contract.name, limit):
        returned = await function(**values)
    content = tool.json(returned)
    del returned  # or its objects wait for room, too
    if len(content) > MAX_JSON_BYTES:
        return TOO_DEEP_JSON
    async with fail_after(CLEARING_TIMEOUT.total_seconds(), NoRoom()):
        await RESULT_ROOM.take(invocation, len(content), is_here=True)
    return content


async def _run_apart(job: Job, seconds: float, heartbeat: Heartbeat, admit: Admission) -> bytes:
    """Run a job in a process; where the system has no room for that, say that it didn't begin."""
    begun = asyncio.Event()

    async def begin() -> None:
        await admit()
        begun.set()

    try:
        return await run_in_process(job, seconds, heartbeat, begin)
    except (OSError, EOFError) as error:
        if begun.is_set() or job.tool.contract.allows_retries(job.invocation.purpose):
            raise
        why = getattr(error, "strerror", None) or "no answer"
        raise NotNow(f"no process can be started now: {why}") from error
