"""The members of sets in an order that is the same in every process: that of their JSON."""

from collections.abc import Iterable
from operator import itemgetter

from pydantic import JsonValue

from holdfast.contracts.base import canonical_json


class MemberOrder:
    """
    Orders the members of sets that may be members of each other.

    A set remembers how it is written, until the one around it is: so each member is written once,
    however deeply it is nested.
    """

    def __init__(self) -> None:
        self._written: dict[int, tuple[list[JsonValue], bytes]] = {}

    def sort(self, members: Iterable[JsonValue]) -> list[JsonValue]:
        """Return members in the order of their canonical JSON."""
        texts = sorted(((self.write(one), one) for one in members), key=itemgetter(0))
        ordered = [one for _, one in texts]
        joined = b"[" + b",".join(text for text, _ in texts) + b"]"
        self._written[id(ordered)] = ordered, joined
        return ordered

    def write(self, value: JsonValue) -> bytes:
        """Return the canonical JSON of a value, as `canonical_json` does."""
        if not self._written:
            return canonical_json(value)
        match value:
            case dict():
                names = sorted(value, key=lambda name: name.encode("utf-16be"))
                members = (canonical_json(name) + b":" + self.write(value[name]) for name in names)
                return b"{" + b",".join(members) + b"}"
            case list() if id(value) in self._written:
                return self._written.pop(id(value))[1]
            case list():
                return b"[" + b",".join(map(self.write, value)) + b"]"
            case _:
                return canonical_json(value)
