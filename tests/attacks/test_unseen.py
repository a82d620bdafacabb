"""Nobody decides about a request that they haven't seen, whatever waits when they type."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client
from temporalio.common import WorkflowIDConflictPolicy

from holdfast import Agent, App, Budget, worker
from holdfast.contracts.run import TASK_QUEUE, RunResult
from holdfast.guardrails import review_approval
from holdfast.testing import call, calls, say
from tests.holdfast.commands import holdfast, seen, terminal
from tests.holdfast.test_signed_approvals import trusted
from tests.running import Run
from tests.sample import TOOLS, lines

pytestmark = pytest.mark.usefixtures("command_line")

TAIL = "PAY-MALLORY"

DECISIONS = (
    pytest.param("sender", ("approve", "RUN"), id="approve"),
    pytest.param("sender", ("approve", "RUN", "req-1"), id="approve one"),
    pytest.param("sender", ("approve", "RUN", "--key", "dana"), id="approve signed"),
    pytest.param("sender", ("reject", "RUN", "req-1"), id="reject"),
    pytest.param("sender", ("keys", "sign", "RUN", "req-1"), id="sign"),
    pytest.param("asker", ("answer", "RUN", "req-1", "the red one"), id="answer"),
    pytest.param("loser", ("resolve", "RUN", "req-1", "resume"), id="resume"),
    pytest.param("loser", ("resolve", "RUN", "req-1", "abort"), id="abort"),
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "sent"


@pytest.fixture
async def name(client: Client, log: Path) -> AsyncGenerator[str]:
    """An id for a run, and a worker that serves it."""
    async with working(client, log):
        yield f"run-{uuid4().hex[:8]}"


@asynccontextmanager
async def working(client: Client, log: Path) -> AsyncGenerator[None]:
    """Serve agents that wait for every kind of decision."""
    scripts = {
        "sender": [call("send", log=str(log), text="29 euros"), say("Sent.")],
        "robber": [call("send", log=str(log), text="29000 euros"), say("Sent.")],
        "asker": [call("ask_user", question="Which?"), say("That one.")],
        "loser": [calls(call("find", name="x"), call("find", name="y")), say("Found.")],
    }
    agents = [
        Agent(
            name=name,
            instructions="Do as you are told.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
            budget=Budget(max_consecutive_failures=2),
            escalates=True,
        )
        for name in scripts
    ]
    writer = Agent(
        name="writer",
        instructions="Write.",
        models=["scripted:writer"],
        guardrails=(review_approval(),),
    )
    scripts["writer"] = [say(f"{'All is well. ' * 3_000}{TAIL}")]
    async with worker.run_worker(client, App(agents=[*agents, writer], scripts=scripts)):
        yield


async def begin(client: Client, agent: str, name: str) -> Run:
    """Start a run, in the place of one that has its id, and return it when it waits."""
    handle = await client.start_workflow(
        "AgentRun",
        {"agent": agent, "input": "go"},
        id=name,
        task_queue=TASK_QUEUE,
        result_type=RunResult,
        id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING,
    )
    run = Run(handle)
    await run.asked()
    return run


@pytest.mark.parametrize(("agent", "command"), DECISIONS)
async def test_without_a_terminal_nothing_is_decided_unseen(
    client: Client, name: str, agent: str, command: tuple[str, ...]
) -> None:
    """A script names what somebody saw; else nothing is signed or sent, and the request waits."""
    trusted("dana")
    run = await begin(client, agent, name)
    words = [name if word == "RUN" else word for word in command]
    unseen, another = await asyncio.gather(
        holdfast(*words), holdfast(*words, "--digest", "0" * 64)
    )

    assert (unseen.code, unseen.out, unseen.err.count("\n")) == (1, "", 1)
    assert f"name REQUEST and --digest DIGEST, as 'holdfast pending --json {name}'" in unseen.err
    assert (another.code, another.out, another.err.count("\n")) == (1, "", 1)
    assert len(await run.pending()) == 1
    assert (await run.status()).refused_total == 0


async def test_on_a_terminal_it_is_shown_and_asked_about(
    client: Client, name: str, log: Path
) -> None:
    """Everything that is approved stands above the question; whoever says no has sent nothing."""
    await begin(client, "sender", name)
    (request,) = await Run(client.get_workflow_handle(name)).pending()
    async with terminal("approve", name) as refusing:
        await refusing.says("approve? [y/N] ")
        refusing.types("")
        refused = await refusing.code()
    untouched = lines(log)
    # A digest is no reason not to ask where somebody can be asked.
    async with terminal("approve", name, "req-1", "--digest", request.digest) as approving:
        await approving.says("approve? [y/N] ")
        approving.types("y")
        approved = await approving.code()

    for words in ("29 euros", "risk      write_internal", "rule", "who       anybody", ", until "):
        assert words in refusing.shown.partition("approve? [y/N]")[0]
    assert f"nothing was sent: 'req-1' of run {name!r} waits on" in refusing.shown
    assert (refused, untouched, approved) == (1, [], 0)
    await client.get_workflow_handle(name).result()
    assert lines(log) != []


async def test_the_end_of_a_long_answer_is_on_the_screen(client: Client, name: str) -> None:
    """What is released stands above the question to its last word, however long it is."""
    await begin(client, "writer", name)
    async with terminal("approve", name) as approving:
        await approving.says("approve? [y/N] ")
        shown = approving.shown
        approving.types("n")
        code = await approving.code()

    assert code == 1
    assert TAIL in "".join(shown.split())


@pytest.mark.parametrize("command", [("approve",), ("reject",), ("keys", "sign")])
async def test_every_decision_is_asked_about(
    client: Client, name: str, command: tuple[str, ...]
) -> None:
    """Also a rejection and a signature: nothing is sent, or signed, by whoever types nothing."""
    trusted("dana")
    run = await begin(client, "sender", name)
    async with terminal(*command, name) as asking:
        await asking.says("? [y/N] ")
        shown = asking.shown
        asking.types("n")
        code = await asking.code()

    assert ("29 euros" in shown, code) == (True, 1)
    assert len(await run.pending()) == 1


async def test_what_waits_meanwhile_is_not_approved(client: Client, name: str, log: Path) -> None:
    """Another run under the same id has a request of the same name: nobody saw that one."""
    await begin(client, "sender", name)
    request = await seen(name)
    async with terminal("approve", name) as approving:
        await approving.says("approve? [y/N] ")
        run = await begin(client, "robber", name)
        approving.types("y")
        code = await approving.code()
    script = await holdfast("approve", name, *request)
    (refused,) = await run.refusals(1)

    assert (code, script.code) == (1, 1)
    assert "refused: request 'req-1' is not the one that was seen" in approving.shown
    assert refused == "request 'req-1' is not the one that was seen: see it again"
    assert len(await run.pending()) == 1
    assert lines(log) == []
