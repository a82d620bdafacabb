"""What OpenAI keeps of a run is deleted there when somebody says so."""

import pytest
from temporalio.client import Client, WorkflowHandle

from holdfast import Agent, App, worker
from holdfast.adapters.openai import OpenAIAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelUnavailable
from holdfast.contracts.model import Strategy
from holdfast.contracts.run import TASK_QUEUE, WORKFLOW_TYPE, RunResult
from tests.adapters.dialects import DIALECTS
from tests.adapters.provider_server import ProviderServer
from tests.adapters.rules.responses import ResponsesRules
from tests.holdfast.commands import holdfast
from tests.running import Run
from tests.sample import ask_user
from tests.workflows.provider_words import GPT, function_call, message, openai, reasoning

pytestmark = pytest.mark.usefixtures("command_line")


APP = App(agents=[Agent(name="it", instructions="Work.", models=[GPT], tools=[ask_user])])


def rules(provider: ProviderServer) -> ResponsesRules:
    found = provider.rules["/responses"]
    assert isinstance(found, ResponsesRules)
    return found


async def started(
    client: Client, name: str, strategy: Strategy
) -> WorkflowHandle[object, RunResult]:
    brief: JsonObject = {"agent": "it", "input": "go", "strategy": strategy}
    return await client.start_workflow(
        WORKFLOW_TYPE, brief, id=name, task_queue=TASK_QUEUE, result_type=RunResult
    )


async def finished(
    client: Client, provider: ProviderServer, name: str, strategy: Strategy
) -> None:
    """Have a run of two turns."""
    provider.answer(openai(reasoning("it"), function_call("call_1", name="nope")))
    provider.answer({**openai(message("done")), "id": "resp_2"})
    async with worker.run_worker(client, APP):
        await (await started(client, name, strategy)).result()


@pytest.mark.parametrize(
    ("strategy", "kept"),
    [
        ("stateless", []),
        ("previous_response_id", ["response resp_1", "response resp_2"]),
        ("conversation", ["response resp_1", "response resp_2", "conversation conv_1"]),
    ],
)
async def test_all_that_is_kept_of_a_run_is_deleted(
    client: Client, provider: ProviderServer, name: str, strategy: Strategy, kept: list[str]
) -> None:
    """Responses, conversations and their items; said again, it tells that they are gone."""
    # T-23
    await finished(client, provider, name, strategy)
    before = rules(provider)
    held = (len(before.responses), len(before.conversations))
    first = await holdfast("forget", name)
    second = await holdfast("forget", name, "--json")

    assert held == (len(kept[:2]), len(kept[2:]))
    assert (first.code, first.err) == (0, "")
    nothing = f"nothing of {name} is kept at a provider that could delete it"
    assert first.out.splitlines() == [f"deleted {one}" for one in kept] or [nothing]
    assert (before.responses, before.conversations, before.orphans) == ({}, {}, [])
    assert second.json == {"run_id": name, "deleted": [], "gone": kept}


async def test_no_id_leads_elsewhere(client: Client, provider: ProviderServer, name: str) -> None:
    """Whoever made a reply up may have called it `..`: nothing above responses is deleted."""
    # T-23
    provider.answer({**openai(message("done")), "id": ".."})
    async with worker.run_worker(client, APP):
        await (await started(client, name, "previous_response_id")).result()
    await holdfast("forget", name)

    asked = provider.requests[-1]
    assert (asked.method, asked.path) == ("DELETE", "/v1/responses/%2E%2E")


async def test_of_a_run_that_goes_on_nothing_is_deleted(
    client: Client, provider: ProviderServer, name: str
) -> None:
    """It refers to what is kept: one line says that it has to be over first."""
    # T-23
    provider.answer(openai(function_call("call_1", name="ask_user", question="Which?")))
    async with worker.run_worker(client, APP):
        run = Run(await started(client, name, "conversation"))
        await run.asked()
        refused = await holdfast("forget", name)
        await run.handle.terminate()

    assert (refused.code, refused.err) == (
        1,
        f"holdfast: run {name!r} isn't over: it goes on from what is kept; stop it first\n",
    )
    assert list(rules(provider).conversations) == ["conv_1"]
    assert rules(provider).responses


async def test_a_provider_that_is_out_of_reach_is_told_on_one_line(
    client: Client, provider: ProviderServer, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is taken for deleted, and the key stands nowhere."""
    # T-23 PP-04
    await finished(client, provider, name, "previous_response_id")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    refused = await holdfast("forget", name)

    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert "openai" in refused.err
    assert DIALECTS["openai"].key not in refused.err
    assert len(rules(provider).responses) == 2


async def test_a_conversation_without_end_is_given_up(provider: ProviderServer) -> None:
    """One turn leaves no thousand items: a server that lists more may go on for ever."""
    made_up: list[JsonObject] = [{"id": f"item_{number}"} for number in range(1_050)]
    rules(provider).conversations["conv_1"] = made_up
    with pytest.raises(ModelUnavailable, match="more than 1,000 items"):
        await OpenAIAdapter().forget(({"conversation_id": "conv_1"},))

    assert len(rules(provider).conversations["conv_1"]) == 50
