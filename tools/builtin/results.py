"""The tool by which a model reads on in a result that was too large for it."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import Field, JsonValue
from pydantic_core import from_json

from holdfast.contracts.errors import ToolError
from holdfast.contracts.tools import Risk
from holdfast.tools.context import KeptSource, ToolContext
from holdfast.tools.fair_threads import FairThreads
from holdfast.tools.tool import tool
from holdfast.tools.values.cursors import Cursor
from holdfast.tools.values.excerpts import read_page

MAX_PAGE_CHARS = 19_000
"""Characters of JSON; with what stands around them they fit into a result."""

# A disk may hang: who looks through results of others doesn't wait for it. What was read is looked
# through at once, so that no more of it is held than is read at the same time.
_FILES = FairThreads(2, "read-kept")

_ACTIONS = ("use a cursor as a result of this run has it", "call the tool again, for less")


@dataclass(frozen=True)
class ResultPage:
    """A part of a result; `cursor` is where the next begins, if there is one."""

    content: JsonValue
    cursor: str | None


@tool(risk=Risk.READ_ONLY)
async def read_result(
    cursor: Annotated[str, Field(min_length=1, max_length=400, description="As a result has it.")],
    ctx: ToolContext,
) -> ResultPage:
    """Read on in the result of an earlier call that was cut, where its cursor says."""
    at = Cursor.parse(cursor)
    if at is None:
        raise ToolError("invalid_arguments", f"{cursor!r} is no cursor", _ACTIONS)
    return await _FILES.run(ctx.run_id, partial(_read, at, ctx.kept))


def _read_kept(name: str, kept: KeptSource) -> bytes:
    try:
        return kept(name)
    except (OSError, ValueError):  # a name may be none at all
        return b""


def _read(at: Cursor, kept: KeptSource) -> ResultPage:
    content = _read_kept(at.name, kept)
    if not at.fits(content):
        raise ToolError(
            "not_found",
            f"this worker has no result of this run with the cursor {at}",
            _ACTIONS,
        )
    page = read_page(from_json(content), content.decode(), at.place, MAX_PAGE_CHARS)
    rest = None if page.rest is None else str(at._replace(place=page.rest))
    return ResultPage(page.content, rest)
