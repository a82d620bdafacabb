"""What an answer of OpenAI Responses says."""

from collections.abc import Iterator

from tests.adapters.recordings import expected
from tests.adapters.recordings.exchanges import Exchange
from tests.adapters.recordings.expected import Call, Counts, Failed, Outcome, Said, count
from tests.adapters.recordings.values import Body, entries, fields

ENDS = {"response.completed", "response.incomplete", "response.failed"}
INCOMPLETE = {"max_output_tokens": "max_tokens", "content_filter": "content_filter"}
CALLS = {"function_call", "custom_tool_call", "mcp_approval_request"}
UNFINISHED = {"queued", "in_progress", "cancelled"}


def outcome(exchange: Exchange) -> Outcome:
    response = whole(exchange)
    return response if isinstance(response, Failed) else said(response)


def whole(exchange: Exchange) -> Body | Failed:
    """The answer as it would have come unstreamed."""
    answer = expected.received(exchange)
    return _assembled(answer) if isinstance(answer, list) else answer


def said(response: Body) -> Outcome:
    if not isinstance(response.get("output"), list):
        return expected.UNREADABLE
    if response.get("status") == "failed":
        return expected.failure(500, response.get("error"))
    items: list[Body] = response["output"]
    refused = any(part["type"] == "refusal" for item in items for part in _parts(item))
    calls = [] if refused else [item for item in items if _is_whole_call(item, response)]
    return Said(
        pieces=tuple(_words(items)),
        answer="".join(_words(_answer(items))),
        calls=tuple(map(_call, calls)),
        stop="refusal" if refused else _stop(response, called=bool(calls)),
        counts=_counts(response.get("usage")),
        model=response["model"],
        output=[item for item in items if item["type"] not in CALLS or item in calls],
        thoughts=tuple(
            thought["text"]
            for item in items
            if item["type"] == "reasoning"
            for thought in entries(item.get("summary")) + entries(item.get("content"))
        ),
        verbatim=tuple(i for i in items if i["type"] not in {"message", *CALLS}),
    )


def _parts(item: Body) -> list[Body]:
    return item["content"] if item["type"] == "message" else []


def _words(items: list[Body]) -> Iterator[str]:
    for item in items:
        for part in _parts(item):
            yield part.get("text") or part.get("refusal") or ""


def _answer(items: list[Body]) -> list[Body]:
    """The items behind the last one that has to do with a tool; a commentary is no answer."""
    tools = [n for n, item in enumerate(items) if item["type"].endswith(("_call", "_output"))]
    behind = items[tools[-1] + 1 :] if tools else items
    return [item for item in behind if item.get("phase") != "commentary"]


def _call(item: Body) -> Call:
    """The call of an item; an approval is asked for as if it were one."""
    match item["type"]:
        case "mcp_approval_request":
            name = f"mcp.{item['server_label']}.{item['name']}"
            return item["id"], name, expected.arguments(item["arguments"])
        case "custom_tool_call":
            return item["call_id"], item["name"], {"input": item.get("input", "")}
        case _:
            return item["call_id"], item["name"], expected.arguments(item["arguments"])


def _is_whole_call(item: Body, response: Body) -> bool:
    if item["type"] not in CALLS or item.get("status") in {"incomplete", "in_progress"}:
        return False
    return item.get("status") == "completed" or response.get("status") != "incomplete"


def _stop(response: Body, *, called: bool) -> str:
    status = response.get("status")
    if status == "incomplete":
        reason: str = fields(response.get("incomplete_details")).get("reason", "")
        return INCOMPLETE.get(reason, "other")
    if status in UNFINISHED:
        return "other"
    said = [item for item in response["output"] if item["type"] == "message"]
    unfinished = bool(said) and said[-1].get("phase") == "commentary"
    return "tool_use" if called else "pause" if unfinished else "end_turn"


def _counts(usage: Body | None) -> Counts:
    return Counts(
        input=count(usage, "input_tokens"),
        cached=count(usage, "input_tokens_details", "cached_tokens"),
        cache_write=count(usage, "input_tokens_details", "cache_write_tokens"),
        output=count(usage, "output_tokens"),
        reasoning=count(usage, "output_tokens_details", "reasoning_tokens"),
    )


def _assembled(events: list[Body]) -> Body | Failed:
    """The last event holds the whole response; some servers leave its output to the others."""
    for event in events:
        if event["type"] == "error":
            return expected.failure(500, event)
    ends = [event["response"] for event in events if event["type"] in ENDS]
    if not ends:
        return expected.CUT_OFF
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return ends[0] | {"output": ends[0].get("output") or done}
