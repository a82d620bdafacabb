"""What OpenAI Responses takes, with a memory of what it gave out."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count, pairwise

from pydantic import JsonValue, ValidationError

from holdfast.contracts.base import JsonObject
from tests.adapters.rules import responses_stream
from tests.adapters.rules.responses_request import FunctionTool, Request, ToolChoice
from tests.adapters.rules.strict import Event, OpenAIHeaders, Page, Understood

UNREASONING = re.compile(r"gpt-4|gpt-3|chatgpt-")
CONVERSATION = re.compile(r"/conversations/(?P<id>[^/]+)/items\?limit=(?P<most>\d+)&order=desc$")
KEPT = re.compile(r"/(?P<kind>responses|conversations)/(?P<id>[^/]+)(/items/(?P<item>[^/]+))?$")
ASKS = {
    "function_call": "call_id",
    "custom_tool_call": "call_id",
    "mcp_approval_request": "id",
}
ANSWERS = {
    "function_call_output": "call_id",
    "custom_tool_call_output": "call_id",
    "mcp_approval_response": "approval_request_id",
}
STRICT_WORDS = {
    *("type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("pattern", "format", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}

Items = list[JsonObject]


class ResponsesRules(OpenAIHeaders):
    """Every field is checked, that each call has its one output, and that nothing is made up."""

    path = "/responses"

    def __init__(self) -> None:
        self.responses: dict[str, Items] = {}
        self.conversations: dict[str, Items] = {}
        self.orphans: Items = []
        self._given: list[Items] = []
        self._asked: tuple[Request, Items] | None = None
        self._numbers = count(1)
        self._items = count(1)

    def problem(
        self, path: str, headers: Mapping[str, str], body: JsonObject
    ) -> str | Page | None:
        """Say why the API would refuse a request."""
        try:
            request = Request.model_validate(body)
        except ValidationError as error:
            return str(error)
        if problem := _contradiction(request) or _loose(request):
            return problem
        before = self._before(request)
        if isinstance(before, Page):
            return before
        sent = [dict(item) for item in _objects(body["input"])]
        self._asked = (request, before + sent)
        return (
            (None if sent or before else "One of input or previous_response_id must be provided.")
            or _repeated(before + sent)
            or self._made_up(sent)
            or self._alone(sent)
            or _unanswered(before + sent)
        )

    def understand(self, body: JsonObject) -> Understood:
        """Say what a request asks for."""
        request = Request.model_validate(body)
        choice = request.tool_choice
        names = frozenset(
            tool.name if isinstance(tool, FunctionTool) else tool.type
            for tool in request.tools or ()
        )
        if isinstance(choice, ToolChoice):
            names = frozenset({choice.name or choice.type})
        return Understood(
            tools=frozenset() if choice == "none" else names,
            must_call=choice == "required" or isinstance(choice, ToolChoice),
            parallel_calls=request.parallel_tool_calls is not False,
            hosted_calls=request.max_tool_calls,
            max_output_tokens=request.max_output_tokens,
            effort=request.reasoning.effort if request.reasoning else None,
            sampling=request.model_dump(
                mode="json", include={"temperature", "top_p"}, exclude_none=True
            ),
        )

    def issued(self, response: JsonObject) -> None:
        """Remember a response, and what it was an answer to."""
        output = [dict(item) for item in _objects(response.get("output"))]
        self._given.append(output)
        if self._asked is None or response.get("status") == "failed":
            return
        request, context = self._asked
        if request.store:
            self.responses[str(response.get("id"))] = context + output
        if request.conversation:
            named = [{"id": f"item_{next(self._items)}"} | item for item in context]
            self.conversations[request.conversation] = named + output

    def events(self, response: JsonObject) -> Iterable[Event]:
        """Cut a whole response into the events that stream it."""
        return responses_stream.events(response)

    def page(self, method: str, path: str, body: JsonObject) -> Page | None:
        """Begin a conversation, show its last items, or delete what is kept."""
        if method == "POST" and path.endswith("/conversations"):
            made = f"conv_{next(self._numbers)}"
            self.conversations[made] = []
            return Page({"id": made, "object": "conversation", "created_at": 1, "metadata": {}})
        if method == "GET" and (asked := CONVERSATION.search(path)):
            items = self.conversations.get(asked["id"])
            if items is None:
                return _no_conversation(asked["id"])
            last: list[JsonValue] = [*reversed(items[-int(asked["most"]) :])]
            return Page({"object": "list", "data": last, "has_more": len(items) > len(last)})
        if method == "DELETE" and (asked := KEPT.search(path)):
            return self._delete(asked["kind"], asked["id"], asked["item"])
        return None

    def _delete(self, kind: str, name: str, item: str | None) -> Page:
        """Delete a response, an item of a conversation, or a conversation, of which items stay."""
        kept = self.responses if kind == "responses" else self.conversations
        known = kept.get(name, [])
        if name not in kept or (item and item not in [one["id"] for one in known]):
            return _gone(404, f"{item or name} not found.", None)
        if item:
            kept[name] = [one for one in known if one["id"] != item]
        else:
            left = kept.pop(name)
            self.orphans += left if kind == "conversations" else []
        return Page({"id": item or name, "deleted": True})

    def _before(self, request: Request) -> Items | Page:
        """Return what the request refers to."""
        if request.conversation:
            known = self.conversations.get(request.conversation)
            return _no_conversation(request.conversation) if known is None else known
        if request.previous_response_id:
            known = self.responses.get(request.previous_response_id)
            return _no_response(request.previous_response_id) if known is None else known
        return []

    def _made_up(self, sent: Items) -> str | None:
        """Refuse an item that has an id, or is of a kind, which only the API gives."""
        given = [_sealed(item) for output in self._given for item in output]
        for item in sent:
            own = "id" in item or item.get("type") not in {None, "function_call", *ANSWERS}
            if own and _sealed(item) not in given:
                return f"Item {item.get('id')!r} not found, or not as it was given out."
            if item.get("type") == "reasoning" and not (
                item.get("encrypted_content") or item.get("content")
            ):
                return f"Item with id {item['id']!r} not found: it isn't persisted."
        return None

    def _alone(self, sent: Items) -> str | None:
        """Refuse reasoning without what came of it, and what came of reasoning without that."""
        following = {
            _key(one): _key(other) for output in self._given for one, other in pairwise(output)
        }
        for one, other in pairwise([*sent, {}]):
            if one.get("type") == "reasoning" and following.get(_key(one)) != _key(other):
                return (
                    f"Item '{one['id']}' of type 'reasoning' was provided without its required "
                    "following item."
                )
        for one, other in pairwise([{}, *sent]):
            needed = [before for before, after in following.items() if after == _key(other)]
            apart = any(before[0] == "reasoning" and before != _key(one) for before in needed)
            if apart and "id" in other:
                return (
                    f"Item '{other.get('id')}' of type '{other.get('type')}' was provided without "
                    f"its required 'reasoning' item: '{needed[-1][1]}'."
                )
        return None


def _contradiction(request: Request) -> str | None:
    """Find fields that don't go together."""
    tools = request.tools or []
    named = {tool.name for tool in tools if tool.type == "function"}
    choice = request.tool_choice
    checks = {
        "previous_response_id and conversation are mutually exclusive.": (
            request.previous_response_id is not None and request.conversation is not None
        ),
        "stream_options is only allowed when streaming.": (
            request.stream_options is not None and not request.stream
        ),
        "tool_choice and parallel_tool_calls are only allowed with tools.": (
            not request.tools and (choice, request.parallel_tool_calls) != (None, None)
        ),
        "Tool choice not found in 'tools' parameter.": (
            choice is not None
            and not isinstance(choice, str)
            and (choice.name not in named if choice.type == "function" else False)
        ),
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.": (
            request.reasoning is not None and bool(UNREASONING.match(request.model))
        ),
        "Encrypted content is not supported with this model.": (
            bool(request.include) and bool(UNREASONING.match(request.model))
        ),
    }
    return next((text for text, broken in checks.items() if broken), None)


def _loose(request: Request) -> str | None:
    """Find a schema that strict mode doesn't take."""
    strict = [
        tool.parameters for tool in request.tools or [] if tool.type == "function" and tool.strict
    ]
    if request.text and request.text.format.strict:
        strict.append(request.text.format.schema_)
    for part in (part for schema in strict for part in _schemas(schema)):
        if unknown := part.keys() - STRICT_WORDS:
            return f"Invalid schema: {sorted(unknown)} is not permitted."
        if part.get("type") == "object" and (
            part.get("additionalProperties") is not False
            or sorted(map(str, _listed(part.get("required"))))
            != sorted(_named(part.get("properties")))
        ):
            return "Invalid schema: all properties are required, and no others are allowed."
    return None


def _schemas(schema: JsonValue) -> Iterator[JsonObject]:
    if isinstance(schema, dict):
        yield schema
        inner = [_named(schema.get("properties")), _named(schema.get("$defs"))]
        for part in (part for named in inner for part in named.values()):
            yield from _schemas(part)
        for part in (*_listed(schema.get("anyOf")), schema.get("items")):
            yield from _schemas(part)


def _repeated(items: Items) -> str | None:
    ids = [item["id"] for item in items if "id" in item]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    return f"Duplicate item found with id {twice}." if twice else None


def _unanswered(items: Sequence[JsonObject]) -> str | None:
    waiting: set[tuple[str, JsonValue]] = set()
    for item in items:
        kind = str(item.get("type"))
        if kind in ASKS:
            waiting.add((_answered_by(kind), item[ASKS[kind]]))
        elif kind in ANSWERS:
            answer = (kind, item[ANSWERS[kind]])
            if answer not in waiting:
                return f"No tool call found for {kind} with call_id {answer[1]}."
            waiting.remove(answer)
        elif waiting and item.get("role") == "user":
            break
    return (
        f"No tool output found for function calls {sorted(map(str, waiting))}."
        if waiting
        else None
    )


def _answered_by(kind: str) -> str:
    return "mcp_approval_response" if kind == "mcp_approval_request" else f"{kind}_output"


def _sealed(item: JsonObject) -> str:
    """Return what of an item must be as it was given out; its JSON may be written otherwise."""
    free = {"status", "call_id"}
    fixed = {n: value for n, value in item.items() if n not in free and value is not None}
    if isinstance(arguments := fixed.get("arguments"), str):
        with suppress(ValueError):
            fixed["arguments"] = json.loads(arguments)
    return json.dumps(fixed, sort_keys=True)


def _key(item: JsonObject) -> tuple[str, JsonValue]:
    return str(item.get("type")), item.get("id") or item.get("call_id")


def _no_response(response_id: str) -> Page:
    return _gone(400, f"Previous response with id '{response_id}' not found.", "previous_response")


def _no_conversation(conversation_id: str) -> Page:
    return _gone(404, f"Conversation with id '{conversation_id}' not found.", None)


def _gone(status: int, message: str, what: str | None) -> Page:
    error: JsonObject = {
        "message": message,
        "type": "invalid_request_error",
        "param": what and f"{what}_id",
        "code": what and f"{what}_not_found",
    }
    return Page({"error": error}, status)


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    return (entry for entry in _listed(value) if isinstance(entry, dict))


def _named(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _listed(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
