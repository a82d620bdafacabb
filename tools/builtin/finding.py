"""A tool by which a model finds others, where an agent has more than a turn is sent."""

from typing import Annotated

from pydantic import Field

from holdfast.contracts.tools import Risk
from holdfast.tools.tool import tool


@tool(risk=Risk.COMPUTE_ONLY, local=True, timeout=10)
async def find_tools(words: Annotated[str, Field(min_length=1, max_length=200)]) -> str:
    """Find tools that aren't among yours now, by words for what they should do."""
    return f"tools that fit {words!r} are among yours now, if there are any: else use other words"
