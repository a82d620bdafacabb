"""The tool that asks a person."""

from typing import Annotated

from pydantic import Field

from holdfast.contracts.tools import Risk
from holdfast.tools.tool import tool


@tool(risk=Risk.COMPUTE_ONLY, permission="ask_user", pollable=True)
async def ask_user(question: Annotated[str, Field(min_length=1, max_length=4000)]) -> str:
    """Ask a person a question and wait for the answer. Returns the answer's text."""
    # The permission engine turns every call into a question; a person's words are its result.
    raise AssertionError(question)
