"""
Whether runs fail while a release rolls out: 50 open for a minute, old and new worker side by side.

The release adds an agent, takes one away and renames a tool. Some runs wait for people, who decide
in their own time. Takes about two minutes: `python -m bench.rollout`.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack

from temporalio.client import Client

from bench.processes import server
from holdfast import Agent, App, Risk, Tool, ToolContext, logs, tool
from holdfast.cli import standing
from holdfast.client import Holdfast, PendingRequest, Run
from holdfast.contracts.approvals import ApprovalRequest, Escalation, Question, Review
from holdfast.contracts.errors import HoldfastError
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from holdfast.tools import ask_user
from holdfast.worker import run_worker

OPEN_RUNS = 50
SECONDS = 60.0
QUEUE = "rollout"
SENT = Counter[str]()


@tool(risk=Risk.READ_ONLY)
async def look(place: str) -> str:
    """Look at a place."""
    return f"{place} is fine"


@tool(risk=Risk.WRITE_INTERNAL)
async def send(text: str, ctx: ToolContext) -> str:
    """Send a text."""
    SENT[f"{ctx.run_id} {text}"] += 1
    return "sent"


@tool(risk=Risk.WRITE_INTERNAL)
async def dispatch(text: str, ctx: ToolContext) -> str:
    """Send a text: the same under its new name."""
    SENT[f"{ctx.run_id} {text}"] += 1
    return "sent"


def _working_with(name: str) -> Script:
    """Look, send by the name that the run knows, ask a person, look again, answer."""

    def script(turn: ScriptTurn) -> Reply:
        if any(result.status != "ok" for result in turn.results):
            return call("dispatch", text="hi")  # the run began with the release that renamed it
        asked = [result.name for result in turn.results]
        match asked:
            case []:
                return call("look", place="here")
            case ["look"] if turn.last("ask_user") is None:
                return call(name, text="hi")
            case ["send" | "dispatch"]:
                return call("ask_user", question="And now?")
            case ["ask_user"]:
                return call("look", place="there")
            case _:
                return say("done")

    return script


def _release(tools: Sequence[Tool], agents: Sequence[str]) -> App:
    return App(
        name="shop",
        agents=[
            Agent(
                name=name,
                instructions="Do as you are told.",
                models=[f"scripted:{name}"],
                tools=[look, ask_user, *tools],
            )
            for name in agents
        ],
        scripts={
            name: _working_with("dispatch" if name == "newcomer" else "send") for name in agents
        },
    )


BEFORE = _release([send], ["clerk", "leaver"])
AFTER = _release([dispatch], ["clerk", "newcomer"])


class _Load:
    """Runs that are started as others end, and people who decide what they ask."""

    def __init__(self, holdfast: Holdfast) -> None:
        self.runs: list[Run] = []
        self._holdfast = holdfast
        self._open = 0
        self._chance = random.Random(7)
        self._ends: set[asyncio.Task[str]] = set()

    async def keep_open(self, agents: Sequence[str], seconds: float) -> None:
        """Have so many runs open for a while, and decide what waits now and then."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            while self._open < OPEN_RUNS:
                await self._start(self._chance.choice(agents))
            await self._decide(0.5)

    async def drain(self) -> Counter[str]:
        """Decide whatever waits until all runs are over; return how many ended how."""
        while self._open:
            await self._decide(1.0)
        return Counter([await end for end in self._ends])

    async def _start(self, agent: str) -> None:
        run = await self._holdfast.start(agent, "go", queue=QUEUE, actor="web")
        self._open += 1
        self.runs.append(run)
        self._ends.add(asyncio.create_task(self._end(run)))

    async def _end(self, run: Run) -> str:
        try:
            return (await run.result()).status
        finally:
            self._open -= 1

    async def _decide(self, share: float) -> None:
        waiting = list[PendingRequest]()
        try:
            async for one in self._holdfast.pending():
                waiting.append(one)
        except HoldfastError:
            pass  # a run that has just been handed back answers the next time
        for run, request in waiting:
            if self._chance.random() > share:
                continue
            try:
                match request:
                    case Question():
                        await run.answer(request, "nothing more", by="dana")
                    case ApprovalRequest() | Review():
                        await run.approve(request, approver="dana")
                    case Escalation():
                        await run.resolve(request, "abort", by="dana")
            except HoldfastError:
                pass  # it was decided meanwhile, or is over
        await asyncio.sleep(0.5)


async def _connect(client: Client, identity: str) -> Client:
    host = client.service_client.config.target_host
    return await Client.connect(host, data_converter=client.data_converter, identity=identity)


async def _roll_out(client: Client) -> None:
    load = _Load(Holdfast(client))
    async with AsyncExitStack() as new:
        async with run_worker(await _connect(client, "old"), BEFORE, task_queue=QUEUE):
            await load.keep_open(["clerk", "leaver"], 10)
            began = time.monotonic()
            fresh = await _connect(client, "new")
            await new.enter_async_context(run_worker(fresh, AFTER, task_queue=QUEUE))
            await load.keep_open(["clerk", "newcomer"], SECONDS)
            ended = await load.drain()
            together = time.monotonic() - began
        shown = [await standing.view(run) for run in load.runs]
    lines = Counter(line for view in shown for line in view.handed_back)
    print(f"{len(load.runs)} runs, {OPEN_RUNS} open at once, {together:.0f} s side by side")
    print(f"ended: {dict(ended)}; sent more than once: {sum(n > 1 for n in SENT.values())}")
    print(f"runs that were handed back: {sum(bool(view.handed_back) for view in shown)}")
    for line, number in lines.most_common():
        print(f"{number:6}  {line}")
    if set(ended) != {"completed"} or any(number > 1 for number in SENT.values()):
        raise SystemExit("bench: a run failed, or sent twice")


async def _main() -> None:
    logs.configure(str, quiet=True)
    async with server() as client:
        await _roll_out(client)


if __name__ == "__main__":
    asyncio.run(_main())
