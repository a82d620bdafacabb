"""What a law protects stands nowhere in words that a server, a log or a stranger can read."""

import asyncio
import gc
import io
import logging
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import structlog
from pydantic import BaseModel
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.api.workflowservice.v1 import (
    DescribeWorkflowExecutionRequest,
    GetWorkflowExecutionHistoryRequest,
    ListWorkflowExecutionsRequest,
)
from temporalio.client import Client, WorkflowFailureError

from holdfast import (
    Agent,
    App,
    AppError,
    HoldfastError,
    HostedTool,
    Risk,
    SubAgent,
    Tool,
    Webhook,
    logs,
    tool,
    worker,
)
from holdfast.client import Holdfast, Run
from holdfast.connection import with_codec
from holdfast.contracts.base import JsonObject
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    conflict_detection,
    guardrail,
    tripped,
)
from holdfast.testing import Script, call, say
from holdfast.tools import ask_user
from holdfast.trace.payloads import read_summary
from holdfast.trace.reader import read_trace
from tests.activities.test_notifications import SECRET, listening
from tests.holdfast.test_client import Packed, asked

MARK = "otter4711"
"""What is said of a patient; it stands in whatever a run is told and tells."""


class Task(BaseModel):
    """Care for somebody."""

    goal: str


class Found(BaseModel):
    """What was found."""

    text: str


@tool(risk=Risk.READ_ONLY, regulated=True, max_retries=0)
async def find_patient(number: str) -> str:
    """Look a patient up by a number."""
    if number == "none":
        raise KeyError(f"nobody like {MARK}")
    if number == "listed":
        raise RuntimeError(f'found\n  File "{MARK}.txt", line 1, in a list')
    return f"{number} is {MARK}"


@tool(risk=Risk.COMPUTE_ONLY, local=True, timeout=5, max_retries=0)
async def shorten(name: str) -> str:
    """Make a name shorter than it is."""
    if name == "none":
        raise ValueError(MARK)
    return name[:20]


@tool(risk=Risk.WRITE_INTERNAL)
async def write_letter(text: str) -> str:
    """Write a letter to a patient."""
    return text


@guardrail(layer="output")
async def objects(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Trip on the first answer."""
    return tripped(f"it has {subject.text}") if "first" in subject.text else GuardrailResult()


TOOLS: list[Tool] = [find_patient, shorten, write_letter, ask_user]

DOCTOR: Script = [
    call("find_patient", number=MARK),
    call("find_patient", number="none"),
    call("find_patient", number="listed"),
    call("shorten", name=MARK),
    call("shorten", name="none"),
    call("delegate_to_nurse", goal=f"ask {MARK}"),
    call("write_letter", text=f"dear {MARK}"),
    call("ask_user", question=f"is it {MARK}?"),
    say(f"first {MARK}"),
    say(f"then {MARK}"),
]


def a_doctor(**more: object) -> Agent:
    given: dict[str, object] = {
        "name": "doctor",
        "instructions": "Help.",
        "models": ["scripted:doctor"],
        "tools": TOOLS,
        **more,
    }
    return Agent(**given)  # pyright: ignore[reportArgumentType] -- whatever a test overrides


def an_app(*agents: Agent, **more: object) -> App:
    """An app whose doctor asks a nurse."""
    doctor = a_doctor(
        guardrails=[objects], subagents=[SubAgent("nurse", input=Task, output=Found)]
    )
    nurse = Agent(name="nurse", instructions="Care.", models=["scripted:nurse"], output=Found)
    given: dict[str, object] = {"codec": Packed(), **more}
    return App(
        agents=agents or [doctor, nurse],
        scripts={"doctor": DOCTOR, "nurse": [say(f'{{"text": "{MARK} is well"}}')]},
        **given,  # pyright: ignore[reportArgumentType] -- as above
    )


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> Generator[io.StringIO]:
    """What a worker of such an app logs."""
    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setenv("HOLDFAST_LOG", "info")
    monkeypatch.setattr(sys, "stderr", stream)
    logs.configure(stacks=False)
    yield stream
    structlog.reset_defaults()
    root.handlers[:], root.level = handlers, level


@asynccontextmanager
async def working(client: Client, app: App) -> AsyncGenerator[tuple[Holdfast, str]]:
    """Runs of an app, and the queue of a worker that was given a client without its codec."""
    queue = f"regulated-{uuid4().hex[:8]}"
    async with worker.run_worker(client, app, task_queue=queue):
        yield Holdfast(with_codec(client, app.codec)), queue


async def read_raw(client: Client, run_id: str) -> bytes:
    """All that the server tells of a run to whoever has no codec."""
    named, space = WorkflowExecution(workflow_id=run_id), client.namespace
    service, told = client.workflow_service, b""
    described = DescribeWorkflowExecutionRequest(namespace=space, execution=named)
    told += (await service.describe_workflow_execution(described)).SerializeToString()
    listed = ListWorkflowExecutionsRequest(namespace=space, query=f"WorkflowId = '{run_id}'")
    told += (await service.list_workflow_executions(listed)).SerializeToString()
    page = b""
    while True:
        wanted = GetWorkflowExecutionHistoryRequest(
            namespace=space, execution=named, next_page_token=page
        )
        found = await service.get_workflow_execution_history(wanted)
        told += found.SerializeToString()
        if not (page := found.next_page_token):
            return told


async def read_labels(holdfast: Holdfast, run_id: str) -> list[str]:
    """What stands beside a run and its events, as who has the codec reads it."""
    run = holdfast.run(run_id)
    described = await run.describe()
    labels = [str(await described.static_summary()), str(await described.memo())]
    labels += [f"{key} {values}" for key, values in described.search_attributes.items()]
    shown = await holdfast.client.get_workflow_handle(run_id).query(
        "__temporal_workflow_metadata", result_type=WorkflowMetadata
    )
    labels.append(shown.current_details)
    histories = await run.history()
    return labels + [read_summary(event) for one in histories for event in one.events]


async def test_no_word_of_a_regulated_run_stands_outside_of_its_codec(
    client: Client, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in history, lists, summaries, details, logs or notices; only ids do."""  # HT-04 PP-05
    monkeypatch.setenv("HOLDFAST_SECRET_HOOK", SECRET)
    with listening() as listener:
        app = an_app(notify=Webhook(url=listener.address, secret="hook"))
        async with working(client, app) as (holdfast, queue):
            run = await holdfast.start("doctor", f"help {MARK}", queue=queue, actor="web")
            approval = await asked(run)
            waiting = await read_labels(holdfast, run.id)
            raw = await read_raw(client, run.id)
            await run.approve(approval.request_id, approver="zoe", reason=MARK)
            question = await next_request(run, approval.request_id)
            await run.answer(question, f"yes, {MARK}", by="zoe")
            result = await run.result()
            labels = waiting + await read_labels(holdfast, run.id)
            trace = read_trace(await run.history())
            (part,) = await parts_of(client, run.id)
            labels += await read_labels(holdfast, part)
            raw += await read_raw(client, run.id) + await read_raw(client, part)
        notices = b"".join(got.body for got in listener.got)

    assert result.answer == f"then {MARK}"
    assert MARK in str(trace)
    assert "approval:req-1" in str(waiting)
    assert f"doctor: {run.id}" in labels
    assert {"call_1_1", "call_4_1", "turn 1 · scripted:doctor · turn"} <= set(labels)
    assert [one for one in labels if MARK in one] == []
    assert MARK.encode() not in raw
    assert (b"req-1" in notices, MARK.encode() in notices) == (True, False)
    assert "activity.raised" in logged.getvalue()
    assert [line for line in logged.getvalue().splitlines() if MARK in line] == []


@pytest.mark.usefixtures("sandboxed")
async def test_what_nobody_waits_for_is_logged_without_its_words(logged: io.StringIO) -> None:
    """A task that is forgotten, a future, and a callback with what it was called with."""

    async def fail() -> None:
        raise RuntimeError(MARK)

    def refuse(_: str) -> None:
        raise RuntimeError(MARK)

    loop = asyncio.get_running_loop()
    loop.create_future().set_exception(RuntimeError(MARK))
    loop.call_soon(refuse, MARK)
    task = asyncio.create_task(fail())
    await asyncio.wait({task})
    del task
    gc.collect()

    told = logged.getvalue()
    assert told.count("logger=asyncio") + told.count('"logger": "asyncio"') == 3
    assert f"in {fail.__name__}" in told
    assert MARK not in told


async def test_no_file_of_a_regulated_run_is_named_in_a_log(
    client: Client, logged: io.StringIO, tmp_path: Path
) -> None:
    """Of what its project leaves out the log has the number; its files name whom it is about."""
    # HT-04
    project = tmp_path / "project"
    project.mkdir()
    (project / f"{MARK}.md").symlink_to("/etc/passwd")
    nurse = a_doctor(name="nurse", models=["scripted:nurse"], project=project)
    async with working(client, an_app(nurse)) as (holdfast, queue):
        result = await (await holdfast.start("nurse", "help", queue=queue)).result()

    assert result.answer
    assert "project.left_out_more" in logged.getvalue()
    assert [line for line in logged.getvalue().splitlines() if MARK in line] == []


async def test_why_it_is_cancelled_is_told_to_no_server(client: Client) -> None:
    """No codec reaches that: who cancels gives no reason, and is named."""  # HT-04 PP-05
    async with working(client, an_app()) as (holdfast, queue):
        run = await holdfast.start("doctor", f"help {MARK}", queue=queue)
        await asked(run)
        with pytest.raises(HoldfastError, match="leave the reason out"):
            await run.cancel(reason=MARK)
        await run.cancel(by="zoe")
        with pytest.raises(HoldfastError, match="cancelled"):
            await run.result()
        raw = await read_raw(client, run.id)

    assert (b"asked for by zoe" in raw, MARK.encode() in raw) == (True, False)


async def next_request(run: Run, before: str) -> str:
    """The id of the request that waits when another waits no more."""
    while (found := (await asked(run)).request_id) == before:
        continue
    return found


async def parts_of(client: Client, run_id: str) -> list[str]:
    """The runs that worked for a run, once the server lists them."""
    while True:
        query = f"WorkflowType = 'AgentRun' AND WorkflowId STARTS_WITH '{run_id}.'"
        if found := [one.id async for one in client.list_workflows(query)]:
            return found


async def test_a_worker_without_a_codec_has_nothing_regulated(client: Client) -> None:
    """It doesn't start with such an app, and begins no run that says so of itself."""  # HT-04
    plain = an_app(
        Agent(name="nurse", instructions="Care.", models=["scripted:nurse"]), codec=None
    )
    with pytest.raises(AppError, match=r"needs a payload codec.*agent doctor and its tools"):
        async with working(client, an_app(codec=None)):
            pass
    async with working(client, plain) as (holdfast, queue):
        with pytest.raises(HoldfastError, match="started with its app's codec"):
            await holdfast.start("nurse", MARK, queue=queue, regulated=True)
        run = await client.start_workflow(
            "AgentRun",
            {"agent": "nurse", "input": "go", "regulated": True},
            id=f"run-{uuid4().hex}",
            task_queue=queue,
        )
        with pytest.raises(WorkflowFailureError) as refused:
            await run.result()

    assert "this worker has no payload codec: give its app one, App(codec=...)" in str(
        refused.value.cause
    )


NURSE = Agent(
    name="nurse",
    instructions="Care.",
    models=["scripted:nurse"],
    hosted=[HostedTool(name="web_search")],
)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param({"strategy": "conversation"}, "has a provider keep what was said", id="kept"),
        pytest.param({"strategy": "previous_response_id"}, "leave it out", id="chained"),
        pytest.param({}, "hosted tool 'web_search' runs at its provider", id="hosted"),
    ],
)
async def test_a_regulated_run_keeps_its_words_to_itself(
    client: Client, given: JsonObject, why: str
) -> None:
    """Whoever says that it is: the starter of a run here, for an agent that isn't."""  # PP-05
    nurse = (
        NURSE
        if not given
        else Agent(name="nurse", instructions="Care.", models=["scripted:nurse"])
    )
    async with working(client, an_app(nurse)) as (holdfast, queue):
        run = await holdfast.start("nurse", MARK, queue=queue, regulated=True, **given)  # pyright: ignore[reportArgumentType] -- as above
        with pytest.raises(HoldfastError, match=why):
            await run.result()


@pytest.mark.parametrize(
    ("agents", "why"),
    [
        pytest.param(
            [a_doctor(hosted=[find_patient])], "a regulated tool can't be hosted", id="a tool"
        ),
        pytest.param(
            [a_doctor(hosted=[HostedTool(name="web_search")])],
            "hosted tool 'web_search' runs at its provider, which no regulated run may use",
            id="beside one",
        ),
        pytest.param(
            [a_doctor(subagents=[SubAgent("nurse", input=Task, output=Found)]), NURSE],
            "agent 'nurse': hosted tool 'web_search' runs at its provider",
            id="behind it",
        ),
        pytest.param(
            [a_doctor(tools=[shorten], regulated=True, guardrails=[conflict_detection("name")])],
            "says in a search attribute what a run holds",
            id="a search attribute",
        ),
    ],
)
def test_nothing_regulated_is_hosted(agents: list[Agent], why: str) -> None:
    """An app is refused in which the words of regulated runs would go elsewhere."""  # HT-04 PP-05
    with pytest.raises(AppError, match=why):
        an_app(*agents)


def test_a_codec_is_one() -> None:
    """The class of one, for instance, is refused at once."""
    with pytest.raises(AppError, match="its codec is no temporalio"):
        an_app(codec=Packed)
