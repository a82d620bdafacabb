"""Looks at an example as outsiders may: by queries, results and what history shows."""

from typing import TypeVar

from pydantic import JsonValue
from temporalio.client import WorkflowFailureError, WorkflowQueryFailedError
from temporalio.service import RPCError

from holdfast.contracts.approvals import Request, Review
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.run import StatusReport
from holdfast.contracts.sessions.messages import OutcomeReport
from tests.chaos.together.scene import Over, Scene
from tests.histories import noted
from tests.memory.runs import MemoryRun

Answer = TypeVar("Answer")

ASKED = ("status", "transcript", "usage", "carryover", "session", "conversation", "archive")
"""What anybody may ask without a proof that they have read the history."""


class Onlooker:
    """Somebody who may ask all that can be asked."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._looked_at: dict[str, int] = {}

    async def observe(self, run: MemoryRun, *, over: bool) -> None:
        """Look at the run and all its parts as anybody may, and at how it stands."""
        status = await self.read(run, "status", StatusReport)
        if status is not None:
            waits = await self._look_at_all()
            await self._look_at_requests(run, status, over=over, waits=waits)
            self._scene.held = status.status == "suspended"
            usage = await self.read(run, "usage", UsageReport)
            if usage is not None:
                self._scene.seen.usages[run.id] = usage
        if over:
            await self._end(run)
        if status is not None and self._scene.drama.session is not None:
            await self._look_at_messages(run)

    async def _look_at_all(self) -> bool:
        """Ask each run all that it answers; whether any waits for time alone."""
        waits = False
        for run_id in self._scene.list_runs():
            part = self._scene.runs.find(run_id)
            one = await self.read(part, "status", StatusReport)
            waits |= one is not None and one.waiting is not None
            version = self._scene.runs.server.newest(run_id).tasks.length
            if self._looked_at.get(run_id) != version:
                self._looked_at[run_id] = version
                for name in ASKED:
                    told = await self.read(part, name, object)
                    self._scene.keep(f"{run_id} {name}", told)
        return waits

    async def _look_at_requests(
        self, run: MemoryRun, status: StatusReport, *, over: bool, waits: bool
    ) -> None:
        pending = await run.pending()
        for request in pending:
            if not isinstance(request, Review):  # who reviews is shown what it is about
                self._scene.keep(f"{run.id} pending", request)
        if over or not _find_odds(status, pending, waits=waits):
            return
        await run.rest()  # time may have passed between two questions
        again = await self.read(run, "status", StatusReport)
        if again is not None:
            flaws = _find_odds(again, await run.pending(), waits=waits)
            self._scene.seen.flaws += [f"{run.id} {flaw}" for flaw in flaws]

    async def read(
        self, run: MemoryRun, name: str, kind: type[Answer], *arguments: JsonValue
    ) -> Answer | None:
        """Ask a run something; null where it doesn't answer, or can't be asked that."""
        try:
            await run.rest()
            return await run.query(name, kind, *arguments)
        except (RPCError, WorkflowQueryFailedError):
            return None

    async def is_at_work(self, run: MemoryRun) -> bool:
        """Whether a session is at work on a message."""
        status = await self.read(run, "status", StatusReport)
        return status is not None and status.status not in {"idle", "completed"}

    async def look_at_stories(self) -> None:
        """Have all that happened happen again: it must come to the same."""
        seen = self._scene.seen
        for run_id in self._scene.list_runs():
            stories = await self._scene.runs.find(run_id).stories()
            seen.notes[run_id] = [one for story in stories for one in noted(story)]
            seen.said.update({"continued": len(stories) - 1} if len(stories) > 1 else {})
            for one in seen.notes[run_id]:
                self._scene.keep(f"{run_id} summary of {one.name}", one.summary)

    async def _end(self, run: MemoryRun) -> None:
        seen = self._scene.seen
        if run.id in seen.ended or self._scene.drama.session is not None:
            return
        try:
            result = await run.result()
        except WorkflowFailureError as error:
            seen.said[f"never began, or was cancelled: {error.cause}"[:90]] += 1
        else:
            self._scene.keep(f"{run.id} result", result)
            seen.over.append(Over(run.id, result, seen.book.tick()))
        seen.ended[run.id] = seen.book.tick()

    async def _look_at_messages(self, run: MemoryRun) -> None:
        seen = self._scene.seen
        known = {one.message for one in seen.over}
        for number in range(1, seen.messages + 1):
            name = f"m-{number}"
            found = await self.read(run, "outcome", OutcomeReport, {"message_id": name})
            if found is not None and found.result is not None:
                self._scene.keep(f"{run.id} outcome", found.result)
                if name not in known:
                    seen.over.append(Over(run.id, found.result, seen.book.tick(), name))


def _find_odds(status: StatusReport, pending: tuple[Request, ...], *, waits: bool) -> list[str]:
    """Say what of a run that is at rest doesn't fit together."""
    found: list[str] = []
    if len(status.waits_for) != len(pending):
        asked = [one.request_id for one in pending]
        found.append(f"waits for {status.waits_for}, and asks {asked}")
    if status.status == "running" and not pending and not waits:
        found.append(f"rests, and is running: {status.in_flight}")
    return found
