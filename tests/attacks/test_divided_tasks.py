"""A query divides a workflow task around a local activity: the run replays all the same."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio import activity, workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError, WorkflowHandle, WorkflowHistory
from temporalio.exceptions import CancelledError
from temporalio.worker import Replayer, Worker

from holdfast import Agent, App, Budget, Risk, tool
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.guardrails import GuardrailResult
from holdfast.contracts.run import RunResult
from holdfast.guardrails import GuardrailContext, Subject, guardrail, passed, pii_detection
from holdfast.runner import RUNNER, build_replayer
from holdfast.testing import call, calls, say
from holdfast.workflows.agent_run import AgentRun
from holdfast.workflows.options import is_history_long
from tests.control.guarded import replayed
from tests.running import Run, Runs
from tests.sample import lines, note

SAID = {
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
    EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
}


@tool(risk=Risk.READ_ONLY, max_result_chars=100_000)
async def find_person(log: str) -> str:
    """Find a person in the register, when it may."""
    await _hold(log)
    return "ada.lovelace@example.org " + "and so on " * 9_000


async def test_a_run_is_looked_at_while_its_guardrails_look(runs: Runs, tmp_path: Path) -> None:
    """A run is resumed and looked at while its worker is replaced; the next one takes it over."""
    # GR-10
    log = tmp_path / "log"
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[find_person],
        guardrails=[pii_detection(mode="parallel", on_trip="ask", watches=("results",))],
        budget=Budget(max_steps=9),
    )
    app = App(
        agents=[agent], scripts={"it": [call("find_person", log=str(log)), *[say("done")] * 4]}
    )
    run = await runs.start("it")
    async with runs.working(app):
        while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.signal("suspend", {})
        Path(f"{log}.go").touch()
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
    await run.signal("resume", {})
    looking = asyncio.create_task(run.handle.query("status", rpc_timeout=timedelta(seconds=60)))
    await asyncio.sleep(0)
    async with runs.working(app, client=await runs.another_client()):
        (review,) = await run.asked()
        await looking
    async with runs.working(app, client=await runs.another_client()):
        await run.approve(review.request_id)
        result = await run.result()
        await replayed(run)

    assert result.status == "completed"


@tool(risk=Risk.READ_ONLY, timeout=10, local=True)
async def look_around(log: str) -> str:
    """Look at a place for as long as it takes."""
    await _hold(log)
    return "all quiet"


async def _hold(log: str) -> None:
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


@tool(risk=Risk.READ_ONLY, timeout=10, local=True)
async def let_go(log: str) -> str:
    """Let who looks around go on."""
    Path(f"{log}.go").touch()
    return "gone"


@tool(risk=Risk.READ_ONLY)
async def look_again(log: str) -> str:
    """Look once more."""
    note(log, "looked again")
    return "all quiet"


async def test_local_activities_end_in_any_order(runs: Runs, tmp_path: Path) -> None:
    """The first of two ends behind the second: both are heard of."""
    log = str(tmp_path / "log")
    both = calls(call("look_around", log=log), call("let_go", log=log))
    agent = Agent(
        name="it", instructions="Look.", models=["scripted:it"], tools=[look_around, let_go]
    )
    run = await runs.start("it")
    async with runs.working(App(agents=[agent], scripts={"it": [both, say("done")]})):
        result = await run.result()
        results = await run.results()
        await replayed(run)

    assert result.status == "completed"
    assert [type(one) for one in results] == [ToolSuccess, ToolSuccess]


async def test_who_cancels_while_a_run_is_looked_at_is_heard(runs: Runs, tmp_path: Path) -> None:
    """A run that goes on in a new execution behind a local activity hears what came before."""
    # T-44
    log = tmp_path / "log"
    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[look_around, look_again],
        max_history_events=10,
    )
    script = [call("look_around", log=str(log)), call("look_again", log=str(log)), say("done")]
    app = App(agents=[agent], scripts={"it": script})
    run = await _start(runs)
    async with runs.working(app):
        while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.handle.cancel()
        while not await _is_told(run):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        Path(f"{log}.go").touch()
        with pytest.raises(WorkflowFailureError) as ended:
            await run.result()

    assert isinstance(ended.value.cause, CancelledError)
    assert "looked again" not in lines(log)


async def test_who_suspends_while_a_guardrail_looks_is_heard(runs: Runs, tmp_path: Path) -> None:
    """
    What a slow local guardrail looks at doesn't begin once the run is suspended.

    Its replay knows how long the guardrail looked, whatever it takes the time to be: where a
    workflow task was divided it has another than the run had.
    """
    # BY-62
    log = tmp_path / "log"

    @guardrail(layer="pre_execution", local=True, timeout=10)
    async def patient(_: Subject, __: GuardrailContext) -> GuardrailResult:
        """Look for as long as it takes."""
        await _hold(str(log))
        return passed()

    agent = Agent(
        name="it",
        instructions="Do as you are told.",
        models=["scripted:it"],
        tools=[look_again],
        guardrails=[patient],
    )
    app = App(agents=[agent], scripts={"it": [call("look_again", log=str(log)), say("done")]})
    run = await _start(runs)
    async with runs.working(app):
        while not lines(log):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        await run.signal("suspend", {})
        while not await _is_told(run):  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        Path(f"{log}.go").touch()
        while (await run.status()).status != "suspended":  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        held = lines(log)
        await run.signal("resume", {})
        await run.result()
    await build_replayer(AgentRun).replay_workflow(_at_once(await run.handle.fetch_history()))

    assert (set(held), set(lines(log))) == ({"held"}, {"held", "looked again"})


FIRST_TASK = 3
"""Events, when a workflow takes its first step."""


@workflow.defn
class Divided:
    """Looks how long its history is, and then has a local activity."""

    @workflow.run
    async def run(self, log: str) -> bool:
        long = is_history_long(FIRST_TASK)
        if not long:
            await workflow.execute_local_activity(
                "hold", log, start_to_close_timeout=timedelta(seconds=60)
            )
        return long


@activity.defn(name="hold")
async def hold(log: str) -> None:
    await _hold(log)


async def test_what_follows_a_long_history_is_the_same_in_a_replay(
    runs: Runs, tmp_path: Path
) -> None:
    """To a replay a task that was divided begins with the events of its last part."""
    # T-34
    log = tmp_path / "log"
    worker = Worker(
        runs.client,
        task_queue=runs.queue,
        activities=[hold],
        workflows=[Divided],
        workflow_runner=RUNNER,
    )
    async with worker:
        handle = await runs.client.start_workflow(
            Divided.run,
            str(log),
            id=f"divided-{uuid4().hex[:8]}",
            task_queue=runs.queue,
            task_timeout=timedelta(seconds=2),
        )
        while await _count_tasks(handle) < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.05)
        Path(f"{log}.go").touch()
        long = await handle.result()
        history = await handle.fetch_history()
    await Replayer(workflows=[Divided], workflow_runner=RUNNER).replay_workflow(history)

    assert long is False


async def _count_tasks(handle: WorkflowHandle[Divided, bool]) -> int:
    """Return how many workflow tasks have begun."""
    events = (await handle.fetch_history()).events
    return sum(one.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED for one in events)


async def _start(runs: Runs) -> Run:
    """Start a run whose workflow tasks are divided sooner than others: after 1.6 seconds."""
    handle = await runs.client.start_workflow(
        "AgentRun",
        {"agent": "it", "input": "go"},
        id=f"run-{uuid4().hex[:8]}",
        task_queue=runs.queue,
        task_timeout=timedelta(seconds=2),
        result_type=RunResult,
    )
    return Run(handle)


def _at_once(history: WorkflowHistory) -> WorkflowHistory:
    """Return a history in which no time passes, local activities' neither."""
    began = history.events[0].event_time
    for event in history.events:
        event.event_time.CopyFrom(began)
        if event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED:
            (payload,) = event.marker_recorded_event_attributes.details["data"].payloads
            told = json.loads(payload.data)
            told["complete_time"] = {"seconds": began.seconds, "nanos": began.nanos}
            payload.data = json.dumps(told).encode()
    return history


async def _is_told(run: Run) -> bool:
    """Whether a workflow task has begun behind what was said."""
    history = await run.handle.fetch_history()
    kinds = [event.event_type for event in history.events]
    said = [number for number, kind in enumerate(kinds) if kind in SAID]
    return EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED in (kinds[said[0] :] if said else [])
