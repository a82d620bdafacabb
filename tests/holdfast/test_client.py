"""Working with runs from Python, on a real server."""

import asyncio
import re
import zlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import (
    Client,
    Interceptor,
    ListWorkflowsInput,
    OutboundInterceptor,
    WorkflowExecutionAsyncIterator,
)
from temporalio.converter import PayloadCodec
from temporalio.service import RPCError, RPCStatusCode

from holdfast import Agent, App, Budget, HoldfastError, worker
from holdfast.client import Holdfast, MessageRefused, NoWorker, PendingRequest, Run
from holdfast.client.event_data import AnswerReleased
from holdfast.client.rpc_errors import START_A_WORKER
from holdfast.contracts.approvals import ApprovalRequest, Escalation, Question, Request
from holdfast.testing import Script, call, say
from holdfast.trace.reader import read_trace
from tests.sample import TOOLS
from tests.shape.tree import ROOT
from tests.workflows.test_permissions import policy

pytestmark = pytest.mark.usefixtures("command_line")

SCRIPTS: dict[str, Script] = {
    "clerk": [say("It cost 29 dollars.")],
    "sender": [call("send", log="/dev/null", text="hello"), say("It was sent.")],
    "asker": [call("ask_user", question="Which?"), say("That one.")],
    "loser": [call("find", name="a"), call("find", name="b"), say("It is there.")],
}


def an_app(rules: Path | None = None) -> App:
    agents = [
        Agent(
            name=name,
            instructions="Do it.",
            models=[f"scripted:{name}"],
            tools=TOOLS,
            budget=Budget(max_steps=9, max_consecutive_failures=2),
            escalates=True,
        )
        for name in SCRIPTS
    ]
    return App(agents=agents, scripts=SCRIPTS, policy=rules)


@asynccontextmanager
async def working(client: Client) -> AsyncGenerator[tuple[Holdfast, str]]:
    """Runs, and the queue of a worker for them that no other test has."""
    queue = f"client-{uuid4().hex[:8]}"
    async with worker.run_worker(client, an_app(), task_queue=queue):
        yield Holdfast(client), queue


async def asked(run: Run) -> Request:
    """Wait until something waits in a run, and return it."""
    while True:
        try:
            if waiting := await run.pending():
                return waiting[0]
        except NoWorker:  # it has only just begun
            continue


async def test_a_run_is_started_and_its_result_awaited(client: Client) -> None:
    """A run without an id gets one; what was started can be found again by its id."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start(
            "clerk", "What did order 1044 cost?", queue=queue, tenant="acme", actor="web"
        )
        result = await run.result()
        again = await holdfast.run(run.id).result()
        status, usage = await run.status(), await run.usage()

    assert result.answer == "It cost 29 dollars."
    assert again == result
    assert (status.tenant, status.actor) == ("acme", "web")
    assert usage.steps == 1


async def test_what_waits_is_approved_as_it_was_seen(client: Client) -> None:
    """A request carries its digest along; whose run it is can't approve it."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue, actor="dana")
        request = await asked(run)
        assert isinstance(request, ApprovalRequest)
        with pytest.raises(MessageRefused, match="somebody else must approve") as own:
            await run.approve(request, approver="dana")
        other = request.with_(left_out="a field that it doesn't have")
        with pytest.raises(MessageRefused) as changed:
            await run.approve(other, approver="zoe")
        await run.approve(request, approver="zoe", reason="seen")
        result = await run.result()

    assert own.value.code == "self_approval"
    assert changed.value.code == "changed"
    assert result.answer == "It was sent."


async def test_what_waits_is_rejected_by_its_id(client: Client) -> None:
    """The agent goes on without it; a second decision comes too late."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue)
        request = await asked(run)
        await run.reject(request.request_id, approver="zoe", reason="not today")
        result = await run.result()
        with pytest.raises(HoldfastError, match="is over"):
            await run.approve(request.request_id, approver="zoe")

    assert result.status == "completed"


async def test_a_question_is_answered(client: Client) -> None:
    """The run says whether it took the answer; one to another question is refused."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("asker", "go", queue=queue)
        request = await asked(run)
        assert isinstance(request, Question)
        with pytest.raises(MessageRefused) as unknown:
            await run.answer("req-7", "the red one")
        taken = await run.answer(request, "the red one", by="zoe")
        result = await run.result()

    assert unknown.value.code == "unknown_request"
    assert taken
    assert result.answer == "That one."


async def test_an_escalated_run_goes_on_with_more(client: Client) -> None:
    """Limits that are extended hold from then on."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("loser", "go", queue=queue)
        request = await asked(run)
        assert isinstance(request, Escalation)
        taken = await run.resolve(request, "extend", budget=Budget(max_steps=30), by="zoe")
        result = await run.result()
        limits = (await run.usage()).budget

    assert taken
    assert (result.answer, limits.max_steps) == ("It is there.", 30)


async def test_a_run_is_held_steered_and_let_go(client: Client) -> None:
    """What is said to a run carries a name, and stands in its history."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue)
        request = await asked(run)
        await run.suspend(by="zoe")
        while (await run.status()).status != "suspended":
            pass
        await run.steer("be kind", by="zoe")
        await run.resume(by="zoe")
        while (await run.status()).status == "suspended":
            pass
        await run.reject(request.request_id, approver="zoe")
        await run.result()
        said = [(one.signal, one.sender) for one in read_trace(await run.history()).messages]

    assert {("suspend", "zoe"), ("steer", "zoe"), ("resume", "zoe")} <= set(said)


async def test_a_cancelled_run_has_no_result(client: Client) -> None:
    """Whoever waits for it reads why."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue)
        await asked(run)
        await run.cancel(reason="not needed any more")
        with pytest.raises(HoldfastError, match="has no result"):
            await run.result()


async def test_a_stopped_run_has_a_result(client: Client) -> None:
    """It says why, and by whom; what waited waits no more."""
    async with working(client) as (holdfast, queue):
        run = await holdfast.start("sender", "go", queue=queue)
        await asked(run)
        await run.stop("not needed any more", by="zoe")
        result = await run.result()

    assert result.stop is not None
    assert (result.status, result.stop.ended_by) == ("stopped", "zoe")
    assert "not needed any more" in result.stop.detail


async def found(
    holdfast: Holdfast, *, group: str | None = None, tenant: str | None = None
) -> list[PendingRequest]:
    """All that waits in runs that a worker is there for: other tests leave some without."""
    waiting: list[PendingRequest] = []
    try:
        async for one in holdfast.pending(group=group, tenant=tenant):
            waiting.append(one)  # noqa: PERF401 -- those before the error count
    except NoWorker:
        pass
    return waiting


class WithoutAttributes(Interceptor, OutboundInterceptor):
    """A server that was never told of Holdfast's search attributes."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        OutboundInterceptor.__init__(self, next)
        return self

    def list_workflows(self, input: ListWorkflowsInput) -> WorkflowExecutionAsyncIterator:
        types = ("'AgentRun'", "'AgentSession'")
        asked = (input.query or "").replace(types[0], "").replace(types[1], "")
        if "Agent" in asked:
            raise RPCError("no such attribute", RPCStatusCode.INVALID_ARGUMENT, b"")
        return super().list_workflows(input)


@pytest.mark.parametrize("attributes", [True, False], ids=["attributes", "no attributes"])
async def test_what_waits_for_a_tenant_is_found_across_runs(
    client: Client, *, attributes: bool
) -> None:
    """With the server's help, or by asking every run that is open."""
    tenant = f"t-{uuid4().hex[:8]}"
    async with working(client) as (holdfast, queue):
        runs = [
            await holdfast.start("sender", "go", queue=queue, tenant=name)
            for name in (tenant, tenant, "another")
        ]
        for run in runs:
            await asked(run)
        interceptors = [] if attributes else [WithoutAttributes()]
        asking = Holdfast(Client(client.service_client, interceptors=interceptors))
        waiting: list[PendingRequest] = []
        while len(waiting) < 2:  # visibility comes behind
            waiting = await found(asking, tenant=tenant)
        for one in waiting:
            await one.run.reject(one.request.request_id, approver="zoe")
        results = [await run.result() for run in runs[:2]]
        await runs[2].cancel()

    assert {one.run.id for one in waiting} == {run.id for run in runs[:2]}
    assert {result.status for result in results} == {"completed"}


@pytest.mark.parametrize("attributes", [True, False], ids=["attributes", "no attributes"])
async def test_what_waits_for_a_group_is_found_across_runs(
    client: Client, tmp_path: Path, *, attributes: bool
) -> None:
    """Nothing that another group decides, nor what everybody may, nor another tenant's."""
    interceptors = [] if attributes else [WithoutAttributes()]
    asking = Holdfast(Client(client.service_client, interceptors=interceptors))
    group, queue = f"g-{uuid4().hex[:8]}", f"client-{uuid4().hex[:8]}"
    rules = policy(
        tmp_path,
        "{id: ask, effect: approve, reason: four eyes, match: {tools: [send]}, approval: "
        f"{{groups: [{group}]}}}}",
        more=f"groups: {{{group}: [zoe]}}",
    )
    holdfast = Holdfast(client)
    async with worker.run_worker(client, an_app(rules), task_queue=queue):
        theirs = await holdfast.start("sender", "go", queue=queue, tenant=group)
        strangers = await holdfast.start("sender", "go", queue=queue, tenant="another")
        everybodys = await holdfast.start("asker", "go", queue=queue, tenant=group)
        for run in (theirs, strangers, everybodys):
            await asked(run)
        waiting: list[PendingRequest] = []
        while len(waiting) < 2:  # visibility comes behind
            waiting = await found(asking, group=group)
        of_tenant = await found(asking, group=group, tenant=group)
        for run in (theirs, strangers, everybodys):
            await run.cancel()

    assert {one.run.id for one in waiting} == {theirs.id, strangers.id}
    assert [one.run.id for one in of_tenant] == [theirs.id]


async def test_nobody_answers(client: Client) -> None:
    """Without a worker a question raises, a message is kept and a decision may still count."""
    holdfast, queue = Holdfast(client), f"nobody-{uuid4().hex[:8]}"
    run = await holdfast.start("sender", "go", queue=queue)
    with pytest.raises(NoWorker, match=START_A_WORKER):
        await run.status()
    taken = await run.answer("req-1", "the red one")
    with pytest.raises(NoWorker, match="which may still take effect"):
        await run.approve("req-1", approver="zoe")
    workers = await holdfast.has_workers(queue)
    await run.cancel()

    assert (taken, workers) == (False, False)


async def test_what_cant_be_sent_is_refused_here(client: Client) -> None:
    """Before a server hears of it, on one line that says what to change."""
    holdfast, queue = Holdfast(client), f"nobody-{uuid4().hex[:8]}"
    run = await holdfast.start("clerk", "go", queue=queue)
    refused: list[str] = []
    for attempt in (
        holdfast.start("clerk", "go", queue=queue, id=run.id),
        holdfast.start("clerk", "go", queue=queue, id="a b"),
        holdfast.start("", "go", queue=queue),
        holdfast.start("clerk", "go", queue=""),
        holdfast.run("run-of-nobody").status(),
        holdfast.run("run-of-nobody").result(),
        holdfast.run("run-of-nobody").cancel(),
        run.steer(""),
        run.approve("", approver="zoe"),
    ):
        with pytest.raises(HoldfastError) as error:
            await attempt
        refused.append(str(error.value))
    await run.cancel()

    assert [line for line in refused if "\n" in line] == []
    assert "already: choose another id" in refused[0]
    assert "choose another id than 'a b'" in refused[1]
    assert [("no run 'run-of-nobody'" in line) for line in refused[4:7]] == [True] * 3


@pytest.mark.parametrize("run_id", ["", "\ud800"], ids=["none", "no text"])
def test_what_cant_be_an_id_is_refused_at_once(client: Client, run_id: str) -> None:
    """Nobody waits for a worker of it."""
    with pytest.raises(HoldfastError, match="can't be the id of a run"):
        Holdfast(client).run(run_id)


class Packed(PayloadCodec):
    """Makes unreadable, to whoever lacks it, what enters history."""

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload(
                metadata={"encoding": b"binary/packed"},
                data=zlib.compress(payload.SerializeToString()),
            )
            for payload in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [
            Payload.FromString(zlib.decompress(payload.data))
            if payload.metadata.get("encoding") == b"binary/packed"
            else payload
            for payload in payloads
        ]


async def test_a_codec_makes_history_unreadable_but_for_its_own(client: Client) -> None:
    """The trace is read through the client's codec; nothing stands in history without it."""
    encoded = (await Holdfast.connect(codec=Packed())).client
    async with working(encoded) as (holdfast, queue):
        run = await holdfast.start("sender", "tell nobody", queue=queue)
        request = await asked(run)
        await run.approve(request.request_id, approver="zoe")
        result = await run.result()
        trace = read_trace(await run.history())
        told = [event.data async for event in run.events()]
    plain = Holdfast(Client(client.service_client, data_converter=replace(client.data_converter)))
    raw = b"".join(
        one.SerializeToString() for one in (await plain.run(run.id).history())[0].events
    )

    assert trace.result == result
    assert [one.text for one in told if isinstance(one, AnswerReleased)] == ["It was sent."]
    assert "tell nobody" in str(trace.brief)
    assert [one.approver for one in trace.requests["req-1"].approvals] == ["zoe"]
    assert b"tell nobody" not in raw
    assert b"It was sent" not in raw


async def test_code_on_the_page_runs(client: Client) -> None:
    """What docs/client.md shows can be used as it is."""
    page = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown: dict[str, Any] = {"__name__": "docs"}
    exec(compile(block, "docs", "exec"), shown)  # noqa: S102 -- our own page
    agent = Agent(
        name="support",
        instructions="Do it.",
        models=["scripted:support"],
        tools=TOOLS,
        budget=Budget(max_steps=9),
    )
    app = App(agents=[agent], scripts={"support": SCRIPTS["sender"]})
    holdfast, told = Holdfast(client), list[str]()
    async with worker.run_worker(client, app):
        asking = asyncio.create_task(shown["ask_support"](holdfast))
        while not any(line.startswith("support-17: send(") for line in told):
            told = await shown["approve_what_waits"](holdfast)  # visibility comes behind
        answer = await asking

    assert answer == "It was sent."
