"""Signing approvals at the command line, against a real server."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast import Agent, App, Budget, Risk, approvers, signing, tool, worker
from holdfast.contracts.run import TASK_QUEUE, RunResult
from holdfast.settings import Settings
from holdfast.testing import call, say
from tests.holdfast.commands import holdfast, seen, terminal
from tests.running import Run
from tests.sample import lines, note
from tests.workflows.delegating import FOUND, ask, desk

pytestmark = pytest.mark.usefixtures("command_line")

WORDS = "correct horse"


@tool(risk=Risk.FINANCIAL)
async def pay(log: str, amount: float) -> str:
    """Pay somebody some money."""
    note(log, f"paid {amount}")
    return "paid"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "paid"


@pytest.fixture
async def run(client: Client, log: Path) -> AsyncGenerator[str]:
    """A run that waits for somebody to approve a payment."""
    async with working(client, log):
        yield await waiting(client)


@asynccontextmanager
async def working(client: Client, log: Path, policy: Path | None = None) -> AsyncGenerator[None]:
    script = [call("pay", log=str(log), amount=29.0), say("It was paid.")]
    agent = Agent(
        name="payer",
        instructions="Do as you are told.",
        models=["scripted:payer"],
        tools=[pay],
        budget=Budget(max_steps=9),
    )
    app = App(agents=[agent], scripts={"payer": script}, policy=policy)
    async with worker.run_worker(client, app):
        yield


async def waiting(client: Client) -> str:
    """Start a run, and return its id when it waits for an approval."""
    name, brief = f"run-{uuid4().hex[:8]}", {"agent": "payer", "input": "go"}
    handle = await client.start_workflow(
        "AgentRun", brief, id=name, task_queue=TASK_QUEUE, result_type=RunResult
    )
    await Run(handle).asked_for_approval()
    return name


def trusted(name: str) -> None:
    """Make a key without a passphrase and have it trusted."""
    found = Settings.load()
    key = signing.make(found.keys, name, None)
    approvers.trust(found.approvers, json.dumps(key.public))


async def test_an_approval_is_signed_unasked(run: str, log: Path, client: Client) -> None:
    """`approve` signs by itself where that is needed, and the history keeps the proof."""
    # RK-09 RK-19 T-15
    trusted("dana")
    before = lines(log)
    approved = await holdfast("approve", run, *await seen(run), "--reason", "checked")
    await client.get_workflow_handle(run).result()
    history = await client.get_workflow_handle(run).fetch_history()
    raw = b"".join(event.SerializeToString() for event in history.events)

    assert before == []
    assert (approved.code, approved.out) == (0, f"approved req-1 of {run} as dana\n")
    assert lines(log) == ["paid 29.0"]
    for word in (b"verified_at", b"token_id", b"swk", b"checked"):
        assert word in raw


async def test_without_a_key_nothing_is_approved(run: str, log: Path) -> None:
    """Who has no key reads how to get one; a key that nobody trusts releases nothing."""
    # RK-09 BY-02
    request = await seen(run)
    none = await holdfast("approve", run, *request)
    signing.make(Settings.load().keys, "dana", None)
    untrusted = await holdfast("approve", run, *request)
    garbage = await holdfast("approve", run, "--token", "x.y.z")
    both = await holdfast("approve", run, "--token", "x.y.z", "--key", "dana")

    assert "make one with 'holdfast keys new " in none.err
    assert "that is trusted; add it with 'holdfast keys trust'" in untrusted.err
    assert garbage.err.startswith("holdfast: refused: the token's header is no JSON")
    assert [one.code for one in (none, untrusted, garbage, both)] == [1, 1, 1, 2]
    assert lines(log) == []


async def test_a_token_is_sent_by_whatever_can(run: str, log: Path, client: Client) -> None:
    """A printed token counts for its one request, through a plain signal as through `--token`."""
    # RK-19
    trusted("dana")
    request = await seen(run)
    no = await holdfast("keys", "sign", run, *request, "--decision", "reject")
    wrong = await holdfast("approve", run, "req-1", "--token", "-", stdin=no.out)
    missing = await holdfast("keys", "sign", run, "req-9", *request[1:])
    yes = await holdfast("keys", "sign", run, *request)
    await client.get_workflow_handle(run).signal(
        "approval",
        {
            "request_id": "req-1",
            "decision": "approve",
            "approver": "whoever",
            "token": yes.out.strip(),
        },
    )
    await client.get_workflow_handle(run).result()

    assert (wrong.code, wrong.err.count("\n")) == (1, 1)
    assert "the token's decision is not that of this decision" in wrong.err
    assert missing.err == f"holdfast: no request 'req-9' of run {run!r} waits; open: req-1\n"
    assert lines(log) == ["paid 29.0"]


async def test_two_people_sign(client: Client, log: Path, tmp_path: Path) -> None:
    """Where two must approve, the first reads that one more must, and can't be both."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "version: 1\n"
        "groups: {finance: [dana, lee]}\n"
        "rules:\n"
        "  - id: money\n"
        "    effect: approve\n"
        "    reason: money leaves\n"
        "    match: {tools: [pay]}\n"
        "    approval: {groups: [finance], count: 2, strong: true, max_auth_age: 5m}\n",
        encoding="utf-8",
    )
    for name in ("dana", "lee"):
        trusted(name)
    async with working(client, log, policy):
        run = await waiting(client)
        request = await seen(run)
        unclear = await holdfast("approve", run, *request)
        first = await holdfast("approve", run, *request, "--key", "dana")
        shown = await holdfast("pending", run)
        second = await holdfast("approve", run, *request, "--approver", "lee")
        await client.get_workflow_handle(run).result()

    assert "choose one of dana, lee (--key)" in unclear.err
    assert first.out == f"approved req-1 of {run} as dana; 1 more must approve\n"
    assert second.out == f"approved req-1 of {run} as lee\n"
    assert lines(log) == ["paid 29.0"]
    for words in (
        "who       a member of finance, but not whom it is for",
        "needs     2 approvals, 1 given",
        "given     dana at ",
        "strength  strong: a signed approval; signed in not longer than 5m 0s ago",
    ):
        assert words in shown.out


async def test_a_passphrase_is_typed_unseen(run: str, log: Path, client: Client) -> None:
    """A key with a passphrase is made and used on a terminal, which shows no letter of it."""
    async with terminal("keys", "new", "dana") as making:
        await making.says("passphrase for the new key: ")
        making.types(WORDS)
        await making.says("the same again: ")
        making.types(WORDS)
        made = await making.code()
    public = making.shown[making.shown.index("{") : making.shown.index("}") + 1]
    approvers.trust(Settings.load().approvers, public)
    silent = await holdfast("approve", run, *await seen(run))
    async with terminal("approve", run) as approving:
        await approving.says("approve? [y/N] ")
        approving.types("y")
        await approving.says("passphrase of key 'dana': ")
        approving.types("wrong horse")
        wrong = await approving.code()
    async with terminal("approve", run) as again:
        await again.says("approve? [y/N] ")
        again.types("y")
        await again.says("passphrase of key 'dana': ")
        again.types(WORDS)
        right = await again.code()
    await client.get_workflow_handle(run).result()

    assert (made, wrong, right) == (0, 1, 0)
    assert silent.err == "holdfast: a passphrase is needed: run this on a terminal\n"
    assert "amount = 29.0" in approving.shown
    assert "that is not the passphrase of key 'dana'" in approving.shown
    assert "horse" not in making.shown + approving.shown + again.shown
    assert lines(log) == ["paid 29.0"]


async def test_who_is_asked_at_the_terminal_signs_there(client: Client, log: Path) -> None:
    """`run` shows the request, asks, and signs the approval like `approve` does."""
    trusted("dana")
    async with working(client, log), terminal("run", "payer", "go") as running:
        await running.says("approve? [y/n, Enter: later]")
        running.types("y")
        await running.says("used ")
        code = await running.code()

    assert code == 0
    assert "strength  strong: a signed approval" in running.shown
    assert "It was paid." in running.shown
    assert lines(log) == ["paid 29.0"]


async def test_who_can_t_sign_leaves_it_open(client: Client, log: Path) -> None:
    """Somebody without a key at the terminal reads what to do, and the request waits on."""
    async with working(client, log), terminal("run", "payer", "go", "--id", "run-open") as asking:
        await asking.says("approve? [y/n, Enter: later]")
        asking.types("y")
        await asking.says("left open: holdfast approve run-open req-1")
        request = await seen("run-open")
        rejected = await holdfast("reject", "run-open", *request, "--approver", "zoe")
        await asking.code()

    assert "make one with 'holdfast keys new " in asking.shown
    assert rejected.code == 0
    assert lines(log) == []


async def test_a_printed_token_is_for_the_part_that_asks(client: Client, log: Path) -> None:
    """What a part asks is signed for it, though its whole was named: else it is of no use."""
    # RK-19 BY-52
    trusted("dana")
    script = [call("send", log=str(log), text="hi"), FOUND]
    policy = log.with_name("policy.yaml")
    policy.write_text(
        "version: 1\nrules:\n"
        "  - {id: r, effect: approve, match: {tools: [send]}, approval: {strong: true}}\n",
        encoding="utf-8",
    )
    async with worker.run_worker(client, desk([ask("tides"), say("So.")], script, policy=policy)):
        name = f"run-{uuid4().hex[:8]}"
        handle = await client.start_workflow(
            "AgentRun", {"agent": "desk", "input": "go"}, id=name, task_queue=TASK_QUEUE
        )
        while not (waiting := await Run(handle).pending()):
            await Run(handle).pause()
        (request,) = waiting
        named = (request.request_id, "--digest", request.digest)
        printed = await holdfast("keys", "sign", name, *named)
        sent = await holdfast("approve", name, *named, "--token", printed.out.strip())
        await handle.result()

    assert request.run_id == f"{name}.1-researcher"
    assert (printed.code, sent.code) == (0, 0)
    assert len(lines(log)) == 1
