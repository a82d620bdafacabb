"""A worker dies while its model talks: nothing of the half reply counts, and the run goes on."""

import asyncio
from pathlib import Path

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import CancelledError

from holdfast import Agent, App
from holdfast.contracts.run import RunResult
from tests.adapters.provider_server import Break, ProviderServer
from tests.durability import processes
from tests.running import Runs
from tests.sample import lines
from tests.workflows.provider_words import CLAUDE, anthropic, text, tool_use

APP = "tests.durability.noting:app"


async def asked(provider: ProviderServer, times: int) -> None:
    """Wait until the provider was asked so often."""
    while len(provider.requests) < times:  # noqa: ASYNC110 -- the server lives in a thread
        await asyncio.sleep(0.02)


async def test_a_worker_killed_in_the_middle_of_a_stream(
    provider: ProviderServer, tmp_path: Path
) -> None:
    """The next worker asks again; of the call that was cut off nothing ever ran."""
    # SM-01 SM-02 PP-06
    call = tool_use("toolu_1", "note", amount=100)
    call["input"] = {"amount": 100, "folder": str(tmp_path)}
    whole = anthropic("tool_use", text("I'll note it."), call)
    provider.answer(whole, breaks=Break("stall", after=6))
    async with processes.deployed(APP, tmp_path) as deployed:
        handle = await deployed.client.start_workflow(
            "AgentRun",
            {"agent": "clerk", "input": "Note 100."},
            id="noted",
            task_queue="holdfast",
            result_type=RunResult,
        )
        await asked(provider, 1)
        await deployed.worker.kill()
        assert not (tmp_path / "noted.log").exists()
        provider.answer(whole)
        provider.answer(anthropic("end_turn", text("AuditLine.")))
        await deployed.worker.start()
        result = await handle.result()

    assert (result.status, result.answer, result.steps) == ("completed", "AuditLine.", 2)
    assert lines(tmp_path / "noted.log") == ["100"]
    assert len(provider.requests) == 3


async def test_a_cancelled_run_hangs_up(runs: Runs, provider: ProviderServer) -> None:
    """A run that is cancelled while its model talks ends the stream."""
    provider.answer(anthropic("end_turn", text("I'll never say this.")), breaks=Break("stall", 4))
    agent = Agent(name="it", instructions="Talk.", models=[CLAUDE])
    async with runs.working(App(agents=[agent])):
        run = await runs.start("it", "Talk.")
        await asked(provider, 1)
        await run.handle.cancel()
        with pytest.raises(WorkflowFailureError) as failed:
            await run.result()
        left = await asyncio.to_thread(provider.disconnected.wait, 120)

    assert isinstance(failed.value.cause, CancelledError)
    assert left
