"""Plays an example in memory, as people who do what it says."""

import asyncio
from contextlib import suppress
from pathlib import Path

from pydantic import JsonValue
from temporalio.service import RPCError

from holdfast.contracts.approvals import ApprovalRequest, Escalation, Question, Request, Review
from holdfast.contracts.base import JsonObject
from holdfast.contracts.signals import MessageOutcome
from tests.chaos.together.book import lay_out
from tests.chaos.together.casting import Cast, build_control
from tests.chaos.together.office import WAIT, build_app
from tests.chaos.together.scene import Decided, Scene, Seen
from tests.chaos.together.scripts import Again, Drama, Move
from tests.chaos.together.watching import Onlooker
from tests.memory.runs import MemoryRun, MemoryRuns
from tests.memory.tasks import Habits

ROUNDS = 30
"""So often people say yes in the end; who isn't done by then is stopped."""

LONG = 600.0
"""Seconds, after which no call that was lost can be under way any more."""

MOST_WAITS = 5
"""So often time alone is waited for."""


class Play:
    """One example, while it is played."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        self.seen = scene.seen
        self._scene = scene
        self._runs = scene.runs
        self._drama = scene.drama
        self._folder = folder
        self._name = scene.root
        self._onlooker = Onlooker(scene)

    async def play(self) -> Seen:
        """Play it to its end, with all that follows."""
        lay_out(self.seen.book)
        app = build_app(self._drama, Cast(self._scene).speak, self._folder / "policy.yaml")
        archive = f"file:{self._folder / 'archive'}"
        async with self._runs.working(app, archive=archive):
            run = await self._start()
            await self._act(run, self._drama.moves)
            for number, again in enumerate(self._drama.agains):
                run = await self._go_on(run, again, number)
                await self._act(run, again.moves)
            self.seen.is_open = await self._onlooker.is_at_work(run)
            await self._onlooker.look_at_stories()
        self._runs.switches.off = ()
        return self.seen

    async def _start(self) -> MemoryRun:
        self.seen.chain.append(self._name)
        if self._drama.session is not None:
            for _ in range(self._drama.messages - 1):
                await self._say()
            return await self._say()
        brief: JsonObject = {
            "agent": self._drama.agent,
            "input": "go",
            "budget": self._drama.budget,
        }
        if self._drama.domain:
            brief["domain"] = self._drama.domain
        if self._drama.plans:
            brief["mode"] = "plan"
        return await self._runs.start_with(brief, run_id=self._name)

    async def _say(self) -> MemoryRun:
        self.seen.messages += 1
        brief: JsonObject = {"agent": self._drama.agent, "budget": self._drama.budget}
        if self._drama.session:
            brief["session_budget"] = self._drama.session
        message: JsonObject = {"message_id": f"m-{self.seen.messages}", "text": "go"}
        return await self._runs.say(self._name, brief, message)

    async def _go_on(self, run: MemoryRun, again: Again, number: int) -> MemoryRun:
        """Try what has ended again, or open the session again."""
        self._scene.held = False
        if self._drama.session is not None:
            if again.turn:
                await self._tell(run, "close", {"by": "dana"})
                await run.rest()
            return await self._say()
        name = f"{self._name}-{number + 2}"
        earlier: JsonObject = {"run_id": run.id}
        last = [one for one in self.seen.over if one.run_id == run.id]
        if again.turn and last and last[-1].result.status != "blocked":
            earlier["turn"] = min(again.turn, max(last[-1].result.steps, 1))
            earlier["dry"] = again.dry
            self.seen.dry |= {name} if again.dry else set()
        elif last and last[-1].result.status in {"completed", "blocked"}:
            return run
        self.seen.chain.append(name)
        self._scene.root = name
        brief: JsonObject = {"agent": self._drama.agent, "retry_of": earlier, "actor": "erin"}
        return await self._runs.start_with(brief, run_id=name)

    async def _act(self, run: MemoryRun, moves: tuple[tuple[Move, ...], ...]) -> None:
        for several in moves:
            if await self._rest(run):
                break
            pending = await run.pending()
            for move in several:
                await self._do(run, move, pending)
        await self._finish(run)

    async def _rest(self, run: MemoryRun) -> bool:
        over = await run.rest()
        await self._onlooker.observe(run, over=over)
        return over

    async def _do(self, run: MemoryRun, move: Move, pending: tuple[Request, ...]) -> None:
        self.seen.said[move.what] += 1
        chosen = pending[move.about % len(pending)] if pending else None
        match move.what:
            case "approve" | "second" | "reject" | "anonymous" | "twice":
                for _ in range(1 + (move.what == "twice")):
                    await self._decide(run, chosen, move.what)
            case "off" | "on":
                self._scene.switch(move.about if move.what == "off" else None)
            case "kill":
                self._runs.kill_soon()
            case "wait":
                await self._runs.pass_time(2 * WAIT.total_seconds())
            case "cancel" | "message" | "close":
                await self._open_or_close(run, move.what)
            case what:
                await self._answer(run, what, chosen.request_id if chosen else "req-1")

    async def _open_or_close(self, run: MemoryRun, what: str) -> None:
        """Say something to a session or close it; cancel what is none."""
        is_session = self._drama.session is not None
        if what == "message" and is_session:
            await self._say()
        elif what == "close" and is_session:
            await self._tell(run, "close", {"by": "dana"})
        elif what == "cancel" and not is_session:
            with suppress(RPCError):
                await run.cancel()

    async def _answer(self, run: MemoryRun, what: str, about: str) -> None:
        """Say something about a request that is no decision, or about none."""
        more: JsonObject = {"max_steps": 12, "max_tool_calls": 20, "max_tokens": 2000}
        resolutions: dict[str, JsonObject] = {
            "go_on": {"action": "resume"},
            "abort": {"action": "abort"},
            "guide": {"action": "resume", "guidance": "try it so"},
            "extend": {"action": "extend", "budget": more},
        }
        if what == "answer":
            await self._tell(run, "answer", {"request_id": about, "text": "blue"})
        elif what in resolutions:
            await self._tell(run, "resolution", {"request_id": about, **resolutions[what]})
        else:
            self._scene.held &= what != "resume"
            await self._tell(run, *build_control(what))

    async def _decide(self, run: MemoryRun, request: Request | None, how: str) -> None:
        approver = {"second": "olga", "anonymous": "anonymous"}.get(how, "dana")
        decision = "reject" if how == "reject" else "approve"
        if request is None:
            return
        said: JsonObject = {
            "request_id": request.request_id,
            "decision": decision,
            "approver": approver,
            "reason": "so",
        }
        place = self.seen.book.tick()
        if self._drama.divides:  # an update behind what divides a task may be refused
            await self._tell(run, "approval", said)
            unknown = Decided(place, run.id, request, approver, decision, counted=True)
            self.seen.decided.append(unknown)
            return
        with suppress(RPCError, asyncio.CancelledError):
            outcome = await self._wait_outcome(run, said)
            counted = outcome.accepted or outcome.code == "forwarded"
            told = Decided(place, run.id, request, approver, decision, counted=counted)
            self.seen.decided.append(told)

    async def _wait_outcome(self, run: MemoryRun, said: JsonObject) -> MessageOutcome:
        """Wait for an answer, which a run may need time for: that of its loop has to pass."""
        answer = asyncio.ensure_future(run.decide(said))
        await run.rest()
        while not answer.done():
            await self._runs.pass_time(1)
        return await answer

    async def _tell(self, run: MemoryRun, name: str, argument: JsonValue) -> None:
        with suppress(RPCError):
            await run.signal(name, argument)

    async def _finish(self, run: MemoryRun) -> None:
        """Have people say yes until it is over; what isn't by then is stopped."""
        self._scene.switch(None)
        waited = 0
        for _ in range(ROUNDS):
            if await self._rest(run):
                return
            status = await run.status()
            if status.status in {"suspended", "suspending"}:
                self._scene.held = False
                await self._tell(run, "resume", {})
                continue
            if status.status == "idle":
                return
            pending = await run.pending()
            if not pending:  # it waits for time alone, as until a lost write can't happen any more
                waited += 1
                await self._runs.pass_time(LONG)
                if waited > MOST_WAITS:
                    self.seen.flaws.append(f"{run.id} rests as {status.status}, nobody knows why")
                    break
            for request in pending:
                await self._agree(run, request)
        self.seen.said["stopped in the end"] += 1
        await self._tell(run, "stop", {"reason": "enough", "by": "dana"})
        await run.rest()
        await self._runs.pass_time(LONG)
        if not await self._rest(run) and (await run.status()).status != "idle":
            self.seen.flaws.append(f"{run.id} was stopped, and goes on")

    async def _agree(self, run: MemoryRun, request: Request) -> None:
        match request:
            case Question():
                await self._tell(run, "answer", {"request_id": request.request_id, "text": "blue"})
            case Escalation():
                words = {"request_id": request.request_id, "action": "resume"}
                await self._tell(run, "resolution", {**words})
            case ApprovalRequest() | Review():
                strong = request.strength == "strong"
                await self._decide(run, request, "reject" if strong else "approve")
                if request.count > 1:
                    await self._decide(run, request, "second")


async def played(drama: Drama, folder: Path, name: str = "run-1") -> Seen:
    """Play an example on a server of its own."""
    runs = MemoryRuns(Habits(divides=drama.divides, renews_after=drama.forgets))
    try:
        return await Play(Scene(runs, drama, name), folder).play()
    finally:
        await runs.close()
