"""The recorded exchanges with the real APIs, where they are at hand, and a few of our own."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from tests.adapters.recordings.values import Body

OWN = Path(__file__).parent / "own"
"""Exchanges made for these tests, of kinds that are rare: each was read wrongly somewhere once."""

WIRE = Path(__file__).parents[4] / "shared" / "wire"

Format: TypeAlias = Literal["anthropic", "openai", "openai-chat"]
"""A wire format goes by the name of the adapter that speaks it."""

ENDINGS: tuple[tuple[str, Format], ...] = (
    ("/messages", "anthropic"),
    ("/responses", "openai"),
    ("/chat/completions", "openai-chat"),
)
FILES: tuple[tuple[str, Format], ...] = (
    ("anthropic", "anthropic"),
    ("responses", "openai"),
    ("chat", "openai-chat"),
)


class Exchange(NamedTuple):
    """One request and what came back: a JSON object, or text as it is."""

    name: str
    format: Format
    host: str
    source: str
    place: int
    request: Body
    status: int
    content_type: str
    body: Body | str
    retry_after: str | None

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def streamed(self) -> bool:
        return "event-stream" in self.content_type

    @property
    def raw(self) -> bytes:
        """The body as it goes over the wire."""
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()

    def unstreamed(self, body: Body) -> "Exchange":
        """The same with this answer, which comes at once."""
        name, kind = f"{self.name}-unstreamed", "application/json"
        return self._replace(name=name, content_type=kind, body=body)


def names() -> Iterator[str]:
    """Name every exchange at hand, without a look at what it says."""
    for stem, number, _ in _lines():
        yield _name(stem, number)


@cache
def recorded() -> Mapping[str, Exchange]:
    """Read all exchanges, by their names and in their order: once, when a test first needs it."""
    return {
        _name(stem, number): _exchange(stem, number, json.loads(line))
        for stem, number, line in _lines()
    }


def conversations(exchanges: Iterable[Exchange]) -> Iterator[tuple[Exchange, Exchange]]:
    """Neighbours: an exchange, and the next one of the same source."""
    for one, following in pairwise(exchanges):
        same = (one.source, one.format) == (following.source, following.format)
        if same and following.place == one.place + 1:
            yield one, following


def _lines() -> Iterator[tuple[str, int, str]]:
    """Each line that says something, with the name of its file and its place there."""
    for path in (*sorted(OWN.glob("*.jsonl")), *sorted(WIRE.glob("*.jsonl"))):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(filter(None, lines), start=1):
            yield path.stem, number, line


def _name(stem: str, number: int) -> str:
    return f"{stem}-{number}"


def _exchange(stem: str, number: int, line: Body) -> Exchange:
    return Exchange(
        name=_name(stem, number),
        format=_format(stem, line["path"]),
        host=line["host"],
        source=line["source"],
        place=line["index"],
        request=line["request"],
        status=line["status"],
        content_type=line["content_type"] or "",
        body=line["body"],
        retry_after=line.get("retry_after"),
    )


def _format(stem: str, path: str) -> Format:
    for ending, name in ENDINGS:
        if path.endswith(ending):
            return name
    return next(name for word, name in FILES if word in stem)
