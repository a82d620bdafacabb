"""Workers die more often than anything may be tried: that is no failure of what they did."""

from pathlib import Path

from pydantic import JsonValue

from tests.adapters.provider_server import Break, ProviderServer
from tests.durability import processes
from tests.durability.processes import Process
from tests.durability.test_streams import asked
from tests.workflows.provider_words import anthropic, text, tool_use

APP = "tests.durability.stormy:app"


async def test_attempts_that_are_lost_with_their_worker_dont_count(
    provider: ProviderServer, tmp_path: Path
) -> None:
    """A guardrail, a model and a read are each begun more often than they may fail."""
    # SM-02 FB-05 TS-07
    looked = tool_use("toolu_1", "look")
    looked["input"] = {"folder": str(tmp_path)}
    for _ in range(2):
        provider.answer(anthropic("tool_use", looked), breaks=Break("stall", after=6))
    provider.answer(anthropic("tool_use", looked))
    provider.answer(anthropic("end_turn", text("Nothing there.")))
    async with processes.deployed(APP, tmp_path) as deployed:
        strict: JsonValue = {"max_model_retries": 0, "max_tool_retries": 0}
        handle = await processes.start(
            deployed.client, "clerk", str(tmp_path), "stormy", budget=strict
        )
        await storm(deployed.worker, tmp_path, "calm", kills=3)
        for times in (1, 2):
            await asked(provider, times)
            await deployed.worker.kill()
            await deployed.worker.start()
        await storm(deployed.worker, tmp_path, "look", kills=2)
        result = await handle.result()

    assert (result.status, result.answer, result.steps) == ("completed", "Nothing there.", 2)
    assert len(provider.requests) == 4


async def storm(worker: Process, folder: Path, name: str, *, kills: int) -> None:
    """Kill the worker each time that it has begun, and then let it end."""
    for begun in range(1, kills + 1):
        await processes.grown(folder / f"{name}.log", begun)
        await worker.kill()
        await worker.start()
    (folder / f"{name}.go").touch()
