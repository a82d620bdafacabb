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


class Understood(NamedTuple):
    """
    What an API makes of a request, the same for all of them.

    `tools` are those that the model may call: ours by their names, those of the provider's own by
    their types on the wire. `hosted_calls` is how often it may call the provider's own, null
    where nothing bounds that. `effort` is how hard it is to think, in the provider's words,
    `sampling` how it draws its words, in those of our settings.
    """

    tools: frozenset[str] = frozenset()
    must_call: bool = False
    parallel_calls: bool = True
    hosted_calls: int | None = None
    max_output_tokens: int | None = None
    reasoning_tokens: int | None = None
    effort: str | None = None
    sampling: JsonObject | None = None


class Rules(Protocol):
    """
    What one API takes, what it makes of that and how it streams, with a memory of what it issued.

    `path` is what the paths of requests for a reply end with. A refusal is a line, which becomes
    an `invalid_request_error` with HTTP 400, or a page.
    """

    path: str

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Whether a request proves who sent it."""
        ...

    def streams(self, path: str, body: JsonObject) -> bool:
        """Whether a request asks for a stream."""
        ...

    def understand(self, body: JsonObject) -> Understood:
        """Say what a request asks for."""
        ...

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


class OpenAIHeaders:
    """What most APIs have of OpenAI's: a bearer's key, and a field that asks for a stream."""

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Whether a request proves who sent it."""
        return headers.get("authorization", "").startswith("Bearer ")

    def streams(self, path: str, body: JsonObject) -> bool:
        """Whether a request asks for a stream."""
        return body.get("stream") is True


@runtime_checkable
class KeepsMore(Protocol):
    """Rules of an API that has more to ask for than replies, conversations for example."""

    def page(self, method: str, path: str, body: JsonObject) -> Page | None:
        """Answer a request for anything else; null where there is no such thing."""
        ...
