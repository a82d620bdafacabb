"""Blocks of code in an answer that is Markdown (CommonMark)."""

from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt

# What stands within a line is no block, and takes seconds to look at where it is made for that.
_MARKDOWN = MarkdownIt("commonmark").disable(["inline", "text_join"])


class Block(NamedTuple):
    """A block of code; one that says no language has an empty one."""

    language: str
    content: str


def find_blocks(text: str) -> Iterator[Block]:
    """Find the blocks of code, fenced and indented, also in lists and quotations."""
    for token in _MARKDOWN.parse(text):
        if token.type in ("fence", "code_block"):
            language = token.info.strip().partition(" ")[0].strip("{}.").lower()
            yield Block(language, token.content)
