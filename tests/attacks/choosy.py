"""A tool whose module takes a variable of its worker as it is imported, which no sandbox has."""

import os

from holdfast import Risk, tool

NAME = "CHOOSY_BOOK"
BOOK = os.environ[NAME]  # noqa: TID251 -- as apps do


@tool(risk=Risk.WRITE_INTERNAL)
async def enter(name: str) -> str:
    """Enter a name into the book."""
    return f"{name} is in {BOOK}"
