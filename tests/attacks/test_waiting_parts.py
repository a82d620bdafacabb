"""Parts that wait, for their turn or for people: time goes on, and people are heard."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Agent, App, Budget, HoldfastError, Tiers, Triggers
from holdfast.client import Holdfast
from holdfast.dev_server import dev_server
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.memory.runs import MemoryRuns
from tests.running import Runs
from tests.sample import TOOLS, lines
from tests.workflows.delegating import FOUND, ask, desk
from tests.workflows.tiered import asked

TIERS = Tiers.model_validate(
    {"full": "coder", "decomposed": {"planner": "planner", "worker": "hand", "most": 6}}
)


async def test_an_escalation_beside_waiting_parts_expires(
    memory_runs: MemoryRuns, tmp_path: Path
) -> None:
    """Four parts work, two wait for them, and nobody answers: the run stops when time is up."""
    # ES-12
    log = str(tmp_path / "log")

    def hand(turn: ScriptTurn) -> Reply:
        return say("done") if turn.results else call("hold", log=log)

    scripts: dict[str, Script] = {
        "coder": [say("")],
        "planner": [say(json.dumps({"subtasks": list("abcdef")}))],
        "hand": hand,
    }
    whole = Agent(
        name="it",
        instructions="Have others do it.",
        tiers=TIERS,
        budget=Budget(max_steps=50),
        escalates=True,
        triggers=Triggers(expected_time=0.5),
        approval_timeout=timedelta(seconds=2),
    )
    parts = [
        Agent(name=name, instructions="Do it.", models=[f"scripted:{name}"], tools=TOOLS)
        for name in scripts
    ]
    async with memory_runs.working(App(agents=[whole, *parts], scripts=scripts)):
        run = await memory_runs.start("it")
        (request,) = await asked(run)
        Path(f"{log}.go").touch()
        result = await run.result()

    assert (request.kind, result.status) == ("escalation", "stopped")
    assert result.stop is not None
    assert result.stop.detail.endswith("nobody resolved it in time")


async def test_more_updates_than_a_server_takes_leave_a_way_to_the_part(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole can't go on anew while its part waits: it says where else one decides."""
    # BY-52
    log = tmp_path / "log"
    app = desk([ask("tides"), say("So.")], [call("send", log=str(log), text="hi"), FOUND])
    few = ("--dynamic-config-value", "history.maxTotalUpdates=3")
    monkeypatch.setattr("holdfast.dev_server._OPTIONS", few)
    async with dev_server() as environment:
        runs = Runs(environment.client)
        async with runs.working(app):
            run = await runs.start("desk")
            (asked,) = await run.asked()
            for _ in range(3):
                await run.decide({"request_id": "x", "decision": "approve", "approver": "eve"})
            whole = Holdfast(runs.client).run(run.handle.id)
            with pytest.raises(HoldfastError, match="decide at the run that asks"):
                await whole.approve(asked.request_id, approver="dana")
            await whole.find_asking(asked).approve(asked.own_id, approver="dana")
            result = await run.result()

    assert result.status == "completed"
    assert len(lines(log)) == 1
