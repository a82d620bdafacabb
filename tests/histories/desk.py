"""What the runs of the scenarios can do: a small desk whose tools touch nothing outside."""

import asyncio
from pathlib import Path

from temporalio import activity

from holdfast import (
    Agent,
    App,
    Budget,
    HandoffData,
    Reconciled,
    ResourceScope,
    Risk,
    Tool,
    ToolContext,
    tool,
)
from holdfast.testing import Script
from holdfast.tools import ask_user


@tool(risk=Risk.READ_ONLY)
async def look(place: str) -> str:
    """Look at a place and say what is there."""
    return f"nothing at {place}"


@tool(risk=Risk.READ_ONLY)
async def load_case(goal: str) -> HandoffData:
    """Load what another agent has to know."""
    return HandoffData(architecture=f"one ledger, to {goal}", constraints=("in euros",))


@tool(risk=Risk.READ_ONLY, timeout=5, local=True)
async def glance(place: str) -> str:
    """Look at a place from where one stands."""
    return f"all is well at {place}"


@tool(risk=Risk.READ_ONLY, max_retries=2, retry_backoff=0.05)
async def call_back(number: str) -> str:
    """Call somebody who is there at the second attempt."""
    if activity.info().attempt == 1:
        raise ConnectionError("nobody is there")
    return f"{number} is well"


@tool(risk=Risk.READ_ONLY, max_result_chars=2000)
async def flood(characters: int) -> str:
    """Return a text of so many characters."""
    return "x" * characters


@tool(risk=Risk.READ_ONLY, timeout=60)
async def linger() -> str:
    """Wait for something that never comes."""
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.WRITE_INTERNAL, rollback="none: what is sent is sent", expected_result="one line")
async def send(text: str) -> str:
    """Send a text to other people."""
    return f"sent {text}"


@tool(risk=Risk.DESTRUCTIVE)
async def delete(record: str) -> str:
    """Delete a record for good."""
    return f"deleted {record}"


@tool(risk=Risk.FINANCIAL)
async def refund(amount: int) -> str:
    """Refund an amount of money to a customer."""
    return f"refunded {amount}"


@tool(risk=Risk.DRAFT_ONLY)
async def draft_post(text: str) -> dict[str, str]:
    """Prepare a text for the outside, so that a person can read it first."""
    return {"preview": text.upper()}


@tool(risk=Risk.WRITE_EXTERNAL, draft="draft_post", rollback="take it down by hand")
async def post(text: str, ctx: ToolContext) -> str:
    """Post a text where everybody can read it."""
    return f"posted {text}" if ctx.draft_id else "there was no draft"


@tool(risk=Risk.READ_ONLY)
async def find_payment(amount: int) -> Reconciled:
    """Find out whether an amount was paid: one that isn't zero was."""
    return Reconciled(happened=amount > 0, result=f"paid {amount}")


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_payment", timeout=0.3)
async def pay(amount: int) -> str:
    """Pay an amount of money, and take too long to say so."""
    await asyncio.Event().wait()
    return f"paid {amount}"


SEAT = ResourceScope(kind="workspace", argument="seat")


@tool(risk=Risk.WRITE_LOCAL, scope=SEAT)
async def release(seat: str) -> str:
    """Give a seat back."""
    return f"released {seat}"


@tool(risk=Risk.WRITE_LOCAL, scope=SEAT, undo="release")
async def reserve(seat: str) -> str:
    """Reserve a seat."""
    return f"reserved {seat}"


@tool(risk=Risk.WRITE_LOCAL, scope=SEAT)
async def mark(seat: str) -> str:
    """Mark a seat, which nothing takes back."""
    return f"marked {seat}"


TOOLS: tuple[Tool, ...] = (look, send, ask_user)


def an_agent(name: str, *tools: Tool, **more: object) -> Agent:
    """An agent with its own scripted model; what is given overrides what is usual."""
    settings: dict[str, object] = {
        "name": name,
        "instructions": "Do as you are told.",
        "models": [f"scripted:{name}"],
        "tools": tools or TOOLS,
        "budget": Budget(max_steps=20),
        **more,
    }
    return Agent(**settings)  # pyright: ignore[reportArgumentType] -- whatever a scenario overrides


def a_desk(script: Script, *tools: Tool, policy: Path | None = None, **more: object) -> App:
    """An app with one agent, `clerk`."""
    return App(
        agents=[an_agent("clerk", *tools, **more)], scripts={"clerk": script}, policy=policy
    )
