"""Tools and agents of the tests on servers, at the top of a module as user code has them."""

import asyncio
import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from holdfast import (
    Agent,
    App,
    Budget,
    ModelSettings,
    Reconciled,
    ResourceScope,
    Risk,
    Tool,
    ToolContext,
    ToolError,
    tool,
)
from holdfast.testing import Reply, Script, ScriptTurn, say
from holdfast.tools import ask_user


@tool(risk=Risk.COMPUTE_ONLY, timeout=60)
async def add(a: int, b: int) -> int:
    """Add two whole numbers together."""
    return a + b


@tool(risk=Risk.READ_ONLY, timeout=5, local=True)
async def look(place: str) -> str:
    """Look at a place and say what is there."""
    return f"nothing at {place}"


@tool(risk=Risk.READ_ONLY, timeout=5, pollable=True)
async def poll() -> str:
    """Ask whether it is done by now."""
    return "not yet"


@tool(risk=Risk.READ_ONLY, timeout=5, max_retries=3, retry_backoff=0.05)
async def flaky(log: str, failures: int) -> int:
    """Fail so many times before it works, and note each attempt in a file."""
    attempts = note(log, str(time.monotonic()))
    if attempts <= failures:
        raise ConnectionError(f"attempt {attempts} failed")
    return attempts


@tool(risk=Risk.READ_ONLY, timeout=0.3)
async def hang() -> str:
    """Wait for something that never comes."""
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.READ_ONLY, timeout=4)
def block(log: str) -> str:
    """Block a whole process for an hour."""
    note(log, str(__import__("os").getpid()))
    time.sleep(3600)
    return "never"


@tool(risk=Risk.READ_ONLY)
async def find(name: str) -> str:
    """Find a record by its name."""
    raise ToolError("not_found", f"no record {name!r}", ("list the records",))


@tool(risk=Risk.COMPUTE_ONLY)
async def pick(
    colour: Literal["red", "green"], count: Annotated[int, Field(ge=1, le=9)] = 1
) -> str:
    """Pick some things of one colour."""
    return f"{count} {colour}"


@tool(risk=Risk.READ_ONLY, max_result_chars=1000)
async def flood(characters: int) -> str:
    """Return a text of so many characters."""
    return "x" * characters


@tool(risk=Risk.WRITE_INTERNAL, rollback="none: what is sent is sent", expected_result="one line")
async def send(log: str, text: str, ctx: ToolContext) -> str:
    """Send a text to other people."""
    note(log, f"{ctx.idempotency_key} {text}")
    return "sent"


@tool(risk=Risk.WRITE_LOCAL, scope=ResourceScope(kind="workspace", argument="text"))
async def write(log: str, text: str) -> str:
    """Write a line into a local file."""
    note(log, f"begin {text}")
    await asyncio.sleep(0.05)
    note(log, f"end {text}")
    return "written"


@tool(risk=Risk.READ_ONLY)
async def read(log: str, text: str) -> str:
    """Read a line, and note when it began and ended."""
    note(log, f"begin {text}")
    await asyncio.sleep(0.05)
    note(log, f"end {text}")
    return "read"


@tool(risk=Risk.WRITE_LOCAL, timeout=0.3, scope=ResourceScope(kind="workspace", argument="place"))
async def write_slowly(log: str, place: str = "here") -> str:
    """Write a line and then take too long to say so."""
    note(log, "written")
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.FINANCIAL)
async def refund(amount: int) -> str:
    """Refund an amount of money to a customer."""
    return f"refunded {amount}"


@tool(risk=Risk.DRAFT_ONLY)
async def draft_post(log: str, text: str, ctx: ToolContext) -> dict[str, str]:
    """Prepare a text for the outside, so that a person can read it first."""
    note(log, f"draft {ctx.idempotency_key} {text}")
    return {"preview": text.upper()}


@tool(risk=Risk.WRITE_EXTERNAL, draft="draft_post", rollback="take it down by hand")
async def post(log: str, text: str, ctx: ToolContext) -> str:
    """Post a text where everybody can read it."""
    note(log, f"post {ctx.idempotency_key} {ctx.draft_id} {text}")
    return "posted"


@tool(risk=Risk.COMMUNICATION)
async def shout(text: str) -> str:
    """Shout a text at everybody, without a draft."""
    return text


@tool(risk=Risk.READ_ONLY)
async def find_payment(log: str, amount: int, ctx: ToolContext) -> Reconciled:
    """Find out whether an amount was paid."""
    paid = any(line == f"{ctx.idempotency_key} {amount}" for line in lines(log))
    return Reconciled(happened=paid, result="paid" if paid else None)


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_payment", timeout=0.3)
async def pay_slowly(log: str, amount: int, ctx: ToolContext) -> str:
    """Pay an amount of money, and take too long to say so."""
    if amount:
        note(log, f"{ctx.idempotency_key} {amount}")
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.WRITE_INTERNAL)
async def fail_outside(log: str, why: str = "") -> str:
    """Change something elsewhere, and lose the answer."""
    note(log, f"changed {why}")
    raise ConnectionError("the line went dead")


@tool(risk=Risk.READ_ONLY, timeout=30)
async def hold(log: str) -> str:
    """Note that it has begun, and wait until it may go on."""
    note(log, "held")
    while not Path(f"{log}.go").exists():  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)
    return "went on"


@tool(risk=Risk.DESTRUCTIVE)
async def delete(record: str) -> str:
    """Delete a record for good."""
    return f"deleted {record}"


@tool(risk=Risk.READ_ONLY, scope=ResourceScope(kind="tenant", argument="tenant"))
async def account(tenant: str) -> str:
    """Read the account of a tenant."""
    return f"account of {tenant}"


TOOLS: tuple[Tool, ...] = (
    *(add, look, poll, flaky, hang, block, find, pick, flood, send, write, read),
    *(write_slowly, refund, delete, account, ask_user, post, shout, pay_slowly, hold),
    fail_outside,
)


def note(log: str, line: str) -> int:
    """Append a line to a file and return how many it has."""
    path = Path(log)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return len(lines(log))


def lines(log: str | Path) -> list[str]:
    """Return the lines of a file; none when there is no file."""
    path = Path(log)
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def told(turn: ScriptTurn) -> Reply:
    """Answer with what became of the last calls."""
    return say("; ".join(f"{result.name} {result.status}" for result in turn.results))


IMPATIENT = ModelSettings(patience=0)
"""A model whose provider is down has failed."""


def scripted(script: Script, *, policy: Path | None = None, **agent: object) -> App:
    """Return an app with one agent `it` that has all tools and speaks *script*."""
    settings: dict[str, object] = {
        "name": "it",
        "instructions": "Do as you are told.",
        "models": ["scripted:it"],
        "tools": TOOLS,
        "budget": Budget(max_steps=20),
        "settings": IMPATIENT,
        "approval_timeout": timedelta(days=7),
        **agent,
    }
    return App(agents=[Agent(**settings)], scripts={"it": script}, policy=policy)  # pyright: ignore[reportArgumentType] -- whatever a test overrides
