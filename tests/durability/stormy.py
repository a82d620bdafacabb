"""An app for the tests that kill workers again and again: everything waits to be told."""

import asyncio
from pathlib import Path

from holdfast import Agent, App, Fallback, Risk, ToolContext, tool
from holdfast.guardrails import GuardrailContext, GuardrailResult, Subject, guardrail, passed
from holdfast.testing import say


async def told(folder: Path, name: str) -> None:
    """Note an attempt, and wait until a test says that this one may end."""
    with (folder / f"{name}.log").open("a", encoding="utf-8") as file:
        file.write("begun\n")
    while not (folder / f"{name}.go").exists():  # noqa: ASYNC110 -- another process makes it
        await asyncio.sleep(0.02)


@guardrail(layer="input", timeout=600)
async def calm(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Look at the goal, which is the folder of the test."""
    await told(Path(subject.text), "calm")
    return passed()


@tool(risk=Risk.READ_ONLY, timeout=600)
async def look(folder: str, ctx: ToolContext) -> str:
    """Look into a folder."""
    await told(Path(folder), "look")
    return "nothing there"


app = App(
    agents=[
        Agent(
            name="clerk",
            instructions="Look.",
            models=["anthropic:claude-sonnet-5", "scripted:other"],
            tools=[look],
            guardrails=[calm],
            fallback=Fallback(attempts=1),
        )
    ],
    scripts={"other": [say("The first model didn't answer."), say("Nor the second time.")]},
)
