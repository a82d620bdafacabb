"""From the events of a stream to the response that would have come unstreamed."""

from collections.abc import Iterable

from holdfast.adapters import failures
from holdfast.adapters.openai.errors import PROVIDER, from_error_event
from holdfast.contracts.base import JsonObject
from holdfast.contracts.usage import UNKNOWN_USAGE, CallUsage

_ENDS = ("response.completed", "response.incomplete", "response.failed")


def assemble(events: Iterable[JsonObject]) -> JsonObject:
    """
    Return the response that the last event holds.

    Some servers leave its output empty; it is then what the items were when they were done. What
    no such event told of was cut, and nobody acts on it.
    """
    done: dict[int, JsonObject] = {}
    used: CallUsage | None = None  # only the last event says what
    for event in events:
        match event:
            case {"type": "response.output_item.done", "item": dict(item)}:
                place = event.get("output_index")
                done[place if isinstance(place, int) else len(done)] = item
            case _ if fails(event):
                raise from_error_event(event, used)
            case {"response": dict(response)} if _ends(event):
                items: JsonObject = {"output": [done[place] for place in sorted(done)]}
                return response if response.get("output") else response | items
            case _:
                pass
        used = UNKNOWN_USAGE
    raise failures.from_cut_off(PROVIDER, used)


def is_whole(events: Iterable[JsonObject]) -> bool:
    """Whether the reply came to its end, whatever became of the stream."""
    return any(map(_ends, events))


def begins(event: JsonObject) -> bool:
    """Whether an event brings the first of what the model says."""
    return event.get("type") == "response.output_item.added"


def find_text(event: JsonObject) -> str:
    """Return the words that an event brings: no thoughts, and no arguments of calls."""
    match event:
        case {"type": "response.output_text.delta" | "response.refusal.delta", "delta": str(text)}:
            return text
        case _:
            return ""


def fails(event: JsonObject) -> bool:
    """Whether an event is an error, behind which nothing counts."""
    return event.get("type") == "error" or isinstance(event.get("error"), dict)


def _ends(event: JsonObject) -> bool:
    """Whether an event is the last one, which holds the response as a whole."""
    return event.get("type") in _ENDS
