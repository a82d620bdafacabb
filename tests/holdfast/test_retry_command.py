"""The command `holdfast retry`: a run that ended without an answer goes on in a new one."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from temporalio.client import Client, WorkflowFailureError

from holdfast import Agent, App, worker
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.run import TASK_QUEUE
from holdfast.contracts.transcript import UserTurn
from holdfast.settings import Settings
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.holdfast.commands import Ended, holdfast
from tests.sample import TOOLS

pytestmark = pytest.mark.usefixtures("command_line")


def adder(turn: ScriptTurn) -> Reply:
    """Fail at the second turn, but not in a run that tries another one again."""
    said = [item.text for item in turn.transcript if isinstance(item, UserTurn)]
    if "fail always" not in turn.goal and any("tries it again" in text for text in said):
        return say(f"it is {turn.last('add')}")
    if turn.number == 1:
        return call("add", a=2, b=3)
    raise ModelRejected("401: no such key", kind="auth")


def answer(_: ScriptTurn) -> Reply:
    return say("done")


@asynccontextmanager
async def working(client: Client) -> AsyncGenerator[None]:
    scripts = {"adder": adder, "answerer": answer}
    agents = [
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
        )
        for name in scripts
    ]
    async with worker.run_worker(client, App(agents=agents, scripts=scripts)):
        yield


async def test_a_run_is_tried_again(client: Client, name: str) -> None:
    """The new run goes on where the other stopped; whoever looks at it is told of which it is."""
    async with working(client):
        failed = await holdfast(
            *("run", "adder", "add", "--id", name, "--tenant", "acme", "--max-steps", "7")
        )
        again = await holdfast("retry", name, "--actor", "dana")
        shown = await holdfast("show", f"{name}-retry-1")
        data = await holdfast("show", f"{name}-retry-1", "--json")
        requeued = await holdfast("requeue", name, "--actor", "dana", "--id", f"{name}-again")
        spans = await holdfast("trace", f"{name}-retry-1", "--json")
        earlier = await holdfast("show", name, "--json")
        replayed = await holdfast("replay", f"{name}-retry-1")

    assert failed.code == 1
    assert (again.code, "it is 5" in again.out) == (0, True)
    assert f"retries {name} (first execution " in again.out
    assert (requeued.code, f"retries {name} (first execution " in requeued.out) == (0, True)
    assert "goal    add\n" in again.out
    assert f"retries  {name}\n" in shown.out
    lineage = data.json["retry_of"]
    assert isinstance(lineage, dict)
    assert lineage["run_id"] == name
    assert (data.json["tenant"], data.json["actor"]) == ("acme", "dana")
    limits = data.json["budget"]
    assert isinstance(limits, dict)
    assert limits["max_steps"] == 7
    assert str(lineage["first_execution_run_id"]) in spans.out
    assert earlier.json["retry_of"] is None
    assert (replayed.code, replayed.err) == (0, "")


async def test_each_retry_has_the_next_free_number(client: Client, name: str) -> None:
    """Whether the run is tried again or one that tried it; or somebody names it."""
    async with working(client):
        await holdfast("run", "adder", "fail always", "--id", name)
        first = await holdfast("retry", name, "--detach")
        await client.get_workflow_handle(f"{name}-retry-1").result()
        await holdfast("retry", name, "--id", f"{name}-by-hand")
        third = await holdfast("retry", f"{name}-by-hand", "--detach", "--json")
        ended = await holdfast("retry", f"{name}-retry-1")
        fourth = await holdfast("retry", f"{name}-retry-2", "--detach")
        taken = await holdfast("retry", name, "--id", name)

    assert first.out == f"{name}-retry-1\n"
    assert third.json == {"run_id": f"{name}-by-hand-retry-1"}
    assert ended.code == 1
    assert fourth.out == f"{name}-retry-3\n"
    assert taken.err.startswith(f"holdfast: there is a run {name!r} already: ")


@pytest.mark.parametrize("again", [("retry",), ("requeue",), ("fork", "--at", "1")])
async def test_who_tries_a_run_again_is_its_requester(
    client: Client, name: str, again: tuple[str, ...]
) -> None:
    """As whoever starts one is: with nobody named they could approve what they have asked for."""
    # BY-16 BY-64
    command, *options = again
    async with working(client):
        await holdfast("run", "adder", "fail always", "--id", name, "--actor", "dana")
        await holdfast(command, name, *options, "--id", f"{name}-again")
        shown = await holdfast("show", f"{name}-again", "--json")

    assert shown.json["actor"] == Settings.load().user


async def test_two_who_try_a_run_again_start_one(client: Client, name: str) -> None:
    """At once or one after the other: the second is told which it is, and may want another one."""
    # BY-20 BY-64
    async with working(client):
        await holdfast("run", "adder", "add", "--id", name)
        both = await asyncio.gather(*(holdfast("retry", name, "--detach") for _ in range(2)))
        await client.get_workflow_handle(f"{name}-retry-1").result()
        later = await holdfast("requeue", name)
        begun = [one async for one in client.list_workflows(f"WorkflowId = '{name}-retry-2'")]
        wanted = await holdfast("retry", name, "--id", f"{name}-beside")

    assert sorted(one.code for one in both) == [0, 1]
    assert (later.code, begun) == (1, [])
    assert later.err.startswith(
        f"holdfast: run {name!r} was tried again as '{name}-retry-1', and another one wouldn't "
    )
    assert wanted.code == 0


async def test_a_retry_that_never_began_keeps_no_other_from_it(client: Client, name: str) -> None:
    """A start that is refused, by a slip of the pen or a stranger's, has done nothing."""
    # BY-64
    async with working(client):
        await holdfast("run", "adder", "add", "--id", name)
        refused = await holdfast("retry", name, "--model", "scripted:nobody")
        given = {"agent": "answerer", "retry_of": name}
        stranger = await client.start_workflow(
            "AgentRun", given, id=f"{name}-retry-2", task_queue=TASK_QUEUE
        )
        with pytest.raises(WorkflowFailureError):
            await stranger.result()
        again = await holdfast("retry", name)
        later = await holdfast("retry", name)

    assert (refused.code, again.code) == (1, 0)
    assert f"{name}-retry-3  agent adder" in again.out
    assert later.err.startswith(f"holdfast: run {name!r} was tried again as '{name}-retry-3'")


async def test_what_is_not_tried_again(client: Client, name: str) -> None:
    """One line says why: it is there no more, goes on, or has its answer."""
    async with working(client):
        await holdfast("run", "answerer", "go", "--id", name)
        completed = await holdfast("retry", name)
        unknown = await holdfast("retry", f"{name}-no")
    await holdfast("run", "answerer", "go", "--id", f"{name}-open", "--detach")
    running = await holdfast("retry", f"{name}-open")
    await client.get_workflow_handle(f"{name}-open").terminate()

    assert (completed.code, completed.out) == (1, "")
    assert completed.err == (
        f"holdfast: run {name!r} is completed, and only what failed or was ended is tried again\n"
    )
    assert unknown.err.startswith(f"holdfast: no run '{name}-no' in namespace")
    assert running.err == (
        f"holdfast: run '{name}-open' goes on: wait for its end, "
        f"or 'holdfast cancel {name}-open'\n"
    )


async def seen(run: str, *options: str) -> Ended:
    """List runs until one is there: what the server lists comes behind."""
    while run not in (listed := await holdfast("list", *options)).out.split():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.1)
    return listed


async def test_a_run_is_found_by_the_id_of_its_trace(client: Client, name: str) -> None:
    """While it waits and when it is over, in whichever execution it then is; no other is."""
    # TR-12
    counting = Agent(
        name="counter",
        instructions="Count.",
        models=["scripted:counter"],
        tools=TOOLS,
        max_history_events=1,
    )
    script = [call("add", a=2, b=3), call("add", a=3, b=5), say("done")]
    await holdfast("run", "counter", "go", "--id", name, "--detach")
    await holdfast("run", "counter", "go", "--id", f"{name}-other", "--detach")
    trace_id = json.loads((await holdfast("trace", name, "--json")).out)["trace_id"]
    active = await seen(name, "--active", "--trace", trace_id)
    async with worker.run_worker(client, App(agents=[counting], scripts={"counter": script})):
        for each in (name, f"{name}-other"):
            await holdfast("watch", each)
    over = await seen("completed", "--trace", trace_id)
    tree = json.loads((await holdfast("trace", name, "--json")).out)
    every = await holdfast("list", "--agent", "counter")
    unfit = await holdfast("list", "--trace", "abc")
    unknown = await holdfast("list", "--trace", "0" * 32)

    assert f"{name}-other" not in active.out + over.out
    assert name in over.out
    assert every.out.split().count(name) == 1
    assert (tree["trace_id"], tree["spans"][0]["attributes"]["executions"] > 1) == (trace_id, True)
    assert (unfit.code, unfit.err) == (
        1,
        "holdfast: a trace has 32 hexadecimal digits, and not 'abc'\n",
    )
    assert (unknown.code, unknown.err) == (0, "no runs\n")


async def test_a_run_is_forked_and_those_without_an_answer_are_listed(
    client: Client, name: str
) -> None:
    """The new run says of which it is a fork; a list of what failed says why, and has no other."""
    # BY-64 TR-12
    async with working(client):
        failed = await holdfast("run", "adder", "fail always", "--id", name)
        await holdfast("run", "answerer", "go", "--id", f"{name}-done")
        fork = await holdfast("fork", f"{name}-done", "--at", "1", "--actor", "dana")
        shown = await holdfast("show", f"{name}-done-fork-1")
        dry = await holdfast("fork", f"{name}-done", "--at", "1", "--dry")
        late = await holdfast("fork", f"{name}-done", "--at", "2")
        after = await holdfast("show", f"{name}-done-fork-3")
        unfit = await holdfast("list", "--failed", "--status", "failed")
        listed = await seen(name, "--failed", "--agent", "adder")
    await holdfast("run", "answerer", "go", "--id", f"{name}-open", "--detach")
    active = await seen(f"{name}-open", "--active")
    await client.get_workflow_handle(f"{name}-open").terminate()

    assert (failed.code, fork.code) == (1, 0)
    assert f"forks   {name}-done (first execution " in fork.out
    assert f"forks    {name}-done, turn 1 anew\n" in shown.out
    assert "turn 1 anew, dry\n" in dry.out
    assert (late.code, late.out, late.err) == (
        1,
        "",
        (
            f"holdfast: run '{name}-done' has no turn 2: its models took 1, which "
            f"'holdfast trace {name}-done' shows\n"
        ),
    )
    assert (after.code, "no run " in after.err) == (1, True)
    assert "one of --status, --active and --failed" in unfit.err
    rows = {line.split()[0]: line for line in listed.out.splitlines()}
    assert "REASON" in rows["RUN"]
    assert "model failed" in rows[name]
    assert not {f"{name}-done", f"{name}-done-fork-1"} & rows.keys()
    assert {f"{name}-done", name}.isdisjoint(active.out.split())
