"""How OpenAI Responses streams: a response cut into its events."""

from collections.abc import Iterator
from itertools import count

from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from tests.adapters.rules.strict import Event

PIECE = 3
"""Characters of a delta: few, so that strings and escapes inside of JSON are split."""

ENDS = {"incomplete": "response.incomplete", "failed": "response.failed"}
PHASES = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_call": ("in_progress", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
}


def events(response: JsonObject) -> Iterator[Event]:
    """Return the events of a response, numbered."""
    numbers = count()
    for event in _unnumbered(response):
        kind = str(event["type"])
        yield Event({"type": kind, "sequence_number": next(numbers), **event}, kind)


def _unnumbered(response: JsonObject) -> Iterator[JsonObject]:
    begun: JsonObject = {**response, "status": "in_progress", "output": [], "usage": None}
    begun |= {"error": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    output = response["output"]
    assert isinstance(output, list)
    for place, item in enumerate(output):
        assert isinstance(item, dict)
        at: JsonObject = {"output_index": place}
        yield {"type": "response.output_item.added", **at, "item": _begun(item)}
        yield from _inside(item, {"item_id": item.get("id"), **at})
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {
        "type": ENDS.get(str(response.get("status")), "response.completed"),
        "response": response,
    }


def _begun(item: JsonObject) -> JsonObject:
    """Return an item before anything of it was said."""
    empty: JsonObject = {
        "status": "in_progress",
        "content": [],
        "summary": [],
        "arguments": "",
        "input": "",
        "code": "",
        "encrypted_content": "",
    }
    return item | {name: value for name, value in empty.items() if name in item}


def _inside(item: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    match item:
        case {"type": "message", "content": list(content)}:
            for place, part in enumerate(content):
                assert isinstance(part, dict)
                yield from _content(part, {**at, "content_index": place})
        case {"type": "function_call", "arguments": str(arguments)}:
            yield from _spelled("function_call_arguments", "arguments", arguments, at)
        case {"type": "custom_tool_call", "input": str(text)}:
            yield from _spelled("custom_tool_call_input", "input", text, at)
        case {"type": "reasoning", "summary": list(summary)}:
            yield from _thoughts(summary, at)
        case {"type": str(kind)}:
            for phase in PHASES.get(kind, ()):
                yield {"type": f"response.{kind}.{phase}", **at}
        case _:
            pass


def _content(part: JsonObject, at: JsonObject) -> Iterator[JsonObject]:
    field = "refusal" if part["type"] == "refusal" else "text"
    yield {"type": "response.content_part.added", **at, "part": {**part, field: ""}}
    event = "refusal" if field == "refusal" else "output_text"
    yield from _spelled(event, field, str(part.get(field, "")), at)
    annotations = part.get("annotations")
    for place, note in enumerate(annotations if isinstance(annotations, list) else []):
        named: JsonObject = {**at, "annotation_index": place, "annotation": note}
        yield {"type": "response.output_text.annotation.added", **named}
    yield {"type": "response.content_part.done", **at, "part": part}


def _thoughts(summary: list[JsonValue], at: JsonObject) -> Iterator[JsonObject]:
    for place, part in enumerate(summary):
        assert isinstance(part, dict)
        inner: JsonObject = {**at, "summary_index": place}
        empty: JsonObject = {**part, "text": ""}
        yield {"type": "response.reasoning_summary_part.added", **inner, "part": empty}
        yield from _spelled("reasoning_summary_text", "text", str(part["text"]), inner)
        yield {"type": "response.reasoning_summary_part.done", **inner, "part": part}


def _spelled(event: str, field: str, text: str, at: JsonObject) -> Iterator[JsonObject]:
    for begin in range(0, len(text), PIECE):
        delta = text[begin : begin + PIECE]
        yield {"type": f"response.{event}.delta", **at, "delta": delta}
    yield {"type": f"response.{event}.done", **at, field: text}
