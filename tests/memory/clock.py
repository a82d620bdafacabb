"""An event loop in a thread of its own, whose clock skips what nobody would see happen."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import TypeVar, TypeVarTuple, Unpack

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")

OWN_READERS = 1
"""What every loop reads from: the pipe by which other threads wake it."""


class SkippingLoop(asyncio.SelectorEventLoop):
    """
    A loop that doesn't wait for its timers while somebody has it skip time.

    Where threads or files are waited for, nobody knows how long that takes: then time goes as it
    goes. So it does when nobody waits, as on a server: a run that waits for people stays put.
    """

    def __init__(self) -> None:
        self._selector_of_ours = _Selector(self.skip)
        self._skipped = 0.0
        self._waiting = 0
        self._jobs = 0
        self._began = datetime.now(UTC)
        super().__init__(self._selector_of_ours)
        self._epoch = self.time()

    def time(self) -> float:
        return super().time() + self._skipped

    def now(self) -> datetime:
        """Return what time it is here."""
        return self._began + timedelta(seconds=self.time() - self._epoch)

    def set_clock(self, by: timedelta) -> None:
        """Set the clock that this server shows; nobody waits for longer or shorter."""
        self._began += by

    @contextmanager
    def skipping(self) -> Generator[None]:
        """Skip time while the block lasts."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def skip(self, seconds: float, readers: int) -> bool:
        """Let so much time have passed, if nothing but timers is waited for."""
        if not self._waiting or self._jobs or readers > OWN_READERS:
            return False
        self._skipped += seconds
        return True

    def run_in_executor(
        self,
        executor: Executor | None,
        func: Callable[[Unpack[Given]], Answer],
        *args: *Given,
    ) -> asyncio.Future[Answer]:
        job = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        job.add_done_callback(self._forget_job)
        return job

    def _forget_job(self, _: asyncio.Future[Answer]) -> None:
        self._jobs -= 1


class _Selector(selectors.PollSelector):
    def __init__(self, skip: Callable[[float, int], bool]) -> None:
        super().__init__()
        self._skip = skip

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        found = super().select(0)
        if found or self._skip(timeout, len(self.get_map())):
            return found
        return super().select(timeout)


class LoopThread:
    """Runs such a loop until it is closed; whoever has another loop calls into it."""

    def __init__(self) -> None:
        self.loop = SkippingLoop()
        self._thread = Thread(target=self.loop.run_forever, name="memory", daemon=True)
        self._thread.start()

    async def call(self, work: Coroutine[object, object, Answer]) -> Answer:
        """Have the loop do something, and return what it comes to."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    async def close(self) -> None:
        """End the loop, and whatever still goes on in it."""
        await self.call(_end_tasks())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


async def _end_tasks() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()
