"""Plays scripts on a real server, with a worker that comes and goes."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

from pydantic import JsonValue
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowHistory,
)
from temporalio.service import RPCError, RPCStatusCode

from holdfast import App
from holdfast.contracts.approvals import Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.errors import ModelRejected, ModelUnavailable
from holdfast.contracts.run import RunResult, StatusReport
from holdfast.contracts.transcript import TranscriptItem, TranscriptPage
from holdfast.contracts.usage import UsageMetrics
from holdfast.histories import fetch
from holdfast.testing import Reply, ScriptTurn, call, fail, say
from tests.chaos.scripts import LOG, MARKS, Asked, Message, Script
from tests.histories import Story
from tests.running import Answer, AnyRun, Run, Runs
from tests.sample import lines

PATIENCE = 60.0
"""Seconds until a run that neither ends nor rests counts as stuck."""

LOOK = 0.03
"""Seconds from one look at a run to the next; a worker that shall leave does so at once."""

LOST = timedelta(seconds=2)
"""How long a workflow task that a worker took with it keeps its run waiting."""

PAUSE = timedelta(seconds=1)
"""The longest pause that a run makes without waiting for anything."""


@dataclass(frozen=True)
class Played:
    """
    What is left of a run whose script is over: it ended, or rested and was then cancelled.

    In memory it has no histories.
    """

    script: Script
    result: RunResult | None
    status: StatusReport
    pending: tuple[Request, ...]
    usage: UsageReport
    items: tuple[TranscriptItem, ...]
    effects: tuple[str, ...]
    histories: tuple[WorkflowHistory, ...]
    stories: tuple[Story, ...]


class Cast:
    """Speaks for the models of scripts, by the runs that play them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scripts: dict[str, Script] = {}
        self._left: set[tuple[str, int]] = set()

    def leave(self) -> None:
        """Have the worker replaced; whoever has none to replace does nothing."""

    def spoken(self, turn: ScriptTurn, *, first: bool) -> Reply:
        """Speak for the first or the second model of a run."""
        script = self._scripts.get(turn.run_id)
        if script is None:  # it works for a run that has one
            return call("add", a=1, b=2) if turn.number == 1 else say('{"facts": ["so"]}')
        if turn.number > len(script.turns):
            return say("done")
        reply = script.turns[turn.number - 1]
        if reply.restart and (turn.run_id, turn.number) not in self._left:
            self._left.add((turn.run_id, turn.number))
            self.leave()
        if first and reply.fails == "always":
            return fail(ModelRejected("not for me"))
        if first and reply.fails == "once" and turn.attempt == 1:
            return fail(ModelUnavailable("busy", retry_after=0.01))
        return Reply(
            text=reply.text,
            calls=tuple(self._call(turn.run_id, asked) for asked in reply.calls),
            usage=UsageMetrics(input_tokens=reply.tokens),
        )

    def _call(self, run_id: str, asked: Asked) -> tuple[str, JsonObject | str]:
        if isinstance(asked.arguments, str):
            return asked.tool, asked.arguments
        log = str(self._log(run_id))
        given = {
            name: value.replace(LOG, log) if isinstance(value, str) else value
            for name, value in asked.arguments.items()
        }
        return asked.tool, given

    def _log(self, run_id: str) -> Path:
        return self._folder / run_id


class Stage(Cast):
    """Where scripts are played, one after the other."""

    def __init__(
        self, runs: Runs, folder: Path, *, cached_transcripts: int, onlookers: int
    ) -> None:
        super().__init__(folder)
        self._runs = runs
        self._cached_transcripts = cached_transcripts
        self._onlookers = onlookers
        # Who forgets builds a run anew in each task, which takes the time that it takes.
        self._task_timeout = LOST if cached_transcripts else None
        self._leaving = asyncio.Event()
        self._worker = AsyncExitStack()
        self._app: App | None = None

    async def open(self, app: App) -> None:
        """Have a worker for this app."""
        self._app = app
        await self._worker.enter_async_context(
            self._runs.working(
                app,
                cached_transcripts=self._cached_transcripts,
                client=await self._runs.another_client(),  # the last one may not be free yet
            )
        )

    async def close(self) -> None:
        """Let the worker go; what it has in hand it may finish."""
        await self._worker.aclose()

    async def play(self, script: Script) -> Played:
        """Play a script to its end, or until nothing moves any more and nobody says more."""
        run_id = f"chaos-{uuid4().hex[:8]}"
        self._scripts[run_id] = script
        handle = await self._runs.client.start_workflow(
            "AgentRun",
            {"agent": script.agent, "input": script.goal, "budget": script.budget},
            id=run_id,
            task_queue=self._runs.queue,
            task_timeout=self._task_timeout,
            result_type=RunResult,
        )
        run = Run(handle)
        async with _watched(handle, self._onlookers):
            await self._say(run, script.early, ())
            for reaction in (*script.reactions, None):
                await self._insist(partial(self._rest, handle))
                if reaction is None or await _ended(handle):
                    break
                pending = await self._insist(run.pending)
                for what in reaction:
                    if what.what == "restart":
                        await self._restart()
                    else:
                        await self._say(run, (what,), pending)
        return await self._insist(partial(self._seen, run, script))

    async def _insist(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """
        Ask, and once more behind a restart where workers remember no runs.

        The core of such a worker (SDK 1.35) may lose a task in which a local activity ends, and
        waits for it until it is ended.
        """
        if self._task_timeout is not None:
            return await ask()
        try:
            async with asyncio.timeout(PATIENCE):
                return await ask()
        except TimeoutError:
            await self._restart()
            return await ask()

    def leave(self) -> None:
        self._leaving.set()

    async def _restart(self) -> None:
        assert self._app is not None
        await self.close()
        self._leaving.clear()
        await self.open(self._app)

    async def _rest(self, handle: WorkflowHandle[object, RunResult]) -> None:
        """Wait until the run is over, or can't move unless somebody says something."""
        async with asyncio.timeout(PATIENCE):
            while not await _rests(self._runs.client, handle):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._leaving.wait(), LOOK)
                if self._leaving.is_set():
                    await self._restart()

    async def _say(
        self, run: Run, messages: tuple[Message, ...], pending: tuple[Request, ...]
    ) -> None:
        for message in messages:
            for name, arguments in build_signals(message, pending):
                try:
                    await run.handle.signal(name, args=arguments)
                except RPCError as error:
                    if error.status is not RPCStatusCode.NOT_FOUND:
                        raise
                    return  # the run has ended

    async def _seen(self, run: Run, script: Script) -> Played:
        over = await _ended(run.handle)
        status, pending = await run.status(), await run.pending()
        usage = await run.handle.query("usage", result_type=UsageReport)
        items = await read_items(run)
        effects = tuple(lines(self._log(run.handle.id)))
        if over:
            result = await run.result()
        else:
            result = None
            await run.handle.cancel()
            await self._rest(run.handle)
        histories = await fetch(self._runs.client, run.handle.id)
        return Played(
            script=script,
            result=result,
            status=status,
            pending=pending,
            usage=usage,
            items=items,
            effects=effects,
            histories=histories,
            stories=histories,
        )


Casting: TypeAlias = Callable[[Cast], App]
"""Builds the app whose models speak the scripts of a stage."""


@asynccontextmanager
async def staged(
    runs: Runs,
    folder: Path,
    casting: Casting,
    *,
    cached_transcripts: int = 256,
    onlookers: int = 0,
) -> AsyncGenerator[Stage]:
    """Have a stage, and a worker, while the block lasts; onlookers ask runs without a pause."""
    stage = Stage(runs, folder, cached_transcripts=cached_transcripts, onlookers=onlookers)
    await stage.open(casting(stage))
    try:
        yield stage
    finally:
        await stage.close()


@asynccontextmanager
async def _watched(
    handle: WorkflowHandle[object, RunResult], onlookers: int
) -> AsyncGenerator[None]:
    """Have so many ask how the run is, all the time: the server divides its workflow tasks."""
    looking = [asyncio.create_task(_look(handle)) for _ in range(onlookers)]
    try:
        yield
    finally:
        for one in looking:
            one.cancel()
        await asyncio.gather(*looking, return_exceptions=True)


async def _look(handle: WorkflowHandle[object, RunResult]) -> None:
    while True:
        try:
            await handle.query("status", rpc_timeout=timedelta(seconds=5))
        except RPCError:
            await asyncio.sleep(0.05)  # no worker is there now


async def _ended(handle: WorkflowHandle[object, RunResult]) -> bool:
    return (await handle.describe()).status is not WorkflowExecutionStatus.RUNNING


async def _rests(client: Client, handle: WorkflowHandle[object, RunResult]) -> bool:
    """Whether a run is over, or nothing moves in it and in those that work for it."""
    description = await handle.describe()
    raw = description.raw_description
    if description.status is not WorkflowExecutionStatus.RUNNING:
        return True
    length = raw.workflow_execution_info.history_length
    fresh = length < 3  # its execution hasn't begun yet
    if fresh or raw.pending_activities or raw.HasField("pending_workflow_task"):
        return False
    for part in raw.pending_children:
        if not await _rests(client, client.get_workflow_handle(part.workflow_id)):
            return False
    events = [event async for event in handle.fetch_history_events()]
    return len(events) == length and not _pauses(events)


def _pauses(events: Iterable[HistoryEvent]) -> bool:
    """Whether a run goes on by itself, and soon: after it has heard something, say."""
    soon: set[int] = set()
    for event in events:
        match event.event_type:
            case EventType.EVENT_TYPE_TIMER_STARTED:
                timer = event.timer_started_event_attributes
                if timer.start_to_fire_timeout.ToTimedelta() <= PAUSE:
                    soon.add(event.event_id)
            case EventType.EVENT_TYPE_TIMER_FIRED:
                soon.discard(event.timer_fired_event_attributes.started_event_id)
            case EventType.EVENT_TYPE_TIMER_CANCELED:
                soon.discard(event.timer_canceled_event_attributes.started_event_id)
            case _:
                pass
    return bool(soon)


async def read_items(run: AnyRun) -> tuple[TranscriptItem, ...]:
    items: tuple[TranscriptItem, ...] = ()
    offset: int | None = 0
    while offset is not None:
        page = await run.query("transcript", TranscriptPage, {"offset": offset})
        items, offset = (*items, *page.items), page.next_offset
    return items


def build_signals(
    message: Message, pending: tuple[Request, ...]
) -> tuple[tuple[str, list[JsonValue]], ...]:
    """Return the signals, with their arguments, by which a person says this."""
    about = pending[message.about % len(pending)].request_id if pending else "req-1"
    approval: JsonObject = {"request_id": about, "decision": "approve", "approver": "alice"}
    resolution: JsonObject = {"request_id": about, "guidance": "try something else"}
    more: JsonObject = {"max_steps": 8, "max_tool_calls": 12}
    said: dict[str, tuple[tuple[str, list[JsonValue]], ...]] = {
        "approve": (("approval", [approval]),),
        "twice": (("approval", [approval]), ("approval", [approval])),
        "reject": (("approval", [{**approval, "decision": "reject"}]),),
        "anonymous": (("approval", [{**approval, "approver": "anonymous"}]),),
        "stale": (("approval", [{**approval, "request_id": "req-77"}]),),
        "answer": (("answer", [{"request_id": about, "text": "the blue one"}]),),
        "resume_run": (("resolution", [{**resolution, "action": "resume"}]),),
        "abort": (("resolution", [{**resolution, "action": "abort"}]),),
        "extend": (("resolution", [{**resolution, "action": "extend", "budget": more}]),),
        "steer": (("steer", [{"text": "mind the gap"}]),),
        "steer_now": (("steer", [{"text": "mind the step", "now": True}]),),
        "steer_badly": (("steer", [{"text": MARKS["input"]}]),),
        "suspend": (("suspend", [{}]),),
        "resume": (("resume", []),),
        "stop": (("stop", [{"reason": "enough", "by": "dana"}]),),
        "not_json": (("approval", ["no object"]),),
        "no_such_signal": (("aproval", [approval]),),
        "too_many": (("approval", [approval, approval]),),
        "wrong_type": (("approval", [{"request_id": 5}]),),
    }
    return said[message.what]
