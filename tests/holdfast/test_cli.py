"""The command line as people and scripts use it, against a real server."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from temporalio.client import Client, WorkflowFailureError

from holdfast import Agent, App, Budget, worker
from holdfast.contracts.errors import ModelRejected
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from tests.holdfast.commands import ended, holdfast, seen, started, terminal, waiting
from tests.holdfast.unreadable import start_unreadable
from tests.sample import TOOLS

pytestmark = pytest.mark.usefixtures("command_line")

SEND = call("send", log="/dev/null", text="hello")


def refuse(_: ScriptTurn) -> Reply:
    """Answer as a provider does that doesn't know the key."""
    raise ModelRejected("401: no such key", kind="auth")


SCRIPTS: dict[str, Script] = {
    "adder": [call("add", a=2, b=3), say("5")],
    "looper": [call("look", place="here")] * 9,
    "sender": [SEND, say("It was sent.")],
    "asker": [call("ask_user", question="Which?"), say("That one.")],
    "stranger": refuse,
    "loser": [calls(call("find", name="x"), call("find", name="y")), say("Found.")],
}
APP = App(
    agents=[
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
            budget=Budget(max_steps=9, max_consecutive_failures=2),
            escalates=True,
        )
        for name in SCRIPTS
    ],
    scripts=SCRIPTS,
)


async def test_run_shows_how_it_goes(client: Client) -> None:
    """`run` prints the transcript while it grows, and the answer."""
    # OB-05
    async with worker.run_worker(client, APP):
        ran = await holdfast("run", "adder", "What is 2 + 3?")

    assert (ran.code, ran.err) == (0, "")
    first, *rest = ran.out.splitlines()
    assert first.startswith("run     run-")
    assert rest[:3] == [
        "goal    What is 2 + 3?",
        "turn 1  scripted:adder  -> add",
        "  call    add(a=2, b=3)",
    ]
    assert rest[-2] == "answer  5"


@pytest.mark.parametrize(
    ("agent", "code", "status"),
    [
        pytest.param("adder", 0, "completed", id="completed"),
        pytest.param("looper", 3, "stopped", id="stopped"),
        pytest.param("stranger", 1, "failed", id="failed"),
    ],
)
async def test_exit_code_is_the_outcome(
    client: Client, agent: str, code: int, status: str
) -> None:
    """A script sees from the exit code how a run ended, and reads the rest as JSON on lines."""
    async with worker.run_worker(client, APP):
        ran = await holdfast("run", agent, "go", "--json")
    *_, last = ran.events

    assert (ran.code, ran.err, last.type) == (code, "", "run.completed")
    assert last.data.model_dump()["status"] == status


async def test_input_file_and_limits(client: Client, name: str, tmp_path: Path) -> None:
    """A file's text follows the goal; a limit that is given takes the place of the agent's."""
    # GF-07
    page = tmp_path / "page.txt"
    page.write_text("1\n2\n", encoding="utf-8")
    async with worker.run_worker(client, APP):
        ran = await holdfast(
            *("run", "adder", "Add these:", "--input-file", str(page)),
            *("--id", name, "--max-steps", "1", "--tenant", "acme", "--actor", "zoe"),
        )
        shown = await holdfast("show", name, "--json")
    history = await client.get_workflow_handle(name).fetch_history()
    started = history.events[0].workflow_execution_started_event_attributes

    assert (ran.code, shown.json["tenant"], shown.json["actor"]) == (3, "acme", "zoe")
    assert json.loads(started.input.payloads[0].data)["input"] == "Add these:\n\n1\n2\n"
    limits = shown.json["budget"]
    assert isinstance(limits, dict)
    assert (limits["max_steps"], limits["max_consecutive_failures"]) == (1, 2)


async def test_what_a_run_is_about(client: Client, name: str) -> None:
    """The file of its project, and whatever else is said of it, are in what it begins with."""
    # CX-09 CX-12
    about = ("--path", "lamps/lamp.py", "--metadata", "ticket=a=b", "--metadata", "empty=")
    async with worker.run_worker(client, APP):
        ran = await holdfast("run", "adder", "go", "--id", name, *about)
    history = await client.get_workflow_handle(name).fetch_history()
    started = history.events[0].workflow_execution_started_event_attributes

    assert ran.code == 0
    assert json.loads(started.input.payloads[0].data)["metadata"] == {
        "path": "lamps/lamp.py",
        "ticket": "a=b",
        "empty": "",
    }


async def test_an_id_is_used_once(client: Client, name: str) -> None:
    """A second run with the same id is refused, also when the first is over."""
    async with worker.run_worker(client, APP):
        first = await holdfast("run", "adder", "go", "--id", name)
        second = await holdfast("run", "adder", "go", "--id", name)

    assert (first.code, second.code) == (0, 1)
    assert second.err.startswith(f"holdfast: there is a run {name!r} already: ")


async def test_approval_without_a_terminal(client: Client, name: str) -> None:
    """What waits is printed once, with the command that decides it; that command does."""
    async with worker.run_worker(client, APP):
        running = await started("run", "sender", "go", "--id", name)
        request = await seen(name)
        command = f"holdfast approve {name} {request[0]}"
        unknown = await holdfast("approve", name, "req-9", *request[1:])
        approved = await holdfast(
            "approve", name, *request, "--reason", "fine", "--approver", "alice"
        )
        ran = await ended(running)
        late = await holdfast("approve", name, *request)

    assert unknown.code == 1
    assert unknown.err == f"holdfast: no request 'req-9' of run {name!r} waits; open: req-1\n"
    assert (approved.code, approved.out) == (0, f"approved req-1 of {name} as alice\n")
    assert (late.code, late.err) == (1, f"holdfast: run {name!r} is over (completed)\n")
    assert (ran.code, ran.out.count(command)) == (0, 1)
    assert "wait    approved by alice after" in ran.out


async def test_rejection(client: Client, name: str) -> None:
    """A rejection says why, and the run goes on without the call."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--id", name, "--detach")
        request = await seen(name)
        rejected = await holdfast(
            "reject", name, *request, "--reason", "not today", "--approver", "bob"
        )
        await client.get_workflow_handle(name).result()
        trace = await holdfast("trace", name)

    assert rejected.code == 0
    assert "result  denied  permission_denied: rejected by bob: not today" in trace.out


async def test_questions_and_escalations(client: Client, name: str) -> None:
    """`answer` and `resolve` say what the run made of them."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "asker", "go", "--id", name, "--detach")
        _, *digest = await seen(name)
        wrong = await holdfast("resolve", name, "req-1", "resume", *digest)
        unknown = await holdfast("answer", name, "req-7", "the red one", *digest)
        right = await holdfast("answer", name, "req-1", "the red one", *digest)
        await holdfast("run", "loser", "go", "--id", f"{name}-2", "--detach")
        _, *digest = await seen(f"{name}-2")
        nothing = await holdfast("resume", f"{name}-2")
        missing = await holdfast("resolve", f"{name}-2", "req-7", "resume", *digest)
        resolved = await holdfast(
            "resolve", f"{name}-2", "req-1", "extend", "--max-steps", "12", *digest
        )
        await client.get_workflow_handle(f"{name}-2").result()
        shown = await holdfast("show", f"{name}-2", "--json")

    assert wrong.code == 1
    assert wrong.err == (
        f"holdfast: request 'req-1' of run {name!r} waits for something else: "
        f'holdfast answer {name} req-1 "..."\n'
    )
    assert unknown.err == f"holdfast: no request 'req-7' of run {name!r} waits; open: req-1\n"
    assert (right.code, right.out) == (0, f"{name} took the answer to req-1\n")
    assert nothing.err == (
        f"holdfast: run '{name}-2' is not suspended; answer what waits: "
        f"holdfast resolve {name}-2 req-1 resume (or: abort, extend)\n"
    )
    assert [one.code for one in (unknown, nothing, missing, resolved)] == [1, 1, 1, 0]
    limits = shown.json["budget"]
    assert isinstance(limits, dict)
    assert limits["max_steps"] == 12


async def test_who_approves_a_question_is_told_how_it_is_answered(
    client: Client, name: str
) -> None:
    """`approve` without a request names what waits instead."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "asker", "go", "--id", name, "--detach")
        await waiting(name)
        async with terminal("approve", name) as asked:
            code = await asked.code()

    assert code == 1
    said = " ".join(asked.shown.split())
    assert f'but something else does: holdfast answer {name} req-1 "..."' in said


async def test_a_refused_extension_is_told(client: Client, name: str) -> None:
    """An extension that lowers a limit ends with 1 and changes nothing."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "loser", "go", "--id", name, "--detach")
        request = await waiting(name)
        _, *digest = await seen(name)
        lower = await holdfast("resolve", name, "req-1", "extend", "--max-steps", "5", *digest)
        after = await waiting(name)
        await holdfast("resolve", name, "req-1", "abort", *digest)

    assert (lower.code, lower.out) == (1, "")
    assert lower.err == "holdfast: refused: max_steps 5 is less than 9: extend raises limits\n"
    assert after == request


async def test_what_is_resolved_already_is_told(client: Client, name: str) -> None:
    """Nobody is told that a run took what came too late for it."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "loser", "go", "--id", name, "--detach")
        _, *digest = await seen(name)
        await holdfast("suspend", name)
        first = await holdfast("resolve", name, "req-1", "resume", *digest)
        late = await holdfast("resolve", name, "req-1", "resume", *digest)
        resumed = await holdfast("resume", name)
        await client.get_workflow_handle(name).result()

    assert [one.code for one in (first, late, resumed)] == [0, 1, 0]
    assert late.err == f"holdfast: no request 'req-1' of run {name!r} waits; none is open\n"
    assert resumed.out == f"{name} goes on\n"


@pytest.mark.parametrize("words", [["show"], ["pending"], ["cancel"]])
async def test_a_run_that_nobody_can_read(client: Client, name: str, words: list[str]) -> None:
    """The server took a text that is labelled as a time; a command says so on one line."""
    await start_unreadable(client, name)
    said = await holdfast(*words, name)

    assert said.code == 1
    assert said.err.startswith(f"holdfast: run {name!r} was started with search attributes that")
    assert "'temporal workflow terminate' ends it" in said.err


async def test_steering(client: Client, name: str) -> None:
    """A run is held, told something, let go on and cancelled by commands."""
    async with worker.run_worker(client, APP):
        await holdfast("run", "sender", "go", "--id", name, "--detach")
        await waiting(name)
        told = [
            await holdfast(*words)
            for words in (["suspend", name], ["steer", name, "be kind"], ["resume", name])
        ]
        cancelled = await holdfast("cancel", name)
        with pytest.raises(WorkflowFailureError):
            await client.get_workflow_handle(name).result()
        again = await holdfast("cancel", name)
        listed = await holdfast("list", "--status", "cancelled", "--json")

    assert [one.code for one in (*told, cancelled, again)] == [0, 0, 0, 0, 1]
    assert again.err == f"holdfast: run {name!r} is over (cancelled)\n"
    assert name in [run["run_id"] for run in json.loads(listed.out)]


async def test_history_needs_no_worker(client: Client, name: str, tmp_path: Path) -> None:
    """A run that is over is shown, traced, exported and replayed without any worker."""
    # GF-04 OB-04
    async with worker.run_worker(client, APP):
        await holdfast("run", "adder", "go", "--id", name)
    file = tmp_path / "run.json"
    shown = await holdfast("show", name)
    exported = await holdfast("export", name, "--output", str(file))
    trace, from_file = await holdfast("trace", name), await holdfast("trace", str(file))
    spans = await holdfast("trace", name, "--json")
    replayed = await holdfast("replay", str(file))
    again = await holdfast("export", name)

    assert [one.code for one in (shown, exported, trace, spans, replayed)] == [0] * 5
    assert "answer   5" in shown.out
    assert trace.out == from_file.out
    assert spans.json["run_id"] == name
    assert again.out == file.read_text(encoding="utf-8")
    assert replayed.out.startswith(f"{name} replays: ")


async def test_which_release_it_is(client: Client) -> None:
    """`holdfast --version` asks no server."""
    said = await holdfast("--version")

    assert (said.code, said.out) == (0, f"holdfast {version('holdfast')}\n")


async def test_changed_decisions_do_not_replay(client: Client, name: str, tmp_path: Path) -> None:
    """A history that today's code would not repeat is reported in one line."""
    # OB-06
    async with worker.run_worker(client, APP):
        await holdfast("run", "adder", "go", "--id", name)
    file = tmp_path / "run.json"
    text = (await holdfast("export", name)).out
    file.write_text(text.replace('"name": "call_model"', '"name": "think"'), encoding="utf-8")
    replayed = await holdfast("replay", str(file))

    assert (replayed.code, replayed.err.count("\n")) == (1, 1)
    assert "Nondeterminism" in replayed.err


async def test_missing_worker_is_named(client: Client, name: str) -> None:
    """Without a worker `run` says so once, and goes on as soon as there is one."""
    running = await started("run", "adder", "go", "--id", name)
    assert running.stderr is not None
    hint = (await running.stderr.readline()).decode()
    async with worker.run_worker(client, APP):
        ran = await ended(running)

    assert hint.startswith("no worker answers on task queue 'holdfast': start one with ")
    assert (ran.code, ran.err) == (0, "")


async def test_person_at_the_terminal_is_asked(client: Client) -> None:
    """On a terminal `run` asks for the approval, with the exact arguments."""
    begin = ("run", "sender", "go", "--actor", "eve")
    async with worker.run_worker(client, APP), terminal(*begin) as asking:
        await asking.says("approve? [y/n, Enter: later]")
        asked = asking.shown
        asking.types("y")
        code = await asking.code()

    assert 'text = "hello"' in asked
    assert "risk      write_internal" in asked
    assert "It was sent." in asking.shown
    assert code == 0
