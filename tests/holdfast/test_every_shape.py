"""Every command shows a run of every shape: to its end, or with one line that says why not."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError

from holdfast import App
from holdfast.cli import main
from holdfast.contracts.base import JsonObject
from holdfast.testing import call, say, using
from tests.control.approaches import backtracking
from tests.control.test_judges import FINE, USED, judged
from tests.histories import children
from tests.running import Run, Runs
from tests.sample import scripted
from tests.workflows.test_children import PARTS, PLAN
from tests.workflows.tiered import staffed

pytestmark = pytest.mark.usefixtures("command_line")

SEND = [call("send", log="/dev/null", text="hello"), say("Sent.")]
ASKED = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED

Making: TypeAlias = Callable[[Runs], AsyncGenerator[Run]]


def ends(app: App, goal: str = "go", agent: str = "it") -> Making:
    """Make runs of this app that end by themselves."""

    async def made(runs: Runs) -> AsyncGenerator[Run]:
        async with runs.working(app):
            run = await runs.start(agent, goal, session_id="one day")
            await asyncio.wait({asyncio.create_task(run.result())})
            yield run

    return made


async def waiting(runs: Runs) -> AsyncGenerator[Run]:
    async with runs.working(scripted(SEND)):
        run = await runs.start("it")
        await run.asked()
        yield run


async def suspended(runs: Runs) -> AsyncGenerator[Run]:
    async for run in waiting(runs):
        await run.signal("suspend", {})
        yield run


async def suspended_at_last(runs: Runs) -> AsyncGenerator[Run]:
    async for run in waiting(runs):
        await run.signal("suspend", {})
        await run.approve("req-1")
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        yield run


async def cancelled(runs: Runs) -> AsyncGenerator[Run]:
    async for run in waiting(runs):
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await run.result()
        yield run


async def terminated(runs: Runs) -> AsyncGenerator[Run]:
    async for run in waiting(runs):
        await run.handle.terminate()
        yield run


async def without_a_worker(runs: Runs) -> AsyncGenerator[Run]:
    yield await runs.start("it")


async def terminated_before_it_began(runs: Runs) -> AsyncGenerator[Run]:
    run = await runs.start("it")
    await run.handle.terminate(reason="nobody wants it")
    yield run


async def timed_out(runs: Runs) -> AsyncGenerator[Run]:
    handle = await runs.client.start_workflow(
        "AgentRun",
        {"agent": "it", "input": "go"},
        id=f"late-{runs.queue}",
        task_queue=runs.queue,
        execution_timeout=timedelta(milliseconds=50),
    )
    with pytest.raises(WorkflowFailureError):
        await handle.result()
    yield Run(handle)


async def reset(runs: Runs) -> AsyncGenerator[Run]:
    async for run in waiting(runs):
        events = (await run.handle.fetch_history()).events
        first = next(event.event_id for event in events if event.event_type == ASKED)
        again = await runs.reset(run, first)
        await again.asked()
        yield again


SHAPES: dict[str, Making] = {
    "plain": ends(scripted([say("done")])),
    "tiers": ends(staffed({"coder": [using(say("done"), USED)]})),
    "second tier": ends(staffed({"coder": [], "clerk": [using(say("done"), USED)]})),
    "decomposed": ends(staffed({"planner": [say(PLAN)], "hand": [say("done")]}, tiers=PARTS)),
    "no tier": ends(staffed({})),
    "backtracking": ends(backtracking(), goal="2"),
    "no approach": ends(backtracking(), goal="none"),
    "judged": ends(judged([say("done")], [say(FINE)])),
    "continued as new": ends(
        scripted([call("look", place="here"), say("done")], max_history_events=1)
    ),
    "failed at the start": ends(scripted([say("done")]), goal=""),
    "stopped": ends(scripted([call("look", place="here")] * 9)),
    "waiting": waiting,
    "suspended while it waits": suspended,
    "suspended": suspended_at_last,
    "cancelled": cancelled,
    "terminated": terminated,
    "without a worker": without_a_worker,
    "terminated before it began": terminated_before_it_began,
    "timed out": timed_out,
    "reset": reset,
}


@asynccontextmanager
async def made(shape: str, runs: Runs) -> AsyncGenerator[Run]:
    """Have a run of this shape while the block lasts."""
    making = SHAPES[shape](runs)
    yield await anext(making)
    await anext(making, None)


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_command_shows_it(
    runs: Runs, shape: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing crashes, whatever a run is made of and wherever it stands."""
    # TR-01 OB-04
    file = str(tmp_path / "run.json")
    async with made(shape, runs) as run:
        name = run.handle.id
        ended = [
            (command, await asyncio.to_thread(main.run, command))
            for command in (
                *(["show", name], ["show", name, "--json"], ["trace", name]),
                *(["trace", name, "--json"], ["export", name], ["export", name, "--output", file]),
                *(["trace", file], ["trace", file, "--json"], ["replay", name], ["replay", file]),
                *(["list"], ["pending", name]),
            )
        ]
    err = capsys.readouterr().err

    refused = [command for command, code in ended if code]
    assert refused == ([["pending", name]] if shape == "without a worker" else [])
    assert "unexpected" not in err
    assert err.count("\n") == len(refused) + err.count("nothing waits")


async def test_what_parts_used_is_known(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that has others do the work shows what they used, and whose session it is."""
    # TR-01 TR-08 GF-07
    async with made("tiers", runs) as run:
        name = run.handle.id
        capsys.readouterr()
        await asyncio.to_thread(main.run, ["trace", name])
        used = capsys.readouterr().out.splitlines()[-1]
        await asyncio.to_thread(main.run, ["trace", name, "--json"])
        tree: JsonObject = json.loads(capsys.readouterr().out)
        (part,) = children(await run.handle.fetch_history())
        await asyncio.to_thread(main.run, ["trace", f"{name}.{part}", "--json"])
        inner: JsonObject = json.loads(capsys.readouterr().out)

    assert "used    1 model turn, 0 tool calls, 110 tokens" in used
    assert tree["group_id"] == inner["group_id"] == "one day"
    assert tree["trace_id"] != inner["trace_id"]
    spans = tree["spans"]
    assert isinstance(spans, list)
    # The run, what stands for its part, and the part itself with what its model was asked.
    told = [span["type"] for span in spans if isinstance(span, dict)]
    assert told == ["agent", "agent", "agent", "generation"]
