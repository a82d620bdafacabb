"""Parts that wait for their turn while a person is asked: time goes on, and the run ends."""

import json
from datetime import timedelta
from pathlib import Path

from holdfast import Agent, App, Budget, Tiers, Triggers
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.memory.runs import MemoryRuns
from tests.sample import TOOLS
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
