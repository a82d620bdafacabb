"""Sessions on the command line."""

import json
import shlex
import signal

import pytest
from temporalio.client import Client

from holdfast import Agent, App, worker
from holdfast.contracts.transcript import UserTurn
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.holdfast.commands import ended, holdfast, seen, started, terminal
from tests.sample import TOOLS, told
from tests.workflows.delegating import FOUND, RESEARCHER, ask

pytestmark = pytest.mark.usefixtures("command_line")


def _echo(turn: ScriptTurn) -> Reply:
    return say(" + ".join(item.text for item in turn.transcript if isinstance(item, UserTurn)))


SCRIPTS = {
    "echoer": _echo,
    "sender": [call("send", log="/dev/null", text="hello"), told],
    "brief": [say("Hello.")],
    "desk": [ask("tides"), say("It is so.")],
    "researcher": [call("send", log="/dev/null", text="hello"), FOUND],
}
APP = App(
    agents=[
        Agent(
            name=name,
            instructions="Talk.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
            subagents=[RESEARCHER] if name == "desk" else [],
        )
        for name in SCRIPTS
    ],
    scripts=SCRIPTS,
)


async def test_a_message_a_line(client: Client, name: str) -> None:
    """Each has its answer; the end of the input leaves the session open, and who left returns."""
    async with worker.run_worker(client, APP):
        first = await holdfast("chat", "echoer", "--session", name, stdin="one\n\ntwo\n")
        back = await holdfast("chat", "echoer", "--session", name, stdin="three\n")
        stranger = await holdfast(
            "chat", "echoer", "--session", name, "--tenant", "evil", stdin="what?\n"
        )
        other = await holdfast("chat", "brief", "--session", name, stdin="what?\n")
        listed = json.loads((await holdfast("sessions", "--json", "--limit", "1000")).out)
        shown = await holdfast("sessions", name)
        as_json = (await holdfast("sessions", name, "--json")).json
        runs = await holdfast("list", "--limit", "1000")
        active = await holdfast("list", "--active", "--limit", "1000")

    assert (first.code, first.out) == (0, "one\none + two\n")
    assert first.err == (
        f"{name} stays open: 'holdfast chat echoer --session {name}' comes back to it\n"
    )
    assert back.out == "> one\n  one\n> two\n  one + two\none + two + three\n"
    assert stranger.code == 1
    assert "there is no session" in stranger.err
    assert stranger.out == ""
    assert (other.code, other.out, other.err) == (
        1,
        "",
        (
            f"holdfast: session '{name}' is one of agent 'echoer', and not of 'brief': name that "
            "one, or choose another id\n"
        ),
    )
    assert [one["agent"] for one in listed if one["session_id"] == name] == ["echoer"]
    assert "messages  3, of which 0 wait" in shown.out
    assert shown.out.endswith("> three\n  one + two + three\n")
    assert (as_json["session_id"], as_json["messages"]) == (name, 3)
    assert name not in runs.out
    assert name in active.out


async def test_who_leaves_is_told_all_that_brings_them_back(client: Client, name: str) -> None:
    """Who speaks, for whom, and where the app is: a session that has closed opens there again."""
    words = ["--session", name, "--tenant", "acme", "--actor", "eve", "--queue", f"{name} desk"]
    async with worker.run_worker(client, APP, task_queue=f"{name} desk"):
        left = await holdfast("chat", "echoer", *words, stdin="one\n")

    assert left.out == "one\n"
    assert f"'holdfast chat echoer {shlex.join(words)}' comes back to it" in left.err


async def test_why_a_message_has_no_answer(client: Client, name: str) -> None:
    """The line that says what to mend says what was wrong, too."""
    async with worker.run_worker(client, APP):
        told = await holdfast("chat", "brief", "--session", name, stdin="one\ntwo\n")

    answer, failure = told.out.splitlines()
    assert answer == "Hello."
    assert failure.startswith("(failed: ")
    assert "the script has 1 replies, turn 2 has none" in failure


@pytest.mark.parametrize(
    ("agent", "answer"),
    [
        pytest.param("sender", "send ", id="by itself"),
        pytest.param("desk", "It is so.", id="by who works for it"),
    ],
)
async def test_what_waits_is_asked_in_place(
    client: Client, name: str, agent: str, answer: str
) -> None:
    """On a terminal; then the answer stands below, and the next message is typed."""
    async with (
        worker.run_worker(client, APP),
        terminal("chat", agent, "--session", name, "--actor", "eve", columns=40) as talking,
    ):
        await talking.says("> ")
        talking.types("send it")
        await talking.says("approve? [y/n, Enter: later]")
        talking.types("y")
        await talking.says(answer)
        await talking.says("> ")
        talking.types("\x04")
        code = await talking.code()

    assert code == 0
    assert f"'holdfast chat {agent} --session {name} --actor eve' comes back" in talking.shown


async def test_ctrl_c_leaves_it_open(client: Client, name: str) -> None:
    """What it waits for is found among all that waits, and decided from elsewhere."""
    async with worker.run_worker(client, APP):
        left = await started("chat", "sender", "--session", name, "--actor", "eve")
        assert left.stdin is not None
        left.stdin.write(b"send it\n")
        await left.stdin.drain()
        request = await seen(name)
        left.send_signal(signal.SIGINT)
        detached = await ended(left)
        everywhere = await holdfast("pending")
        shown = await holdfast("show", name)
        approved = await holdfast("approve", name, *request, "--approver", "alice")
        back = await holdfast("chat", "sender", "--session", name, "--actor", "eve")

    assert detached.code == 130
    assert f"holdfast chat sender --session {name}" in detached.err
    assert name in everywhere.out
    assert "status     waiting\n" in shown.out
    assert " · no. 1, of eve · working" in shown.out
    assert approved.code == 0
    assert back.code == 0


async def test_a_session_that_works_on_nothing_is_neither_stopped_nor_steered(
    client: Client, name: str
) -> None:
    """What is meant for the work on a message says so, and where that is seen."""
    async with worker.run_worker(client, APP):
        await holdfast("chat", "echoer", "--session", name, stdin="one\n")
        idle = [
            await holdfast("steer", name, "go left"),
            await holdfast("stop", name, "--reason", "enough"),
        ]
        left = await started("chat", "sender", "--session", f"{name}-2", "--actor", "eve")
        assert left.stdin is not None
        left.stdin.write(b"send it\n")
        await left.stdin.drain()
        await seen(f"{name}-2")
        stopped = await holdfast("stop", f"{name}-2", "--reason", "enough")
        left.send_signal(signal.SIGINT)
        await ended(left)
        while "stopped" not in (shown := await holdfast("show", f"{name}-2")).out:
            pass  # the session has yet to hear of it

    assert [(one.code, one.out) for one in idle] == [(1, "")] * 2
    assert {one.err for one in idle} == {
        f"holdfast: session '{name}' works on no message: the next one begins work\n"
    }
    assert stopped.out == (
        f"sent to {name}-2; 'holdfast show {name}-2' says how its message ended\n"
    )
    assert " · no. 1, of eve · stopped" in shown.out


async def test_who_says_nothing_leaves_nothing(name: str) -> None:
    """Nothing was opened that one could come back to, and what isn't there is no run either."""
    silent = await holdfast("chat", "echoer", stdin="\n")
    shown = await holdfast("sessions", name)

    assert (silent.code, silent.out, silent.err) == (0, "", "")
    assert (shown.code, shown.out) == (1, "")
    assert shown.err == (
        f"holdfast: there is no session '{name}' in namespace 'default'; 'holdfast sessions' "
        "lists them\n"
    )
