"""Threads for work that is the longer the more somebody brings: each tenant has its turn."""

import errno
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    import asyncio  # a call in a sandbox does without

Result = TypeVar("Result")

_Owner: TypeAlias = tuple[str, str]
"""A tenant; or none, and a run."""

TENANT: ContextVar[str] = ContextVar("tenant", default="")
"""For whom an activity works, where it knows: it has its turn with all that works for them."""


_PAUSE_SECONDS = 0.05


def have_thread(ask: Callable[[], Result]) -> Result:
    """Ask a pool for a thread. Raises TimeoutError where the system has no more."""
    try:
        return ask()
    except RuntimeError as error:
        raise TimeoutError(errno.EAGAIN, "no thread can be started") from error


def submit(pool: Executor, work: Callable[[], Result]) -> "asyncio.Future[Result]":
    """Have a thread of a pool do some work. Raises TimeoutError where the system has no more."""
    import asyncio

    # By the loop, which so knows that something is under way: a test's clock waits for it.
    return have_thread(partial(asyncio.get_running_loop().run_in_executor, pool, work))


class FairThreads:
    """
    A few threads of their own: whoever keeps those of the loop busy keeps nothing here waiting.

    Of the tenants that wait, each has its turn, and of a tenant each run, however much one of
    them asks for; so has each run of which the tenant isn't known. What is given up before its
    turn is never begun, nor kept: threads may hang as long as a mount does. A thread is started
    when one is needed; where the system has none left, who asks waits until it has.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._waiting: dict[_Owner, dict[str, deque[Callable[[], None]]]] = {}

    async def run(self, run_id: str, work: Callable[[], Result]) -> Result:
        """Do some work of a run in a thread, in the context of who asks for it."""
        import asyncio

        done, tenant = Future[Result](), TENANT.get()
        owner = (tenant, "" if tenant else run_id)
        job = partial(copy_context().run, partial(_work, done, work))
        with self._lock:
            self._waiting.setdefault(owner, {}).setdefault(run_id, deque()).append(job)
        try:
            await self._have_thread(done)
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            self._forget(owner, run_id, job)
            raise

    async def _have_thread(self, done: Future[Result]) -> None:
        """Have a thread work for whoever is next, unless this is *done* by then."""
        import asyncio

        while not done.done():
            try:
                submit(self._pool, self._work_next)
            except OSError:
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                return

    def _forget(self, owner: _Owner, run_id: str, job: Callable[[], None]) -> None:
        with self._lock:
            runs = self._waiting.get(owner, {})
            jobs = runs.get(run_id, deque())
            if job in jobs:
                jobs.remove(job)
            if not jobs:
                runs.pop(run_id, None)
            if not runs:
                self._waiting.pop(owner, None)

    def _work_next(self) -> None:
        with self._lock:
            if not self._waiting:
                return  # whoever had asked has given up
            owner = next(iter(self._waiting))
            runs = self._waiting.pop(owner)
            run_id = next(iter(runs))
            jobs = runs.pop(run_id)
            job = jobs.popleft()
            if jobs:
                runs[run_id] = jobs  # behind all others of the tenant
            if runs:
                self._waiting[owner] = runs  # behind all others
        job()


def _work(done: Future[Result], work: Callable[[], Result]) -> None:
    if done.set_running_or_notify_cancel():
        with _Telling(done):
            done.set_result(work())


class _Telling:
    """Whatever is raised is told whoever waits for the work."""

    def __init__(self, done: Future[Result]) -> None:
        self._fail = done.set_exception

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        if error is not None:
            self._fail(error)
        return True
