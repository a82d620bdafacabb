"""A run in a sensitive domain waits for a person, who decides on the command line."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast import Agent, App, worker
from holdfast.testing import call, say
from tests.holdfast.commands import holdfast, seen, waiting
from tests.sample import TOOLS

pytestmark = pytest.mark.usefixtures("command_line")

REASON = "Sensitive domain requires human review"


@asynccontextmanager
async def working(client: Client, log: Path) -> AsyncGenerator[str]:
    """Have a worker whose agent writes a line, and an id for a run of it."""
    script = [call("look", place="here"), call("write", log=str(log), text="paid"), say("Paid.")]
    agent = Agent(name="payer", instructions="Pay.", models=["scripted:payer"], tools=TOOLS)
    async with worker.run_worker(client, App(agents=[agent], scripts={"payer": script})):
        yield f"run-{uuid4().hex[:8]}"


async def test_a_review_is_shown_and_approved(client: Client, tmp_path: Path) -> None:
    """Nothing is written before somebody else than the requester has approved the run."""
    # ES-08 ES-14 BY-16
    log = tmp_path / "log"
    async with working(client, log) as run:
        begin = ("run", "payer", "pay", "--domain", "payments", "--actor", "eve", "--id", run)
        await holdfast(*begin, "--detach")
        request = await waiting(run)
        before = log.exists()
        pending, shown = await holdfast("pending", run), await holdfast("show", run)
        name, *digest = await seen(run)
        own = await holdfast("approve", run, name, "--approver", "eve", *digest)
        wrong = await holdfast("resolve", run, name, "resume", *digest)
        words = ("--approver", "dana", "--reason", "looks right")
        approved = await holdfast("approve", run, name, *words, *digest)
        result = await client.get_workflow_handle(run).result()
        trace = await holdfast("trace", run)

    assert (request["kind"], request["action"], request["reason"], before) == (
        "review",
        "require_approval",
        REASON,
        False,
    )
    assert f"approve domain:payments? {REASON}" in pending.out
    assert f"req-1 · review of domain:payments: {REASON}" in shown.out
    assert "    asks      require_approval" in shown.out
    assert (own.code, "somebody else must approve this" in own.err) == (1, True)
    assert (wrong.code, "holdfast approve" in wrong.err) == (1, True)
    assert approved.out == f"approved req-1 of {run} as dana\n"
    assert (result["status"], log.read_text().split()) == (
        "completed",
        ["begin", "paid", "end", "paid"],
    )
    assert f"review: domain:payments: {REASON} (req-1)" in trace.out
    assert "approved by dana" in trace.out


async def test_a_rejected_review_ends_the_run(client: Client, tmp_path: Path) -> None:
    """Whoever rejects it says why, and nothing is ever written."""
    # ES-08
    log = tmp_path / "log"
    async with working(client, log) as run:
        begin = ("run", "payer", "pay", "--domain", "payments", "--id", run)
        await holdfast(*begin, "--detach")
        words = ("--approver", "dana", "--reason", "not this week")
        rejected = await holdfast("reject", run, *await seen(run), *words)
        result = await client.get_workflow_handle(run).result()

    assert rejected.out == f"rejected req-1 of {run} as dana\n"
    assert (result["status"], result["stop"]["reason"]) == ("stopped", REASON)
    assert "rejected by dana: not this week" in result["stop"]["detail"]
    assert not log.exists()


async def test_another_domain_is_not_reviewed(client: Client, tmp_path: Path) -> None:
    """Only the domains that the agent's triggers name wait."""
    # ES-08
    log = tmp_path / "log"
    async with working(client, log) as run:
        ended = await holdfast("run", "payer", "pay", "--domain", "paintings", "--id", run)

    assert (ended.code, log.exists()) == (0, True)
    assert ended.err == (
        "nothing waits for a review in domain 'paintings': those of agent 'payer' "
        "are auth, payments, pii\n"
    )
