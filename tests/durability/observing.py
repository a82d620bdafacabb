"""An app for the tests that kill processes: thirty steps, each noted, and one that asks."""

import asyncio
from pathlib import Path

from holdfast import Agent, App, Budget, Risk, ToolContext, tool
from holdfast.testing import Reply, ScriptTurn, call, say
from tests.sample import send

STEPS = 30


@tool(risk=Risk.READ_ONLY, timeout=20)
async def observe(number: int, folder: str, ctx: ToolContext) -> str:
    """Observe something, and note in the run's file when that begins and ends."""
    log = Path(folder) / f"{ctx.run_id}.log"
    _note(log, f"begin {ctx.call_id}")
    await asyncio.sleep(0.05)
    _note(log, f"end {ctx.call_id}")
    return f"{number}: nothing new"


def _note(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def observations(turn: ScriptTurn) -> Reply:
    """Observe thirty times and say how often there was a result."""
    if turn.number <= STEPS:
        return call("observe", number=turn.number, folder=turn.goal)
    results = sum(item.kind == "tool" for item in turn.transcript)
    return say(f"{results} observations")


def sending(turn: ScriptTurn) -> Reply:
    """Send a text, once somebody has approved it."""
    return say("sent") if turn.number > 1 else call("send", log=turn.goal, text="hello")


app = App(
    agents=[
        Agent(
            name="observer",
            instructions="Observe.",
            models=["scripted:observer"],
            tools=[observe],
            budget=Budget(max_steps=STEPS + 1),
        ),
        Agent(
            name="sender",
            instructions="Send.",
            models=["scripted:sender"],
            tools=[send],
        ),
    ],
    scripts={"observer": observations, "sender": sending},
)
