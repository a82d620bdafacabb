"""What tools themselves saw: what began, for whom, how it ended. The referee believes it alone."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated

from pydantic import Field

from holdfast import (
    HandoffData,
    Reconciled,
    ResourceScope,
    Risk,
    Tool,
    ToolContext,
    ToolError,
    tool,
)
from holdfast.tools import ask_user, submit_plan

STAYS = "yy"
"""What begins so can't be taken away again."""

LOST = "?"
"""What ends so is taken away without a word."""

THING = ResourceScope(kind="workspace", argument="thing")


@dataclass
class Entry:
    """A call that began; `ended` is null where its answer never came, or hasn't yet."""

    place: int
    tool: str
    thing: str
    run_id: str
    agent: str
    call_id: str
    key: str
    draft_id: str | None
    flaws: tuple[str, ...]
    ended: int | None = None


@dataclass
class Book:
    """All that tools saw in one example, in its order; `look` says what must not be now."""

    look: Callable[[str, ToolContext], tuple[str, ...]]
    entries: list[Entry] = field(default_factory=list[Entry])
    clock: int = 0

    def tick(self) -> int:
        """Count one more thing that happened."""
        self.clock += 1
        return self.clock


class _Desk:
    """Where the book of the example lies that is played."""

    book = Book(lambda _, __: ())


def lay_out(book: Book) -> None:
    """Have tools write into this book from now on."""
    _Desk.book = book


def begin(name: str, thing: str, ctx: ToolContext) -> Entry:
    """Write down that a call begins."""
    book = _Desk.book
    entry = Entry(
        place=book.tick(),
        tool=name,
        thing=thing,
        run_id=ctx.run_id,
        agent=ctx.agent,
        call_id=ctx.call_id,
        key=ctx.idempotency_key,
        draft_id=ctx.draft_id,
        flaws=book.look(name, ctx),
    )
    book.entries.append(entry)
    return entry


async def work(name: str, thing: str, ctx: ToolContext) -> str:
    """Do something that takes a moment, and write down that it is done."""
    entry = begin(name, thing, ctx)
    await asyncio.sleep(0.01)
    entry.ended = _Desk.book.tick()
    return f"{name} did {thing}"


async def lose(name: str, thing: str, ctx: ToolContext) -> str:
    """Do something, and never say so."""
    begin(name, thing, ctx)
    await asyncio.Event().wait()
    return "never"


@tool(risk=Risk.READ_ONLY, timeout=5)
async def look_up(thing: str, ctx: ToolContext) -> str:
    """Look something up."""
    return await work("look_up", thing, ctx)


@tool(risk=Risk.READ_ONLY, timeout=5)
async def miss(thing: str, ctx: ToolContext) -> str:
    """Look for what isn't there."""
    await work("miss", thing, ctx)
    raise ToolError("not_found", f"no {thing}", ("look elsewhere",))


@tool(risk=Risk.READ_ONLY, timeout=0.3, max_retries=0)
async def hang(thing: str, ctx: ToolContext) -> str:
    """Read what never comes."""
    return await lose("hang", thing, ctx)


@tool(risk=Risk.WRITE_LOCAL, scope=THING, timeout=5)
async def unwrite(thing: str, ctx: ToolContext) -> str:
    """Take away what was written, unless it is one of those that stay."""
    if thing.startswith(STAYS):
        begin("unwrite", thing, ctx)
        raise ToolError("not_found", f"{thing} stays", ("leave it",))
    return await work("unwrite", thing, ctx)


@tool(risk=Risk.WRITE_LOCAL, scope=THING, timeout=5, undo="unwrite")
async def write(thing: str, ctx: ToolContext) -> str:
    """Write something where it can be taken away again."""
    return await work("write", thing, ctx)


@tool(risk=Risk.WRITE_LOCAL, scope=THING, timeout=5)
async def carve(
    thing: str, number: Annotated[int, Field(default_factory=count().__next__)], ctx: ToolContext
) -> str:
    """Write something for good, under a number that is another one whenever it is left out."""
    return await work("carve", thing, ctx)


@tool(risk=Risk.WRITE_INTERNAL, timeout=0.5)
async def unfile(thing: str, ctx: ToolContext) -> str:
    """Take a record away again; of some the answer is lost."""
    took = lose if thing.endswith(LOST) else work
    return await took("unfile", thing, ctx)


@tool(risk=Risk.WRITE_INTERNAL, timeout=5, undo="unfile", rollback="unfile it")
async def file(thing: str, ctx: ToolContext) -> str:
    """File a record."""
    return await work("file", thing, ctx)


@tool(risk=Risk.WRITE_INTERNAL, timeout=5)
async def spread(thing: str, ctx: ToolContext) -> str:
    """Change what two people must approve."""
    return await work("spread", thing, ctx)


@tool(risk=Risk.DRAFT_ONLY, timeout=5)
async def undraft(thing: str, ctx: ToolContext) -> str:
    """Throw a draft away."""
    return await work("undraft", thing, ctx)


@tool(risk=Risk.DRAFT_ONLY, timeout=5, undo="undraft")
async def draft(thing: str, ctx: ToolContext) -> str:
    """Leave a draft where it can be thrown away."""
    return await work("draft", thing, ctx)


@tool(risk=Risk.COMMUNICATION, draft="draft", rollback="none", timeout=5)
async def send(thing: str, ctx: ToolContext) -> str:
    """Send what was drafted."""
    return await work("send", thing, ctx)


@tool(risk=Risk.WRITE_INTERNAL, timeout=0.3)
async def lose_file(thing: str, ctx: ToolContext) -> str:
    """File a record, and lose the answer."""
    return await lose("lose_file", thing, ctx)


@tool(risk=Risk.WRITE_LOCAL, scope=THING, timeout=0.3, undo="unwrite")
async def lose_write(thing: str, ctx: ToolContext) -> str:
    """Write something, and lose the answer."""
    return await lose("lose_write", thing, ctx)


@tool(risk=Risk.READ_ONLY, timeout=5)
async def find_paid(thing: str, ctx: ToolContext) -> Reconciled:
    """Find out whether something was paid: things with an even number were."""
    paid = is_paid(thing)
    return Reconciled(happened=paid, result="paid" if paid else None)


@tool(risk=Risk.WRITE_INTERNAL, reconcile="find_paid", timeout=0.3)
async def pay(thing: str, ctx: ToolContext) -> str:
    """Pay something, and lose the answer."""
    return await lose("pay", thing, ctx)


@tool(risk=Risk.READ_ONLY, timeout=5)
async def load(goal: str, ctx: ToolContext) -> HandoffData:
    """Load what somebody needs who goes on."""
    return HandoffData(architecture=await work("load", goal, ctx))


@tool(risk=Risk.WRITE_LOCAL, scope=THING, timeout=5)
async def forbidden(thing: str, ctx: ToolContext) -> str:
    """Do what the policy forbids."""
    return await work("forbidden", thing, ctx)


@tool(risk=Risk.FINANCIAL, timeout=5)
async def refund(thing: str, ctx: ToolContext) -> str:
    """Do what takes a signature that nobody here can give."""
    return await work("refund", thing, ctx)


def is_paid(thing: str) -> bool:
    """Whether a payment that lost its answer happened."""
    return len(thing) % 2 == 0


READS = ("look_up", "miss", "hang")
FREE = ("write", "carve", "lose_write")
"""Writes that ask nobody."""
ASKING = ("file", "lose_file", "pay", "send", "spread")
"""Writes that people approve; `spread` two of them."""
NEVER = ("forbidden", "refund")
UNDONE_BY = {"write": "unwrite", "file": "unfile", "draft": "undraft", "lose_write": "unwrite"}
UNDO = ("unwrite", "unfile", "undraft")

TOOLS: tuple[Tool, ...] = (
    *(look_up, miss, hang, write, carve, file, spread, draft, send),
    *(lose_file, lose_write, pay, forbidden, refund, ask_user, submit_plan),
    *(unwrite, unfile, undraft),
)

POLICY = """\
version: 1
rules:
  - {id: never, effect: forbid, match: {tools: [forbidden]}, reason: never}
  - {id: two, effect: approve, match: {tools: [spread]}, approval: {count: 2}, reason: four eyes}
  - {id: unfile, effect: approve, match: {tools: [unfile]}, reason: as its call}
"""
