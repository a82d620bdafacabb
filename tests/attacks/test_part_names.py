"""Names of parts, and keys of what takes back what they did: none is given twice."""

import asyncio
from pathlib import Path

from holdfast import Agent, App, Budget, Risk, Tiers, ToolContext, Triggers, tool
from holdfast.contracts.calls import idempotency_key
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.control.controlled import resolve
from tests.control.guarded import on_word
from tests.running import Runs
from tests.sample import lines, note
from tests.workflows.test_permissions import policy

LISTED = "{id: ok, effect: allow, match: {tools: [place, remove]}}"


@tool(risk=Risk.WRITE_INTERNAL)
async def remove(log: str, ctx: ToolContext) -> str:
    """Take a thing away; the same key takes away once, as it should."""
    known = {line.split()[1] for line in lines(log) if line.startswith("key ")}
    if ctx.idempotency_key not in known:
        note(log, f"key {ctx.idempotency_key}")
        note(log, f"removed {ctx.done}")
    return "removed"


@tool(risk=Risk.WRITE_INTERNAL, undo="remove")
async def place(log: str, ctx: ToolContext) -> str:
    """Place a thing."""
    note(log, f"placed {ctx.idempotency_key}")
    return ctx.idempotency_key


def app(coder: Script, rules: Path) -> App:
    """An agent whose answers are blocked again and again, until a person is asked."""
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Have others do it.",
                tiers=Tiers(full="coder"),
                guardrails=(on_word("no_bad", "bad", "output"),),
                escalates=True,
                max_output_retries=5,
                max_history_events=20,
                budget=Budget(max_steps=60),
                triggers=Triggers(max_retries=3),
            ),
            Agent(
                name="coder",
                instructions="Do as you are told.",
                models=["scripted:coder"],
                tools=(place, remove),
            ),
        ],
        scripts={"coder": coder},
        policy=rules,
    )


async def test_no_part_has_the_name_of_another(runs: Runs, tmp_path: Path) -> None:
    """A whole that left old answers out goes on counting: each part's effects are taken back."""
    log = str(tmp_path / "log")

    def coder(turn: ScriptTurn) -> Reply:
        return call("place", log=log) if turn.number == 1 else say(f"bad {'x' * 240_000}")

    async with runs.working(app(coder, policy(tmp_path, LISTED))):
        run = await runs.start("it")
        await run.signal("steer", {"text": "hello"})
        await run.asked()
        async with asyncio.timeout(60):
            while await run.execution() == run.first_execution:  # noqa: ASYNC110 -- the server's
                await asyncio.sleep(0.05)
        await resolve(run)
        result = await run.result()

    noted = [line.split() for line in lines(log)]
    placed, removed, keys = (
        sorted(words[1] for words in noted if words[0] == kind)
        for kind in ("placed", "removed", "key")
    )
    assert result.compensation is not None
    assert len(result.compensation.undone) == len(placed) > 3
    assert removed == placed
    # Each undo goes by the name that the server gave the part, which no reset repeats.
    assert keys == [idempotency_key(run.first_execution, key, "undo") for key in placed]
