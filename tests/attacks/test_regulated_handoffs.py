"""A release makes an agent regulated, and a run that began before is handed to it."""

import asyncio
from uuid import uuid4

import pytest
from temporalio.client import Client

from holdfast import Agent, App, Handoff, Risk, tool, worker
from holdfast.client import Holdfast, Run
from holdfast.connection import with_codec
from holdfast.contracts.calls import ToolFailure
from holdfast.contracts.model import Strategy
from holdfast.contracts.transcript import ToolTurn, TranscriptPage
from holdfast.guardrails import Guardrail, conflict_detection
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import ask_user
from tests.attacks.test_regulated import MARK, find_patient, next_request, read_labels
from tests.holdfast.test_client import Packed, asked
from tests.sample import IMPATIENT

GO_ON = call("transfer_to_doctor", goal="help")


@tool(risk=Risk.WRITE_INTERNAL)
async def book(room: str) -> str:
    """Book a room."""
    return room


def triage(turn: ScriptTurn) -> Reply:
    return [call("ask_user", question="go?"), GO_ON, say("on my own")][min(turn.number, 3) - 1]


def doctor(turn: ScriptTurn) -> Reply:
    replies = (
        call("find_patient", number=MARK),
        call("ask_user", question=f"is it {MARK}?"),
        say("done"),
    )
    return replies[turn.number - 3]


def release(*guardrails: Guardrail, regulated: bool, returns: bool = False) -> App:
    """An app whose doctor looks patients up from the release on that makes it regulated."""
    tools = [find_patient, ask_user] if regulated else [ask_user]
    return App(
        agents=[
            Agent(
                name="triage",
                instructions="Ask, and hand over.",
                models=["scripted:triage"],
                tools=[ask_user, book],
                handoffs=[Handoff("doctor", when="somebody is ill", return_expected=returns)],
                guardrails=guardrails,
                settings=IMPATIENT,
            ),
            Agent(
                name="doctor",
                instructions="Help.",
                models=["scripted:doctor"],
                tools=tools,
                settings=IMPATIENT,
            ),
        ],
        scripts={"triage": triage, "doctor": doctor},
        codec=Packed(),
    )


async def begin(
    client: Client,
    queue: str,
    *guardrails: Guardrail,
    strategy: Strategy = "stateless",
    returns: bool = False,
) -> tuple[Holdfast, Run, str]:
    """A run that waits for an answer by the time of the release, and what it has asked."""
    readable, name = with_codec(client, Packed()), f"run-{uuid4().hex[:8]}"
    given = {"agent": "triage", "input": "help", "strategy": strategy}
    before = release(*guardrails, regulated=False, returns=returns)
    async with worker.run_worker(client, before, task_queue=queue):
        await readable.start_workflow("AgentRun", given, id=name, task_queue=queue)
        holdfast = Holdfast(readable)
        run = holdfast.run(name)
        return holdfast, run, (await asked(run)).request_id


async def test_who_goes_on_with_a_run_makes_it_regulated(client: Client) -> None:
    """From then on nothing beside its events has a word of it, whatever it began as."""
    # HT-04 PP-05
    queue = f"regulated-{uuid4().hex[:8]}"
    holdfast, run, question = await begin(client, queue)
    async with worker.run_worker(client, release(regulated=True), task_queue=queue):
        await run.answer(question, "yes", by="zoe")
        later = await next_request(run, question)
        labels = await read_labels(holdfast, run.id)
        await run.answer(later, "yes", by="zoe")
        result = await run.result()
        labels += await read_labels(holdfast, run.id)

    assert (result.model, result.answer) == ("scripted:doctor", "done")
    assert any("ask:req-2" in label or "question:req-2" in label for label in labels)
    assert [one for one in labels if MARK in one] == []


@pytest.mark.parametrize(
    ("guardrails", "strategy", "why"),
    [
        pytest.param((), "previous_response_id", "has a provider keep", id="kept by a provider"),
        pytest.param(
            (conflict_detection("room", tools=("book",)),),
            "stateless",
            "says in a search attribute",
            id="says what it holds",
        ),
    ],
)
async def test_nobody_regulated_goes_on_with_a_run_that_is_not_fit(
    client: Client, guardrails: tuple[Guardrail, ...], strategy: Strategy, why: str
) -> None:
    """The handoff is refused, and its agent goes on with the run that was begun as it is."""
    # HT-04 PP-05
    queue = f"regulated-{uuid4().hex[:8]}"
    holdfast, run, question = await begin(client, queue, *guardrails, strategy=strategy)
    async with worker.run_worker(client, release(regulated=True), task_queue=queue):
        await run.answer(question, "yes", by="zoe")
        result = await run.result()
        handle = holdfast.client.get_workflow_handle(run.id)
        page = await handle.query("transcript", result_type=TranscriptPage)

    refused = [item.results[0] for item in page.items if isinstance(item, ToolTurn)][-1]
    assert isinstance(refused, ToolFailure)
    assert refused.reason.startswith("doctor can't go on: ")
    assert why in refused.reason
    assert (result.model, result.answer) == ("scripted:triage", "on my own")


async def test_nobody_regulated_works_for_a_run_that_is_not(client: Client) -> None:
    """What it answers would be told, hosted and kept with the rest of that run."""
    # HT-04 PP-05
    queue = f"regulated-{uuid4().hex[:8]}"
    holdfast, run, question = await begin(client, queue, returns=True)
    after = release(regulated=True, returns=True)
    async with worker.run_worker(client, after, task_queue=queue):
        await run.answer(question, "yes", by="zoe")
        async with asyncio.timeout(60):
            result = await run.result()
        handle = holdfast.client.get_workflow_handle(run.id)
        page = await handle.query("transcript", result_type=TranscriptPage)

    refused = [item.results[0] for item in page.items if isinstance(item, ToolTurn)][-1]
    assert isinstance(refused, ToolFailure)
    assert "the run that it would work for began as one that isn't" in refused.reason
    assert (result.answer, result.unresolved) == ("on my own", ())
