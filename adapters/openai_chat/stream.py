"""From the chunks of a stream to the response that would have come unstreamed."""

from collections.abc import Iterable
from typing import TypeAlias

from pydantic import JsonValue

from holdfast.adapters import failures
from holdfast.adapters.openai_chat import deltas, errors
from holdfast.adapters.openai_chat import usage as usages
from holdfast.adapters.openai_chat.servers import Target
from holdfast.adapters.wire import as_list, as_object, as_text
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_CALLS_PER_REPLY
from holdfast.contracts.usage import CallUsage

_Place: TypeAlias = float | str | None
"""What a server numbers a call with."""


def assemble(events: Iterable[JsonObject], target: Target) -> JsonObject:
    """
    Put a response together.

    Raises ModelUnavailable (`cut_off`) when the stream ends before the response does, and the
    ModelError that an error among the chunks stands for.
    """
    response = _Response()
    for event in events:
        if problem := errors.find(event):
            used = usages.usage(response.raw(), target)
            raise failures.from_reply(target.provider, problem, usage=used)
        response.add(event)
    raw = response.raw()
    if not response.is_complete:
        raise failures.from_cut_off(target.provider, usages.usage(raw, target))
    return raw


def usage_so_far(events: Iterable[JsonObject], target: Target) -> CallUsage | None:
    """Read what a response had consumed before its stream broke; null for one that is whole."""
    response = _Response()
    for event in events:
        response.add(event)
    return None if response.is_complete else usages.usage(response.raw(), target)


def begins(event: JsonObject) -> bool:
    """Whether a chunk brings the first of what the model says."""
    return any(
        any(delta[name] for name in delta.keys() - {"role"})
        for delta in map(_delta, _objects(event.get("choices")))
    )


def find_text(event: JsonObject) -> str:
    """Return the words that a chunk brings of the choice that counts: no thoughts, no calls."""
    match _objects(event.get("choices")):
        case [choice, *_] if choice.get("index") in (0, None):
            content = _delta(choice).get("content")
        case _:
            return ""
    if isinstance(content, str):
        return content
    words = (piece for piece in _objects(content) if piece.get("type") in ("text", "output_text"))
    return "".join(as_text(piece.get("text")) for piece in words)


def fails(event: JsonObject) -> bool:
    """Whether a chunk is an error, behind which nothing counts."""
    return errors.find(event) is not None


class _Response:
    """A response while its chunks come in."""

    def __init__(self) -> None:
        self._finished = False
        self._billed = False
        self._fields: JsonObject = {}
        self._choices: dict[int, _Choice] = {}

    @property
    def is_complete(self) -> bool:
        return bool(self._choices) and (self._finished or self._billed)

    def add(self, chunk: JsonObject) -> None:
        choices = _objects(chunk.get("choices"))
        self._keep(chunk, choices)
        for choice in choices:
            place = choice.get("index")
            number = place if isinstance(place, int) else 0
            self._choices.setdefault(number, _Choice()).add(choice)
        self._finished |= any(choice.get("finish_reason") for choice in choices)
        # Some servers never say why they end, but what it cost comes last.
        self._billed = not choices and (self._billed or isinstance(chunk.get("usage"), dict))

    def raw(self) -> JsonObject:
        choices = [self._choices[place].raw() for place in sorted(self._choices)]
        return {**self._fields, "choices": [*choices]}

    def _keep(self, chunk: JsonObject, choices: list[JsonObject]) -> None:
        """Keep what was said last; a few servers have places of their own for the usage."""
        for name, value in chunk.items():
            if name not in ("choices", "usage") and value is not None:
                self._fields[name] = value
        for place in (*_objects([chunk.get("x_groq")]), *choices, chunk):
            if isinstance(place.get("usage"), dict):
                self._fields["usage"] = place["usage"]


class _Choice:
    """One choice while its chunks come in."""

    def __init__(self) -> None:
        self._fields: JsonObject = {}
        self._message = deltas.Fields()
        self._calls: list[_Call] = []
        self._latest: dict[_Place, _Call] = {}
        self._named: dict[tuple[_Place, str], _Call] = {}

    def add(self, choice: JsonObject) -> None:
        for name, value in choice.items():
            if name not in ("delta", "message", "usage") and value is not None:
                self._fields[name] = value
        delta = _delta(choice)
        self._message.add({name: delta[name] for name in delta if name != "tool_calls"})
        for entry in _objects(delta.get("tool_calls")):
            self._call(entry)

    def raw(self) -> JsonObject:
        calls: JsonObject = {"tool_calls": [call.whole() for call in self._calls]}
        message = self._message.join() | (calls if self._calls else {})
        return {**self._fields, "message": message}

    def _call(self, entry: JsonObject) -> None:
        """Add a piece to the call that it belongs to; to a new one if it belongs to none."""
        number, call_id = entry.get("index"), as_text(entry.get("id"))
        place = number if isinstance(number, int | float | str) else None
        call = self._named.get((place, call_id)) if call_id else None
        latest = self._latest.get(place)
        if call is None and latest and latest.goes_on_with(entry, numbered=place is not None):
            call = latest
        if call is None and len(self._calls) > MAX_CALLS_PER_REPLY:
            return  # with one call too many it is refused, however many more there are
        if call is None:
            call = self._latest[place] = _Call()
            self._calls.append(call)
        if call_id:
            self._named[place, call_id] = call
        call.add(entry)


class _Call:
    """One call while its pieces come in: by id, or by index, or one behind the other."""

    def __init__(self) -> None:
        self._entry = deltas.Fields()

    def add(self, entry: JsonObject) -> None:
        self._entry.add({name: entry[name] for name in entry if name != "index"})

    def whole(self) -> JsonObject:
        return self._entry.join()

    def goes_on_with(self, entry: JsonObject, *, numbered: bool) -> bool:
        """Whether a piece is more of this call; servers differ in how they tell calls apart."""
        call_id, name = entry.get("id"), as_object(entry.get("function")).get("name")
        if not numbered:
            return not call_id and not name
        # Some number all their calls 0. Then another id and name begin the next one.
        return not (call_id and name and self._is_whole())

    def _is_whole(self) -> bool:
        function = self._entry.get("function")
        known = isinstance(function, dict | deltas.Fields)
        arguments = function.get("arguments") if known else None
        return not arguments or deltas.is_whole(arguments)


def _delta(choice: JsonObject) -> JsonObject:
    return as_object(choice.get("delta") or choice.get("message"))


def _objects(value: JsonValue) -> list[JsonObject]:
    return [entry for entry in as_list(value) if isinstance(entry, dict)]
