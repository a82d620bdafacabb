"""
JSON from outside that may be large: whether anybody reads it, and where.

What takes longer the more comes isn't done on the loop that all runs share.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pydantic_core import from_json

from holdfast.contracts.bounds import MAX_JSON_BYTES, MAX_JSON_DEPTH, MAX_JSON_VALUES
from holdfast.tools.fair_threads import FairThreads

MAX_INLINE_BYTES = 10_000
"""Bytes; to look through more takes too long for the loop: a hundred calls may end at once."""

Result = TypeVar("Result")

# More would only divide the same time, of one interpreter, and need the memory all at once.
READERS = FairThreads(2, "look-through")


def has_readable_size(content: bytes) -> bool:
    """
    Whether JSON has no more bytes and values than anybody reads; it isn't read for that.

    A value stands behind a comma or a bracket, or alone, so these are counted: first all of them,
    and where they are many, those outside of texts. An empty list counts as two values.
    """
    if len(content) > MAX_JSON_BYTES:
        return False
    return _count_marks(content) < MAX_JSON_VALUES or _has_few_values(content)


def is_readable_json(content: bytes) -> bool:
    """Whether JSON can be read again, whatever a payload wraps around it."""
    if not has_readable_size(content):
        return False
    try:
        from_json(b"[" * MAX_JSON_DEPTH + content + b"]" * MAX_JSON_DEPTH)
    except ValueError:
        return False
    return True


async def look_through(
    run_id: str,
    content: bytes,
    look: Callable[[bytes], Result],
    threads: FairThreads = READERS,
) -> Result:
    """Do for a run what takes time in proportion to some bytes: in a thread, if these are many."""
    if len(content) > MAX_INLINE_BYTES:
        return await threads.run(run_id, partial(look, content))
    return look(content)


def _has_few_values(content: bytes) -> bool:
    """Count what stands outside of texts; each value has a text at most, and a name."""
    unescaped = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 4 * MAX_JSON_VALUES:
        return False
    return _count_marks(b"".join(unescaped.split(b'"')[::2])) < MAX_JSON_VALUES


def _count_marks(content: bytes) -> int:
    return sum(map(content.count, (b",", b"[", b"{")))
