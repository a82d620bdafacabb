"""Watching runs on a real server from Python, whatever comes between."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from uuid import uuid4

import pytest

from holdfast import Agent, App, HoldfastError, Tiers
from holdfast.client import Holdfast, Run, RunEvent
from holdfast.client.event_data import RequestDone
from holdfast.testing import Script, call, say
from tests.holdfast.test_events import by_run
from tests.running import Runs
from tests.sample import TOOLS
from tests.workflows.tiered import staffed

LOOKS = call("look", place="here")
SEND = call("send", log="/dev/null", text="hello")

SCRIPTS: dict[str, Script] = {
    "sender": [LOOKS, SEND, say("It was sent.")],
    "walker": [LOOKS, LOOKS, LOOKS, say("Nothing anywhere.")],
}
APP = App(
    agents=[
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
            max_history_events=1 if name == "walker" else 15_000,
        )
        for name in SCRIPTS
    ],
    scripts=SCRIPTS,
)


async def read(run: Run, after: str | None = None) -> list[RunEvent]:
    """Everything that is told until the run is over."""
    return [event async for event in run.events(after)]


async def read_until(
    run: Run, wanted: Callable[[RunEvent], bool], after: str | None = None
) -> list[RunEvent]:
    """What is told up to an event, behind which the reader goes away."""
    told: list[RunEvent] = []
    async with aclosing(run.events(after)) as events:
        async for event in events:
            told.append(event)
            if wanted(event):
                break
    return told


def is_asked(event: RunEvent) -> bool:
    return event.type == "request.opened"


@pytest.mark.parametrize("how", ["cancel", "terminate", "stop"])
async def test_no_request_waits_for_a_run_that_is_over(runs: Runs, how: str) -> None:
    """However it ends; who keeps an inbox by the events keeps none of its requests."""
    async with runs.working(APP):
        started = await runs.start("sender")
        run = Run(runs.client, started.handle.id)
        await read_until(run, is_asked)
        match how:
            case "cancel":
                await started.handle.cancel()
            case "terminate":
                await started.handle.terminate()
            case _:
                await run.stop(reason="enough", by="dana")
        told = await read(run)

    closed = [one.data for one in told if isinstance(one.data, RequestDone)]
    assert [one.outcome for one in closed] == ["withdrawn"]
    assert told[-1].type == "run.completed"


async def test_a_reader_that_comes_back_misses_nothing(runs: Runs) -> None:
    """Each goes away after one event, while the run works and waits, and sees none twice."""
    # T-32
    async with runs.working(APP):
        run = Run(runs.client, (await runs.start("sender")).handle.id)
        told: list[RunEvent] = []
        while not told or told[-1].type != "run.completed":
            cursor = told[-1].id if told else None
            told += await read_until(run, lambda _: True, cursor)
            if is_asked(told[-1]):
                (request,) = await run.pending()
                await run.approve(request.request_id, approver="dana")
        whole = await read(run)

    assert told == whole
    assert [event.type for event in whole[-2:]] == ["answer", "run.completed"]
    assert await read(run, whole[-1].id) == []


async def test_a_run_that_goes_on_in_new_executions_is_one_stream(runs: Runs) -> None:
    """Its cursors lead from one execution to the next; its id is that of the first."""
    # T-32
    async with runs.working(APP):
        started = await runs.start("walker")
        run = Run(runs.client, started.handle.id)
        live = await read(run)
    later = await read(run)
    history = await run.history()

    assert len(history) > 2
    assert live == later
    assert {event.run_id for event in live} == {started.first_execution}
    for place, event in enumerate(live):
        assert await read(run, event.id) == live[place + 1 :]


async def test_the_events_of_parts_stand_between_their_two_events(runs: Runs) -> None:
    """Read while they work, and later: for each run the same, in the same order."""
    app = staffed(
        {"coder": [LOOKS, call("nobody"), call("nobody"), call("nobody")], "clerk": [say("It.")]},
        tiers=Tiers(full="coder", simplified="clerk"),
    )
    async with runs.working(app):
        run = Run(runs.client, (await runs.start("it")).handle.id)
        live = await read(run)
        later = await read(run)

    assert by_run(live) == by_run(later)
    paths = [event.path for event in live]
    assert set(paths) == {("it",), ("it", "coder"), ("it", "clerk")}
    kinds = [(event.type.value, event.path[-1]) for event in live]
    assert kinds.index(("subagent.started", "it")) < paths.index(("it", "coder"))
    assert kinds.index(("run.completed", "coder")) < kinds.index(("subagent.completed", "it"))
    assert live[-1].path == ("it",)
    for place, event in enumerate(live):
        rest = await read(run, event.id)
        assert by_run([*live[: place + 1], *rest]) == by_run(live)


async def test_watching_leaves_no_trace(runs: Runs) -> None:
    """Three watchers of a run that waits, and of one that is over, leave its history as it was."""
    async with runs.working(APP):
        run = Run(runs.client, (await runs.start("sender")).handle.id)
        await read_until(run, is_asked)
        (request,) = await run.pending()
        (before,) = await run.history()
        watchers = [asyncio.create_task(read(run)) for _ in range(3)]
        seen = await asyncio.gather(*(read_until(run, is_asked) for _ in watchers))
        (after,) = await run.history()
        await run.approve(request.request_id, approver="dana")
        told = await asyncio.gather(*watchers)
        (ended,) = await run.history()
        await asyncio.gather(*(read(run) for _ in range(3)))
        (again,) = await run.history()

    assert before.to_json_dict() == after.to_json_dict()
    assert ended.to_json_dict() == again.to_json_dict()
    assert seen[0] == seen[1] == seen[2]
    assert told[0] == told[1] == told[2]


async def test_a_run_that_is_ended_from_outside_ends_the_stream(runs: Runs) -> None:
    """Its parts are told up to its own end, and no further: they may go on for long."""
    app = staffed({"coder": [SEND]}, tiers=Tiers(full="coder"))
    async with runs.working(app):
        started = await runs.start("it")
        run = Run(runs.client, started.handle.id)
        told = await read_until(run, is_asked)
        await started.handle.terminate(reason="enough")
        rest = await read(run, told[-1].id)

    assert told[-1].path == ("it", "coder")
    own = [event.type for event in rest if event.path == ("it",)]
    assert [kind for kind in own if kind != "note"] == ["run.completed"]  # what its part asks
    assert rest[-1].data.model_dump(include={"status", "failure"}) == {
        "status": "terminated",
        "failure": f"by {runs.client.identity}: enough",
    }


async def test_what_cannot_be_read_is_one_line(runs: Runs) -> None:
    """No such run, a cursor of another run, one behind the end, or none at all."""
    holdfast = Holdfast(runs.client)
    async with runs.working(APP):
        one = holdfast.run((await runs.start("walker")).handle.id)
        other = holdfast.run((await runs.start("walker")).handle.id)
        told, strange = await read(one), await read(other)
    first, execution, event, place = told[-1].id.split(".")

    for cursor in (
        strange[-1].id,
        "nonsense",
        f"{first}.{execution}.{int(event) + 1}.{place}",
        f"{first}.{first[::-1]}.{event}.{place}",
    ):
        with pytest.raises(HoldfastError, match="is of no event of run"):
            await read(one, cursor)
    with pytest.raises(HoldfastError, match="no run 'nobody'"):
        await read(holdfast.run(f"nobody-{uuid4().hex}"[:6]))
