"""An app for the tests that kill a worker while its model talks: one tool, noted in a file."""

from pathlib import Path

from holdfast import Agent, App, Risk, ToolContext, tool


@tool(risk=Risk.READ_ONLY, timeout=20)
async def note(amount: int, folder: str, ctx: ToolContext) -> str:
    """Write an amount into the run's file."""
    log = Path(folder) / f"{ctx.run_id}.log"
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{amount}\n")
    return "noted"


app = App(
    agents=[
        Agent(
            name="clerk",
            instructions="Note the amounts.",
            models=["anthropic:claude-sonnet-5"],
            tools=[note],
        )
    ],
)
