"""Replies that OpenAI keeps and the run doesn't: whole runs go on without them."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHistory

from holdfast import Agent, App
from holdfast.contracts.model import Strategy
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, tripped
from tests.adapters.provider_server import ProviderServer
from tests.histories import activities
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import add
from tests.workflows.provider_words import GPT, function_call, message, openai, reasoning

STRATEGIES: list[Strategy] = ["stateless", "previous_response_id", "conversation"]


def an_app(**settings: object) -> App:
    fields: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": [GPT],
        "tools": [add],
        **settings,
    }
    return App(agents=[Agent(**fields)])  # pyright: ignore[reportArgumentType] -- as a test wants


def replies(history: WorkflowHistory) -> int:
    """How many calls of a model have brought one."""
    asked = {one.event.event_id for one in activities(history) if one.name == "call_model"}
    return sum(
        event.activity_task_completed_event_attributes.scheduled_event_id in asked
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED
    )


def begins_anew(provider: ProviderServer) -> bool:
    """Whether the last request has all that was said, and nothing of the reply that is no more."""
    last = provider.requests[-1].body
    ghost = "call_2" in str(last) or "previous_response_id" in last
    return "Add 2 and 3." in str(last["input"]) and not ghost


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_dropped_reply_leaves_no_ghost(
    runs: Runs, provider: ProviderServer, strategy: Strategy
) -> None:
    """A guardrail beside the model drops its second reply: approved, the run goes on."""
    # SS-03 PS-07 T-23 T-24
    go = asyncio.Event()

    @guardrail(layer="input", mode="parallel", watches=("results",), on_trip="ask")
    async def look(_: Subject, __: GuardrailContext) -> GuardrailResult:
        await go.wait()
        return tripped("a person must see this")

    provider.answer(openai(reasoning("sum"), function_call("call_1", a=2, b=3)))
    provider.answer(
        openai(reasoning("more"), function_call("call_2", a=5, b=4)) | {"id": "resp_2"}
    )
    provider.answer(openai(message("It is 5.")) | {"id": "resp_3"})
    async with runs.working(an_app(guardrails=[look])):
        run = await runs.start("it", "Add 2 and 3.", strategy=strategy)
        while replies(await run.handle.fetch_history()) < 2:  # noqa: ASYNC110 -- it is elsewhere
            await asyncio.sleep(0.02)
        go.set()
        (request,) = await run.asked()
        await run.approve(request.request_id)
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "It is 5.")
    assert begins_anew(provider)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_a_cut_off_reply_leaves_no_ghost(
    memory_runs: MemoryRuns, provider: ProviderServer, strategy: Strategy
) -> None:
    """The guardrail is quicker than the model: nobody waits for what OpenAI may still keep."""
    # SS-03 T-24

    @guardrail(layer="input", mode="parallel", watches=("results",), on_trip="ask")
    async def look(_: Subject, __: GuardrailContext) -> GuardrailResult:
        while not provider.silent.is_set():  # noqa: ASYNC110 -- it is a thread of the server's
            await asyncio.sleep(0.01)
        return tripped("a person must see this")

    provider.answer(openai(reasoning("sum"), function_call("call_1", a=2, b=3)))
    provider.answer(openai(function_call("call_2", a=5, b=4)) | {"id": "resp_2"}, delay=30)
    provider.answer(openai(message("It is 5.")) | {"id": "resp_3"})
    async with memory_runs.working(an_app(guardrails=[look])):
        run = await memory_runs.start("it", "Add 2 and 3.", strategy=strategy)
        (request,) = await run.asked()
        await run.approve(request.request_id)
        result = await run.result()

    assert (result.status, result.answer) == ("completed", "It is 5.")
    assert begins_anew(provider)
