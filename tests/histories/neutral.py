"""What a history says of the machine that it comes from, put into neutral words."""

import base64
import re
from collections.abc import Callable

from pydantic import JsonValue

IDENTITY = "tests@histories"
"""Whoever sent a message or did a task: otherwise a process and its host."""

_LEFT_OUT = {"stackTrace", "binaryChecksum", "buildId"}
"""They name files and builds of the machine, and a replay doesn't read them."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Neutralizer:
    """
    Renames what differs from one machine and one playing to the next.

    Ids that a server draws by lot are numbered as they first appear, the same everywhere; so all
    histories of one scenario go through one of these.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}

    def apply(self, value: JsonValue) -> JsonValue:
        """Return a copy of a history, as Temporal writes it in JSON, in neutral words."""
        match value:
            case dict():
                return {
                    name: self._replace(name, field)
                    for name, field in _without_sticky_queue(value).items()
                    if name not in _LEFT_OUT
                }
            case list():
                return [self.apply(one) for one in value]
            case str():
                return self._number(value)
            case _:
                return value

    def _replace(self, name: str, field: JsonValue) -> JsonValue:
        match name, field:
            case "identity", str():
                return IDENTITY
            case "data", str():
                return _in_payload(field, self._number)
            case _:
                return self.apply(field)

    def _number(self, text: str) -> str:
        return _UUID.sub(lambda found: self._numbered(found[0]), text)

    def _numbered(self, drawn: str) -> str:
        number = len(self._numbers) + 1
        return self._numbers.setdefault(drawn, f"00000000-0000-4000-8000-{number:012}")


def _without_sticky_queue(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Name a worker's own queue, whose name has its host, as the one that stands behind it."""
    return {**value, "name": value["normalName"]} if "normalName" in value else value


def _in_payload(data: str, change: Callable[[str], str]) -> str:
    text = base64.b64decode(data).decode("utf-8", "surrogateescape")
    return base64.b64encode(change(text).encode("utf-8", "surrogateescape")).decode()
