"""Who says something to a run, who may decide about it, and by what their runs are found."""

import getpass
import json

import pytest
from temporalio.client import Client, WorkflowFailureError

from holdfast import Agent, App, worker
from holdfast.testing import Script, call, say
from tests.holdfast.commands import holdfast, seen, terminal, waiting
from tests.sample import TOOLS

pytestmark = pytest.mark.usefixtures("command_line")

SCRIPTS: dict[str, Script] = {
    "sender": [call("send", log="/dev/null", text="hello"), say("It was sent.")],
    "asker": [call("ask_user", question="Which?"), say("That one.")],
}
APP = App(
    agents=[
        Agent(name=name, instructions="Do it.", models=[f"scripted:{name}"], tools=TOOLS)
        for name in SCRIPTS
    ],
    scripts=SCRIPTS,
)


async def test_who_starts_a_run_approves_nothing_of_it(client: Client, name: str) -> None:
    """A run works for whoever typed the command, and somebody else has to approve its calls."""
    async with (
        worker.run_worker(client, APP),
        terminal("run", "sender", "go", "--id", name) as asking,
    ):
        await asking.says("approve? [y/n, Enter: later]")
        asking.types("y")
        await asking.says("who else approves? ")
        asking.types("")
        await asking.says(f"left open: holdfast approve {name} req-1")
        mine = await holdfast("approve", name, *await seen(name))
        other = await holdfast("approve", name, *await seen(name), "--approver", "zoe")
        code = await asking.code()

    me = getpass.getuser()
    assert f"the run works for {me!r}" in asking.shown
    assert (mine.code, mine.err) == (
        1,
        f"holdfast: refused: the run works for {me!r}: somebody else must approve this\n",
    )
    assert (other.code, code) == (0, 0)


async def test_who_else_approves_is_asked_at_the_terminal(client: Client, name: str) -> None:
    """Somebody else at the same terminal gives their name, and it stands in the history."""
    async with (
        worker.run_worker(client, APP),
        terminal("run", "sender", "go", "--id", name) as asking,
    ):
        await asking.says("approve? [y/n, Enter: later]")
        asking.types("y")
        await asking.says("who else approves? ")
        asking.types("zoe")
        code = await asking.code()

    assert code == 0
    assert "approved by zoe" in asking.shown


async def test_who_only_looks_on_rejects_nothing(client: Client, name: str) -> None:
    """Enter leaves a request open; a rejection is asked for its reason, which the agent reads."""
    async with (
        worker.run_worker(client, APP),
        terminal("run", "sender", "go", "--actor", "eve", "--id", name) as looking,
    ):
        await looking.says("Enter: later] ")
        looking.types("")
        await looking.says(f"left open: holdfast approve {name} req-1")
        async with terminal("watch", name) as deciding:
            await deciding.says("Enter: later] ")
            deciding.types("n")
            await deciding.says("reason, if any: ")
            deciding.types("too rude")
            await deciding.code()
        code = await looking.code()

    assert code == 0
    assert "nothing was sent" in looking.shown
    assert f"rejected by {getpass.getuser()}" in looking.shown
    assert "too rude" in looking.shown


async def test_history_says_who_said_what(client: Client, name: str) -> None:
    """Whatever a command says to a run carries the name of whoever typed it."""
    me = getpass.getuser()
    async with worker.run_worker(client, APP):
        await holdfast("run", "asker", "go", "--id", name, "--detach")
        request = await seen(name)
        await holdfast("suspend", name)
        await holdfast("steer", name, "be kind")
        await holdfast("resume", name)
        await holdfast("answer", name, request[0], "the red one", *request[1:])
        await client.get_workflow_handle(name).result()
        await holdfast("run", "sender", "go", "--id", f"{name}-2", "--detach")
        await waiting(f"{name}-2")
        await holdfast("cancel", f"{name}-2", "--reason", "the wrong customer")
        with pytest.raises(WorkflowFailureError):
            await client.get_workflow_handle(f"{name}-2").result()
        first, second = await holdfast("trace", name), await holdfast("trace", f"{name}-2")

    assert f"steer   be kind (by {me})" in first.out
    assert f"suspend by {me}" in first.out
    assert f"resume  by {me}" in first.out
    assert f"answered by {me}" in first.out
    assert f"asked for by {me}" in second.out
    assert "the wrong customer" in second.out


@pytest.mark.parametrize(
    "mark", ["'", "\\", '"', "\t"], ids=["quote", "backslash", "double quote", "tab"]
)
async def test_runs_are_listed_by_whose_they_are_and_what_they_wait_for(
    client: Client, name: str, mark: str
) -> None:
    """`list` finds runs by agent, tenant, and the group, kind or tool that they wait for."""
    tenant = f"o{mark}{name}{mark}"
    begin = ("--tenant", tenant, "--detach", "--id")
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", *begin, f"{name}-1")
        await holdfast("run", "asker", "go", *begin, f"{name}-2")
        await waiting(f"{name}-1")
        await waiting(f"{name}-2")
        found = [
            await holdfast("list", "--tenant", tenant, *words, "--json")
            for words in (
                (),
                ("--agent", "asker"),
                ("--waiting-for", "send"),
                ("--waiting-for", "question"),
                ("--waiting-for", "finance"),
            )
        ]

    ids = [sorted(str(run["run_id"]) for run in json.loads(one.out)) for one in found]
    assert ids == [[f"{name}-1", f"{name}-2"], [f"{name}-2"], [f"{name}-1"], [f"{name}-2"], []]
    assert json.loads(found[2].out)[0]["pending"] == ["approval::send"]


async def test_a_run_that_was_terminated_waits_for_nobody(client: Client, name: str) -> None:
    """What it waited for stays with the server, which no worker told that it is over."""
    # BY-64
    words = ("list", "--tenant", name, "--failed", "--json")
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--tenant", name, "--detach", "--id", name)
        await waiting(name)
    await client.get_workflow_handle(name).terminate()
    while not (listed := json.loads((await holdfast(*words)).out)):  # visibility comes behind
        pass

    assert [(run["status"], run["pending"]) for run in listed] == [("terminated", [])]


async def test_a_run_that_no_worker_has_begun_is_listed_with_its_agent(
    client: Client, name: str
) -> None:
    """Agent and tenant are those of its input, and it is found by them."""
    tenant = f"o'{name}"
    for agent, number in (("sender", 1), ("asker", 2)):
        words = ("run", agent, "go", "--tenant", tenant, "--detach", "--queue", name)
        await holdfast(*words, "--id", f"{name}-{number}")
    whole = await holdfast("list", "--tenant", tenant, "--json")
    found = await holdfast("list", "--tenant", tenant, "--agent", "asker", "--json")

    agents = {run["run_id"]: run["agent"] for run in json.loads(whole.out)}
    assert agents == {f"{name}-1": "sender", f"{name}-2": "asker"}
    assert [run["run_id"] for run in json.loads(found.out)] == [f"{name}-2"]
