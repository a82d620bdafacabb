"""What Anthropic Messages takes, and how it streams."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from pydantic import JsonValue, ValidationError

from holdfast.contracts.base import JsonObject
from tests.adapters.rules import anthropic_request as asked
from tests.adapters.rules import anthropic_stream
from tests.adapters.rules.strict import Event, OpenAIHeaders, Page, Understood

_MODEL = re.compile(r"/v1/models/([^/]+)")
_PAUSES = ("pause_turn", "compaction")
_UNENFORCEABLE = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"}
    | {"minLength", "maxLength", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
    | {"oneOf", "not", "if", "prefixItems", "patternProperties", "propertyNames", "contains"}
)


class AnthropicRules(OpenAIHeaders):
    """Every field is checked, each call's one result, and that thinking comes back unchanged."""

    path = "/messages"

    def __init__(self) -> None:
        self._thinking: set[tuple[str, str]] = set()
        self._blocks: list[JsonObject] = []
        self._paused: list[list[JsonValue]] = []
        self._containers: set[str] = set()

    def page(self, method: str, path: str, body: JsonObject) -> Page | None:
        """Say what is known of a model."""
        named = _MODEL.fullmatch(path)
        if method != "GET" or named is None:
            return None
        return Page(
            {
                "id": unquote(named[1]),
                "type": "model",
                "display_name": "A model",
                "created_at": "2026-10-01T00:00:00Z",
                "lifecycle": "active",
                "max_input_tokens": 200_000,
                "max_tokens": 64_000,
            }
        )

    def problem(self, path: str, headers: Mapping[str, str], body: JsonObject) -> str | None:
        """Say why the API would refuse a request."""
        if path != "/v1/messages":
            return "no such path"
        if headers.get("anthropic-version") != "2026-10-21":
            return "another version of the API"
        try:
            request = asked.Messages.model_validate(body)
        except ValidationError as error:
            return str(error)
        return next(self._problems(request, body), None)

    def issued(self, response: JsonObject) -> None:
        """Remember the ids and signatures of a response."""
        content = response.get("content")
        if not isinstance(content, list):
            return
        for block in content:
            if isinstance(block, dict):
                self._remember(block)
        if response.get("stop_reason") in _PAUSES:
            self._paused.append([_bare(block) for block in content])
        if isinstance(container := response.get("container"), dict):
            self._containers.add(str(container["id"]))

    def events(self, response: JsonObject) -> Iterable[Event]:
        """Cut a whole response into the events that stream it."""
        return anthropic_stream.events(response)

    def understand(self, body: JsonObject) -> Understood:
        """Say what a request asks for."""
        return _understand(asked.Messages.model_validate(body))

    def _remember(self, block: JsonObject) -> None:
        match block:
            case {"type": "thinking", "thinking": text, "signature": signature}:
                self._thinking.add((str(text), str(signature)))
            case {"type": "redacted_thinking", "data": data}:
                self._thinking.add(("", str(data)))
            case _:
                self._blocks.append(block)

    def _problems(self, request: asked.Messages, body: JsonObject) -> Iterator[str]:
        if _breakpoints(body) > 4:
            yield "a maximum of 4 blocks with cache_control may be provided"
        if request.container and request.container not in self._containers:
            yield f"container {request.container} not found"
        yield from _tool_problems(request)
        yield from _thinking_problems(request)
        yield from _turn_problems(request.messages)
        for place, message in enumerate(request.messages):
            if isinstance(message, asked.Assistant):
                for block in message.content:
                    yield from self._forged(f"messages.{place}", block)
        yield from self._prefilled(request, body)

    def _forged(self, place: str, block: asked.SaidBlock) -> Iterator[str]:
        match block:
            case asked.Thinking(thinking=text, signature=signature):
                if (text, signature) not in self._thinking:
                    yield f"{place}: Invalid `signature` in `thinking` block"
            case asked.RedactedThinking(data=data):
                if ("", data) not in self._thinking:
                    yield f"{place}: Invalid `data` in `redacted_thinking` block"
            case asked.ServerBlock(root=root):
                if root not in self._blocks:
                    yield f"{place}: this {block.type} was never issued"
            case _:
                pass

    def _prefilled(self, request: asked.Messages, body: JsonObject) -> Iterator[str]:
        """Let the last message be the assistant's only where it is a turn that was paused."""
        if isinstance(request.messages[-1], asked.User):
            return
        messages = body["messages"]
        assert isinstance(messages, list)
        last = messages[-1]
        assert isinstance(last, dict)
        said = last["content"]
        assert isinstance(said, list)
        bare = [_bare(block) for block in said]
        if not any(bare[-len(paused) :] == paused for paused in self._paused):
            yield "This model does not support assistant message prefill."


def _understand(request: asked.Messages) -> Understood:
    tools, choice = request.tools or [], request.tool_choice
    names = {tool.name if isinstance(tool, asked.Tool) else tool.type for tool in tools}
    match choice:
        case asked.NoChoice():
            names = set[str]()
        case asked.NamedChoice(name=name):
            names = {name}
        case _:
            pass
    bounds = [
        tool.max_uses for tool in tools if isinstance(tool, asked.WebSearch | asked.WebFetch)
    ]
    counted = [bound for bound in bounds if bound is not None]
    thinking, output = request.thinking, request.output_config
    budget = thinking.budget_tokens if isinstance(thinking, asked.Enabled) else None
    effort = output.effort if output else None
    return Understood(
        tools=frozenset(names),
        must_call=choice is not None and choice.type in ("any", "tool"),
        parallel_calls=not (choice and getattr(choice, "disable_parallel_tool_use", False)),
        hosted_calls=sum(counted) if bounds and len(counted) == len(bounds) else None,
        max_output_tokens=request.max_tokens,
        sampling={"stop_sequences": [*(request.stop_sequences or ())]},
        reasoning_tokens=budget,
        effort=effort or (str(budget) if budget else None),
    )


def _bare(block: JsonValue) -> JsonValue:
    """Return a block without what says nothing."""
    assert isinstance(block, dict)
    return {k: v for k, v in block.items() if v is not None and k != "cache_control"}


def _breakpoints(value: JsonValue) -> int:
    match value:
        case dict():
            inner = sum(map(_breakpoints, value.values()))
            return inner + ("cache_control" in value)
        case list():
            return sum(map(_breakpoints, value))
        case _:
            return 0


def _tool_problems(request: asked.Messages) -> Iterator[str]:
    tools, choice = request.tools or [], request.tool_choice
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    if choice and not tools:
        yield "tool_choice may only be specified while providing tools"
    if isinstance(choice, asked.NamedChoice) and choice.name not in names:
        yield f"Tool '{choice.name}' not found in provided tools"
    held = [tool.input_schema for tool in tools if isinstance(tool, asked.Tool) and tool.strict]
    if request.output_config and request.output_config.format:
        held.append(request.output_config.format.json_schema)
    if held and _version(request.model) < (4, 5):
        yield "This model does not support structured outputs."
    for schema in held:
        yield from _unenforceable(schema.model_dump())


def _unenforceable(schema: JsonValue) -> Iterator[str]:
    if isinstance(schema, list):
        for entry in schema:
            yield from _unenforceable(entry)
    if not isinstance(schema, dict):
        return
    if bad := sorted(_UNENFORCEABLE.intersection(schema)):
        yield f"For '{schema.get('type')}' type, properties {bad} are not supported"
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
    for keyword in ("properties", "$defs"):
        named = schema.get(keyword)
        yield from _unenforceable([*named.values()] if isinstance(named, dict) else None)
    for keyword in ("items", "anyOf", "allOf"):
        yield from _unenforceable(schema.get(keyword))


def _version(model: str) -> tuple[int, int]:
    """Read the version in a model's name: claude-haiku-4-5-20251001 is 4.5."""
    major, minor = re.findall(r"-(\d)(?:-(\d)(?!\d))?", model)[0]
    return int(major), int(minor or 0)


def _thinking_problems(request: asked.Messages) -> Iterator[str]:
    version, thinking = _version(request.model), request.thinking
    effort = request.output_config.effort if request.output_config else None
    if effort and (version < (4, 5) or (version == (4, 5) and "opus" not in request.model)):
        yield "This model does not support the effort parameter."
    unknown = {"xhigh"} if version < (4, 7) else set[str]()
    if effort in unknown | ({"max"} if version < (4, 6) else set()):
        yield f"This model does not support effort level '{effort}'."
    if isinstance(thinking, asked.Adaptive) and version < (4, 6):
        yield "adaptive thinking is not supported on this model"
    if isinstance(thinking, asked.Disabled) and re.search("fable|mythos", request.model):
        yield '"thinking.type.disabled" is not supported for this model.'
    if isinstance(thinking, asked.Enabled):
        yield from _budget_problems(request, thinking, version)


def _budget_problems(
    request: asked.Messages, thinking: asked.Enabled, version: tuple[int, int]
) -> Iterator[str]:
    if version > (4, 6):
        yield '"thinking.type.enabled" is not supported for this model.'
    if thinking.budget_tokens >= request.max_tokens:
        yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    if request.tool_choice and request.tool_choice.type in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."
    last = request.messages[-1].content[0]
    if isinstance(last, asked.ToolResult):
        begun = request.messages[-2].content[0]
        if not isinstance(begun, asked.Thinking | asked.RedactedThinking):
            yield f"Expected `thinking` or `redacted_thinking`, but found `{begun.type}`."


def _turn_problems(messages: Sequence[asked.User | asked.Assistant]) -> Iterator[str]:
    said = asked.Assistant.model_construct(role="assistant", content=[])
    seen: set[str] = set()
    for place, message in enumerate(messages):
        if isinstance(message, asked.User) is (place % 2 == 1):
            yield f"messages.{place}: roles must alternate, beginning with user"
        if isinstance(message, asked.User):
            yield from _answer_problems(f"messages.{place}", said, message)
            continue
        said = message
        if isinstance(said.content[-1], asked.Thinking | asked.RedactedThinking):
            yield f"messages.{place}: The final block cannot be `thinking`."
        ids = [block.id for block in said.content if isinstance(block, asked.ToolUse)]
        if len(set(ids)) < len(ids) or seen.intersection(ids):
            yield f"messages.{place}: `tool_use` ids must be unique"
        seen.update(ids)


def _answer_problems(place: str, said: asked.Assistant, message: asked.User) -> Iterator[str]:
    """Each call wants its one result, and nothing may come between code and its results."""
    uses = [block for block in said.content if isinstance(block, asked.ToolUse)]
    results = [block for block in message.content if isinstance(block, asked.ToolResult)]
    if sorted(use.id for use in uses) != sorted(result.tool_use_id for result in results):
        yield f"{place}: `tool_use` ids were found without `tool_result` blocks, or the reverse"
    if message.content[: len(results)] != results:
        yield f"{place}: `tool_result` blocks come first"
    words = len(message.content) > len(results)
    if words and any(use.is_programmatic for use in uses):
        yield f"{place}: only `tool_result` blocks may answer programmatic tool calls"
    if words and _open_server_calls(said):
        yield f"{place}: a server tool use was found without its result"
    families = {use.id: use.toolset_name for use in uses}
    if any(families.get(result.tool_use_id) != result.toolset_name for result in results):
        yield f"{place}: toolset_name differs from that of the call"


def _open_server_calls(said: asked.Assistant) -> set[str]:
    blocks = [block.root for block in said.content if isinstance(block, asked.ServerBlock)]
    answered = {str(block.get("tool_use_id")) for block in blocks}
    return {str(block["id"]) for block in blocks if "id" in block} - answered
