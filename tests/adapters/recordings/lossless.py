"""Whether everything that a model put out is found again in our reply."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from holdfast.contracts.model import ModelReply
from tests.adapters.recordings import expected
from tests.adapters.recordings.exchanges import Format
from tests.adapters.recordings.paths import Leaf, leaves, matches
from tests.adapters.recordings.values import Value

SHORTEST = 9
"""Characters of a text that can't be found somewhere else by chance."""


class Unkept(NamedTuple):
    """A field of an answer that our reply doesn't keep."""

    format: Format
    pattern: str
    reason: str


_KIND = "the kind of a part says it"

UNKEPT: tuple[Unkept, ...] = (
    Unkept("openai", "[]<message|function_call>.type", _KIND),
    Unkept("openai", "[]<message>.content[]<output_text>.type", _KIND),
    Unkept("openai", "[]<message>.role", "a reply is the assistant's"),
    Unkept("openai", "[]<message|function_call>.status=completed", "a reply is complete"),
    Unkept("openai-chat", "role", "a reply is the assistant's"),
    Unkept("openai-chat", "channel", "thoughts and words stand apart"),
)


def lost(
    format_: Format, output: Value, reply: ModelReply, rows: tuple[Unkept, ...] = UNKEPT
) -> list[str]:
    """The paths of all texts that the reply doesn't hold, in their order."""
    pool = _pool(reply)
    mine = [row for row in rows if row.format == format_]
    return [
        path
        for path, leaf in _texts(output)
        if not any(matches(row.pattern, f"{path}={leaf}") for row in mine)
        and not any(_dense(leaf) in kept for kept in pool)
    ]


def concerns(row: Unkept, output: Value) -> bool:
    """Whether the output has the field of a row."""
    return any(matches(row.pattern, f"{path}={leaf}") for path, leaf in _texts(output))


def _texts(output: Value) -> Iterator[tuple[str, str]]:
    """All longer texts; arguments that came as JSON are looked into."""
    for path, leaf in leaves(output):
        for place, text in _inside(path, leaf):
            if isinstance(text, str) and len(_dense(text)) >= SHORTEST:
                yield place, text


def _inside(path: str, leaf: Leaf) -> Iterator[tuple[str, Leaf]]:
    if path.endswith(".arguments") and isinstance(leaf, str):
        yield from leaves(expected.arguments(leaf), path)
    else:
        yield path, leaf


def _pool(reply: ModelReply) -> list[str]:
    kept = json.loads(reply.model_dump_json())
    return [_dense(leaf) for _, leaf in leaves(kept) if isinstance(leaf, str)]


def _dense(text: str) -> str:
    """The text without the white space that keeps its parts apart."""
    return "".join(text.split())
