"""From the events of a stream to the response that would have come unstreamed."""

from collections.abc import Iterable

from pydantic import JsonValue

from holdfast.adapters import failures, wire
from holdfast.adapters.anthropic import response as responses
from holdfast.adapters.anthropic.errors import PROVIDER
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelError
from holdfast.contracts.usage import UNKNOWN_USAGE, CallUsage

_PARTS = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "content_block_stop"}
    | {"message_delta", "message_stop", "error"}
)


def assemble(events: Iterable[JsonObject]) -> JsonObject:
    """
    Put a message together.

    Raises ModelUnavailable (`cut_off`) when the stream ends before the message does, or
    (`unreadable`) for events that make no sense, and the ModelError that an error stands for.
    """
    message = _Message()
    for event in events:
        message.take(event)
        if message.whole is not None:
            return message.whole
    raise failures.from_cut_off(PROVIDER, message.usage)


def usage_so_far(events: Iterable[JsonObject]) -> CallUsage | None:
    """Read what a message had consumed before its stream broke; null for one that never began."""
    message = _Message()
    for event in events:
        if event.get("type") in ("message_start", "message_delta"):
            message.take(event)
        else:
            message.track_progress(event)
    return message.usage


def begins(event: JsonObject) -> bool:
    """Whether an event brings the first of what the model says."""
    return event.get("type") == "content_block_start"


def find_text(event: JsonObject) -> str:
    """Return the words that an event brings: no thoughts, and no arguments of calls."""
    match event:
        case {"content_block": {"type": "text", "text": str(text)}}:
            return text
        case {"delta": {"type": "text_delta", "text": str(text)}}:
            return text
        case _:
            return ""


def notes(events: Iterable[JsonObject]) -> tuple[str, ...]:
    """Say which events this release can't read."""
    types = dict.fromkeys(str(event.get("type")) for event in events)
    return tuple(
        f"anthropic sent an event of type {name!r}, which this release doesn't read"
        for name in types
        if name not in _PARTS | {"ping"}
    )


class _Message:
    """A message that grows with each event; `whole` once it is."""

    def __init__(self) -> None:
        self.whole: JsonObject | None = None
        self._fields: JsonObject = {}
        self._open: dict[int, _Block] = {}
        self._closed: dict[int, JsonObject] = {}
        self._begun = self._counted = False

    @property
    def usage(self) -> CallUsage | None:
        """What was used, as far as it was said; before its last count that is the input alone."""
        if not self._begun:
            return None
        used = self._fields.get("usage")
        if isinstance(used, dict) and not self._counted:
            used = {**used, "output_tokens": 0}
        try:
            told = responses.usage({**self._fields, "content": [], "usage": used})
        except ModelError:
            return UNKNOWN_USAGE
        return told if self._counted else told + UNKNOWN_USAGE

    def track_progress(self, event: JsonObject) -> None:
        """Note how far it came: a count is the last one only if nothing more is said behind it."""
        self._begun |= event.get("type") not in ("ping", "error")
        self._counted &= event.get("type") not in ("content_block_start", "content_block_delta")

    def take(self, event: JsonObject) -> None:
        self.track_progress(event)
        match event:
            case {"type": "message_start", "message": dict(fields)}:
                used = fields.get("usage")
                self._fields = {**fields, "usage": dict(used) if isinstance(used, dict) else used}
            case {"type": "message_delta"}:
                self._change(event)
            case {"type": "content_block_start", "index": int(at), "content_block": dict(block)}:
                self._open[at] = _Block(block)
            case {"type": "content_block_delta", "index": int(at), "delta": dict(delta)} if (
                at in self._open
            ):
                self._open[at].grow(delta)
            case {"type": "content_block_stop", "index": int(at)} if at in self._open:
                self._closed[at] = self._open.pop(at).whole()
            case {"type": "message_stop"} if self._fields and not self._open:
                content: list[JsonValue] = [self._closed[at] for at in sorted(self._closed)]
                self.whole = {**self._fields, "content": content, "usage": self._read_usage()}
            case {"type": "error"}:
                raise failures.from_reply(PROVIDER, event, usage=self.usage)
            case {"type": str(kind)} if kind not in _PARTS:
                pass  # `notes` tells of it
            case _:
                raise failures.from_unreadable_reply(PROVIDER, self.usage)

    def _change(self, event: JsonObject) -> None:
        """Take what is known only at the end; counts are totals, and null says nothing."""
        before, used = self._fields.get("usage"), event.get("usage")
        self._fields |= _without_nulls(
            {k: v for k, v in event.items() if k not in ("type", "delta")}
        )
        self._fields |= _without_nulls(wire.as_object(event.get("delta")))
        if isinstance(before, dict) and isinstance(used, dict):
            before |= _without_nulls(used)
            self._fields["usage"] = before
            self._counted |= used.get("output_tokens") is not None

    def _read_usage(self) -> JsonValue:
        """Return what was used; what its beginning says of a reply's length is a placeholder."""
        used = self._fields.get("usage")
        return (
            {**used, "output_tokens": None}
            if isinstance(used, dict) and not self._counted
            else used
        )


class _Block:
    """A block that grows with each delta."""

    def __init__(self, start: JsonObject) -> None:
        self._fields = dict(start)
        self._arguments: list[str] = []
        self._citations = [*wire.as_list(start.get("citations"))]
        self._texts: dict[str, list[str]] = {}

    def grow(self, delta: JsonObject) -> None:
        """Add a piece; a kind of delta that is new here grows the fields that it names."""
        match delta:
            case {"type": "input_json_delta", "partial_json": str(piece)}:
                self._arguments.append(piece)
            case {"type": "citations_delta", "citation": citation}:
                self._citations.append(citation)
            case {"type": "signature_delta", "signature": signature}:
                self._fields["signature"] = signature
            case _:
                self._grow_fields(_without_nulls({k: v for k, v in delta.items() if k != "type"}))

    def whole(self) -> JsonObject:
        """Return the block; arguments that are no JSON object stay the text that they were."""
        for name, pieces in self._texts.items():
            self._fields[name] = "".join(pieces)
        if self._citations:
            self._fields["citations"] = self._citations
        if arguments := "".join(self._arguments):
            try:
                self._fields["input"] = wire.json_object(arguments)
            except ValueError:
                self._fields["input"] = arguments
        return self._fields

    def _grow_fields(self, delta: JsonObject) -> None:
        for name, value in delta.items():
            if isinstance(value, str):
                begun = self._fields.get(name)
                first = [begun] if isinstance(begun, str) else []
                self._texts.setdefault(name, first).append(value)
            else:
                self._fields[name] = value


def _without_nulls(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
