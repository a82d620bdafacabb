"""`holdfast watch`: to come back to a run that somebody left, or that somebody else started."""

import json
import re
import signal

import pytest
from temporalio.client import Client

from holdfast import Agent, App, worker
from holdfast.client import Holdfast, Run, RunEvent
from holdfast.testing import call, say
from tests.holdfast.commands import ended, holdfast, seen, started, terminal
from tests.sample import TOOLS

pytestmark = pytest.mark.usefixtures("command_line")

LOOKS = call("look", place="here")
SEND = call("send", log="/dev/null", text="hello")
SCRIPTS = {
    "sender": [LOOKS, SEND, say("It was sent.")],
    "walker": [LOOKS, LOOKS, say("Nothing anywhere.")],
    "looper": [LOOKS] * 9,
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


@pytest.mark.parametrize("command", ["run", "watch"])
async def test_ctrl_c_only_detaches(client: Client, name: str, command: str) -> None:
    """Who leaves is told how to come back; the run goes on, and is shown from its goal on."""
    async with worker.run_worker(client, APP):
        if command == "watch":
            await holdfast("run", "sender", "go", "--id", name, "--detach")
            left = await started("watch", name)
        else:
            left = await started("run", "sender", "go", "--id", name)
        request = await seen(name)
        assert left.stdout is not None
        async for line in left.stdout:
            if b"decide" in line:
                break
        left.send_signal(signal.SIGINT)
        detached = await ended(left)
        back = await started("watch", name)
        await holdfast("approve", name, *request, "--approver", "alice")
        watched = await ended(back)

    assert detached.code == 130
    assert detached.err == (
        f"{name} goes on without you: 'holdfast watch {name}' comes back to it, "
        f"'holdfast cancel {name}' ends it\n"
    )
    assert (watched.code, watched.err) == (0, "")
    first, *rest = watched.out.splitlines()
    assert first.startswith(f"run     {name}  agent sender")
    assert rest[:3] == [
        "goal    go",
        "turn 1  scripted:sender  -> look",
        '  call    look(place="here")',
    ]
    assert rest[-2] == "answer  It was sent."


async def test_a_run_that_is_over_is_shown_whole(client: Client, name: str) -> None:
    """Nobody waits for it: the transcript of all its executions, and the exit code of `run`."""
    async with worker.run_worker(client, APP):
        ran = await holdfast("run", "walker", "go", "--id", name)
        stopped = await holdfast("run", "looper", "go", "--id", f"{name}-2", "--max-steps", "2")
    watched = await holdfast("watch", name)
    other = await holdfast("watch", f"{name}-2", "--json")
    told = [event async for event in Run(client, f"{name}-2").events()]

    assert (ran.code, watched.code, watched.err) == (0, 0, "")
    assert watched.out == ran.out
    assert (stopped.code, other.code, other.events) == (3, 3, told)


async def test_a_result_can_carry_its_trace(client: Client, name: str) -> None:
    """Behind the events comes the tree of spans, as `trace --json` and the client have it."""
    # NR-07
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--id", name, "--detach")
        await seen(name)
        refused = await holdfast("run", "walker", "go", "--with-trace")
        ran = await holdfast("run", "walker", "go", "--id", f"{name}-2", "--json", "--with-trace")
    traced = await holdfast("trace", f"{name}-2", "--json")
    waits = await Holdfast(client).trace(name)
    *events, tree = ran.out.splitlines()

    assert (ran.code, RunEvent.model_validate_json(events[-1]).type) == (0, "run.completed")
    assert json.loads(tree) == json.loads(traced.out)
    assert [span.type for span in waits.spans][:2] == ["agent", "generation"]
    assert (refused.code, refused.out) == (2, "")
    assert "--with-trace needs --json" in refused.err


async def test_a_watcher_that_is_killed_is_followed_by_one_that_goes_on(
    client: Client, name: str
) -> None:
    """With the id of the last event that came whole, a script is told the rest, each once."""
    # T-32
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--id", name, "--detach")
        killed = await started("watch", name, "--json")
        assert killed.stdout is not None
        told: list[RunEvent] = []
        while not told or told[-1].type != "request.opened":
            told.append(RunEvent.model_validate_json(await killed.stdout.readline()))
        killed.kill()
        await killed.wait()
        await holdfast("approve", name, *await seen(name), "--approver", "alice")
        back = await holdfast("watch", name, "--json", "--after", told[-1].id)
    whole = [event async for event in Run(client, name).events()]

    assert (back.code, back.err) == (0, "")
    assert [*told, *back.events] == whole


async def test_what_comes_after_an_event_is_json(client: Client, name: str) -> None:
    """A transcript has no beginning in its middle, and no cursor but that of an event."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "walker", "go", "--id", name)
    shown = await holdfast("watch", name, "--after", "x")
    strange = await holdfast("watch", name, "--json", "--after", "x")

    assert (shown.code, strange.code) == (2, 1)
    assert "--after needs --json" in shown.err
    assert strange.err == (
        f"holdfast: cursor 'x' is of no event of run '{name}' that is kept: leave it out to read "
        "from the beginning\n"
    )


async def test_an_agent_that_no_worker_has(client: Client, name: str) -> None:
    """Whoever mistyped a name is told once: how long it is looked for, and what ends that."""
    async with worker.run_worker(client, APP):
        mistyped = await started("run", "sendr", "go", "--id", name)
        assert mistyped.stderr is not None
        told = (await mistyped.stderr.readline()).decode()
        await holdfast("cancel", name)
        left = await ended(mistyped)

    assert re.fullmatch(
        "this worker has no agent 'sendr'; one that has is looked for until [0-9:]{8} UTC, "
        f"'holdfast cancel {name}' ends that\n",
        told,
    )
    assert (left.code, left.err) == (1, "")
    assert "no agent 'sendr' in this app (known: looper, sender, walker)" in left.out


async def test_watching_on_a_terminal_asks(client: Client, name: str) -> None:
    """What waits now is asked, by `watch` as by `run`."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--actor", "eve", "--id", name, "--detach")
        await seen(name)
        async with terminal("watch", name) as asking:
            await asking.says("approve? [y/n, Enter: later]")
            asking.types("y")
            code = await asking.code()

    assert code == 0
    assert "It was sent." in asking.shown


async def test_who_leaves_a_question_reads_below_it_how_to_come_back(
    client: Client, name: str
) -> None:
    """Ctrl-C behind `approve?` ends that line."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--actor", "eve", "--id", name, "--detach")
        await seen(name)
        async with terminal("watch", name) as asking:
            await asking.says("approve? [y/n, Enter: later] ")
            asking.interrupts()
            code = await asking.code()

    assert code == 130
    shown = re.sub("\x1b[^m]*m", "", asking.shown)
    assert f"approve? [y/n, Enter: later] \r\n{name} goes on without you" in shown


async def test_no_such_run(client: Client) -> None:
    """A name that nobody has is refused with the command that lists those there are."""
    watched = await holdfast("watch", "nobody")

    assert watched.code == 1
    assert watched.err == (
        f"holdfast: no run 'nobody' in namespace {client.namespace!r}; 'holdfast list' shows the "
        "runs\n"
    )
