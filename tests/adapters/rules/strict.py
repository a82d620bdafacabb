"""What the rules of all dialects have in common."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from holdfast.contracts.base import JsonObject


class Strict(BaseModel):
    """A part of a request: every field is known, and of exactly its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Event(NamedTuple):
    """One event of a stream. Some dialects name theirs; `text` is sent in place of the data."""

    data: JsonObject
    name: str | None = None
    text: str | None = None


class Page(NamedTuple):
    """A whole answer of the rules' own: a refusal with its status, or a thing that they keep."""

    body: JsonObject
    status: int = 200


class Rules(Protocol):
    """
    What one API takes and how it streams, with a memory of what it issued.

    A refusal is a line, which becomes an `invalid_request_error` with HTTP 400, or a page.
    """

    def problem(
        self, path: str, headers: Mapping[str, str], body: JsonObject
    ) -> str | Page | None:
        """Say why the provider would refuse a request."""
        ...

    def issued(self, response: JsonObject) -> None:
        """Remember the ids and signatures of a response."""
        ...

    def events(self, response: JsonObject) -> Iterable[Event]:
        """Cut a whole response into the events that stream it."""
        ...


@runtime_checkable
class KeepsMore(Protocol):
    """Rules of an API that has more to ask for than replies, conversations for example."""

    def page(self, method: str, path: str, body: JsonObject) -> Page | None:
        """Answer a request for anything else; null where there is no such thing."""
        ...
