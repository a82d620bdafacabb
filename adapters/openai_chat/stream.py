"""From the chunks of a stream to the response that would have come unstreamed."""

from collections.abc import Iterable

from pydantic import JsonValue

from adapters import failures
from adapters.openai_chat import errors, growth
from adapters.openai_chat import usage as usages
from adapters.openai_chat.servers import Target
from adapters.wire import as_list, as_object
from contracts.base import JsonObject
from contracts.usage import CallUsage


def assembled(events: Iterable[JsonObject], target: Target) -> JsonObject:
    """
    Put a response together.

    Raises ModelUnavailable (`cut_off`) when the stream ends before the response does, and the
    ModelError that an error among the chunks stands for.
    """
    response = _Response()
    for event in events:
        if problem := errors.found(event):
            used = usages.usage(response.raw(), target)
            raise failures.reported(target.provider, problem, usage=used)
        response.add(event)
    raw = response.raw()
    if not response.ended:
        raise failures.cut_off(target.provider, usages.usage(raw, target))
    return raw


def is_whole(events: Iterable[JsonObject]) -> bool:
    """Whether the reply came to its end, whatever became of the stream."""
    return _read(events).ended


def usage_so_far(events: Iterable[JsonObject], target: Target) -> CallUsage:
    """Read what a response had consumed before its stream broke."""
    return usages.usage(_read(events).raw(), target)


def begins(event: JsonObject) -> bool:
    """Whether a chunk brings the first of what the model says."""
    return any(
        any(delta[name] for name in delta.keys() - {"role"})
        for delta in map(_delta, _objects(event.get("choices")))
    )


def fails(event: JsonObject) -> bool:
    """Whether a chunk is an error, behind which nothing counts."""
    return errors.found(event) is not None


def _read(events: Iterable[JsonObject]) -> "_Response":
    response = _Response()
    for event in events:
        response.add(event)
    return response


class _Response:
    """A response while its chunks come in."""

    def __init__(self) -> None:
        self._finished = False
        self._billed = False
        self._fields: JsonObject = {}
        self._choices: dict[int, _Choice] = {}

    @property
    def ended(self) -> bool:
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
        self._message: JsonObject = {}
        self._calls: list[_Call] = []

    def add(self, choice: JsonObject) -> None:
        for name, value in choice.items():
            if name not in ("delta", "message", "usage") and value is not None:
                self._fields[name] = value
        for name, value in _delta(choice).items():
            if name == "tool_calls":
                for entry in _objects(value):
                    self._call(entry).add(entry)
            else:
                self._message[name] = growth.grown(name, self._message.get(name), value)

    def raw(self) -> JsonObject:
        calls: JsonObject = {"tool_calls": [call.entry for call in self._calls]}
        return {**self._fields, "message": {**self._message, **(calls if self._calls else {})}}

    def _call(self, entry: JsonObject) -> "_Call":
        """Return the call that a piece belongs to; a new one if it belongs to none."""
        for call in reversed(self._calls):
            if call.goes_on_with(entry):
                return call
        self._calls.append(_Call(entry.get("index")))
        return self._calls[-1]


class _Call:
    """One call while its pieces come in: by index, or by id, or one behind the other."""

    def __init__(self, place: JsonValue) -> None:
        self.entry: JsonObject = {}
        self._place = place

    def add(self, entry: JsonObject) -> None:
        for name, value in entry.items():
            if name != "index":
                self.entry[name] = growth.grown(name, self.entry.get(name), value)

    def goes_on_with(self, entry: JsonObject) -> bool:
        """Whether a piece is more of this call; servers differ in how they tell calls apart."""
        if entry.get("index") != self._place:
            return False
        call_id = entry.get("id")
        if call_id and call_id == self.entry.get("id"):
            return True
        function = as_object(entry.get("function"))
        if self._place is None:
            return not call_id and not function.get("name")
        # Some number all their calls 0. Then another id and name begin the next one.
        begins = bool(call_id and function.get("name"))
        return not (begins and self._is_whole())

    def _is_whole(self) -> bool:
        arguments = as_object(self.entry.get("function")).get("arguments")
        return not arguments or growth.is_whole(arguments)


def _delta(choice: JsonObject) -> JsonObject:
    return as_object(choice.get("delta") or choice.get("message"))


def _objects(value: JsonValue) -> list[JsonObject]:
    return [entry for entry in as_list(value) if isinstance(entry, dict)]
