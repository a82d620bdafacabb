"""
What large results hold of a worker's memory, from the tool until they have been read.

There is room for a few. Whoever holds least of it is next: each tenant has its turn, and of a
tenant each run.
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.errors import ToolError

MAX_SMALL_BYTES = 100_000
"""Bytes of a result that waits for nobody: so many have all that a worker has places for."""

MAX_HELD_BYTES = 100_000_000
"""Of those that are read, and cleared of secrets, together; six of the largest."""

MAX_WAITING_BYTES = 100_000_000
"""Of those together that wait and are in the worker's memory already."""


class NoRoom(ToolError):
    """A call is done, and its worker has no room for what it returned, or no time."""

    def __init__(self) -> None:
        super().__init__("internal_error", "the result has no room")


@dataclass(eq=False)
class _Result:
    """A result that waits for room, or has it."""

    tenant: str
    run_id: str
    size: int
    is_here: bool
    task: asyncio.Task[object]
    turn: asyncio.Future[bool]


class ResultRoom:
    """Knows which results are `held`, and which are `waiting` to be."""

    def __init__(self) -> None:
        self.held: list[_Result] = []
        self.waiting: list[_Result] = []

    async def take(self, invocation: ToolInvocation, size: int, *, is_here: bool) -> None:
        """
        Wait for room for the result of a call; raises NoRoom.

        It has it until the task that asks is over, or says that it has been read. What isn't here
        yet costs nothing while it waits. Where what *is_here* is too much, the largest of whoever
        has most of it is given up.
        """
        task = asyncio.current_task()
        if size <= MAX_SMALL_BYTES or task is None:
            return
        turn = asyncio.get_running_loop().create_future()
        result = _Result(invocation.tenant, invocation.run_id, size, is_here, task, turn)
        self.waiting.append(result)
        self._go_on()
        try:
            has_room = await turn
        except asyncio.CancelledError:
            self._leave(result)
            raise
        if not has_room:
            raise NoRoom
        task.add_done_callback(partial(self._release, result))

    def free(self) -> None:
        """Have room for others again: what the task that asks held has been read."""
        task = asyncio.current_task()
        for result in [one for one in self.held if one.task is task]:
            self._leave(result)

    def _release(self, result: _Result, _: asyncio.Task[object]) -> None:
        self._leave(result)

    def _leave(self, result: _Result) -> None:
        for place in (self.held, self.waiting):
            if result in place:
                place.remove(result)
        self._go_on()

    def _go_on(self) -> None:
        self._let_in()
        self._give_up()

    def _let_in(self) -> None:
        """Let in whoever is next, if there is room; nobody overtakes, or who is large had none."""
        self.waiting = [one for one in self.waiting if not one.turn.done()]
        while self.waiting:
            first = min(self.waiting, key=self._rank)
            if self.held and _sum(self.held) + first.size > MAX_HELD_BYTES:
                return
            self.waiting.remove(first)
            self.held.append(first)
            first.turn.set_result(True)

    def _rank(self, result: _Result) -> tuple[int, int]:
        of_tenant = [one for one in self.held if one.tenant == result.tenant]
        return _sum(of_tenant), _sum([one for one in of_tenant if one.run_id == result.run_id])

    def _give_up(self) -> None:
        while _sum(here := [one for one in self.waiting if one.is_here]) > MAX_WAITING_BYTES:
            held = {one.tenant: 0 for one in here}
            for one in here:
                held[one.tenant] += one.size
            last = max(reversed(here), key=lambda one: (held[one.tenant], one.size))
            self.waiting.remove(last)
            last.turn.set_result(False)


def _sum(results: list[_Result]) -> int:
    return sum(one.size for one in results)


RESULT_ROOM = ResultRoom()
"""That of this process."""
