"""From contracts to a request of Chat Completions, as far as the server can take it."""

from pydantic import JsonValue

from holdfast.adapters import strict_schema, wire
from holdfast.adapters.base import (
    RenderedRequest,
    Sampling,
    resolve_tool_choice,
    select_sampling,
)
from holdfast.adapters.openai import families
from holdfast.adapters.openai_chat import messages
from holdfast.adapters.openai_chat.servers import OPENAI_CHAT, Feature, Target
from holdfast.contracts.base import JsonObject
from holdfast.contracts.errors import ModelRejected
from holdfast.contracts.model import (
    SAMPLING_SETTINGS,
    Effort,
    ModelRequest,
    ModelSettings,
    Prefix,
    ToolSchema,
)

_SHAPE_IN_WORDS = "Answer with nothing but JSON that fits this JSON Schema:"

_SAMPLING = {name: name for name in SAMPLING_SETTINGS} | {"stop_sequences": "stop"}
_TAKEN_BY_ALL = {"seed"}
"""Of OpenAI's models, those that reason among them."""


class _RequestBuilder:
    """A request that grows: what its server lacks is left out, with a note."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.body: JsonObject = {"model": target.model, "stream": True}
        self.notes: list[str] = []

    def lacks(self, feature: Feature, otherwise: str) -> bool:
        """Whether the server lacks a feature that is wanted; says what happens *otherwise*."""
        if self.target.has(feature):
            return False
        self.note(otherwise)
        return True

    def note(self, text: str) -> None:
        self.notes.append(f"{self.target.label} {text}")


def sampling(target: Target, settings: ModelSettings) -> Sampling:
    """Say what becomes of how words are to be drawn."""

    def refuse(name: str) -> str | None:
        if name not in target.server.supports:
            where = f"chat server {target.name!r} has no {name!r} in its supports"
            return where if target.name else f"OpenAI's Chat Completions take no {name}"
        if not target.is_openai or name in _TAKEN_BY_ALL:
            return None
        return families.find_sampling_flaw(target.model, name, settings.reasoning)

    return select_sampling(settings, _SAMPLING, refuse)


def render(request: ModelRequest, target: Target) -> RenderedRequest:
    """Render the whole context of a call; what stays the same in a run comes first."""
    draft = _RequestBuilder(target)
    prefix = request.prefix
    if target.has("stream_usage"):
        draft.body["stream_options"] = {"include_usage": True}
    if target.has("prompt_cache_key"):
        draft.body["prompt_cache_key"] = prefix.digest
    _add_token_limit(draft, prefix.settings)
    drawn = sampling(target, prefix.settings)
    draft.body.update(drawn.fields)
    draft.notes += drawn.notes
    tools = _select_tools(draft, request)
    _add_reasoning(draft, prefix.settings, with_tools=bool(tools))
    _add_tools(draft, prefix, tools)
    said = [prefix.instructions]
    if prefix.output_schema is not None and not request.without_tools:
        said.append(_shape(draft, prefix.output_schema))
    if request.strategy != "stateless":
        draft.note("keeps no conversation: every turn sends all of it")
    if messages.has_reasoning(request):
        draft.lacks("reasoning_history", "takes no reasoning of earlier turns: it isn't sent back")
    instructions = "\n\n".join(text for text in said if text.strip())
    draft.body["messages"] = messages.render(request, target, instructions)
    if tools:
        _add_tool_choice(draft, request)
    return RenderedRequest(draft.body, tuple(draft.notes))


def _add_token_limit(draft: _RequestBuilder, settings: ModelSettings) -> None:
    if settings.max_output_tokens is not None:
        newer = draft.target.has("max_completion_tokens")
        draft.body["max_completion_tokens" if newer else "max_tokens"] = settings.max_output_tokens


def _add_reasoning(draft: _RequestBuilder, settings: ModelSettings, *, with_tools: bool) -> None:
    if settings.reasoning_tokens is not None:
        draft.note("doesn't count thinking tokens: their limit is off")
    effort = settings.reasoning
    target = draft.target
    if target.is_openai and families.never_reasons(target.model):
        if effort is not None:
            draft.note(f"knows no reasoning of {target.model}: the reasoning effort is off")
        return
    least = families.least_effort(target.model) if target.is_openai else "none"
    if effort == "none" != least:
        draft.note(f"can't keep {target.model} from reasoning: it is asked for little")
        effort = least
    if with_tools and target.reasons_only_without_tools:
        effort = _none_beside_tools(draft, effort)
    if effort is not None and not draft.lacks(
        "reasoning_effort", "can't be told how hard to think: the reasoning effort is off"
    ):
        draft.body["reasoning_effort"] = effort


def _none_beside_tools(draft: _RequestBuilder, effort: Effort | None) -> Effort:
    """Switch reasoning off for a model that refuses it beside tools, or say who can do both."""
    model = draft.target.model
    if effort is None:
        draft.note(f"lets {model} use tools only unthinking: openai:{model} thinks beside tools")
    elif effort != "none":
        raise ModelRejected(
            f"{OPENAI_CHAT}:{model} can't use tools with reasoning effort {effort!r} in Chat "
            f"Completions: use openai:{model}, or set reasoning to 'none'"
        )
    return "none"


def _select_tools(draft: _RequestBuilder, request: ModelRequest) -> tuple[ToolSchema, ...]:
    """Return the tools to declare: all of them, unless the model must be kept from calling one."""
    tools = request.prefix.tools
    apart = request.without_tools and bool(tools)
    if apart and draft.lacks("tool_choice", "can't be kept from calling tools: they are left out"):
        return ()
    return tools


def _add_tools(draft: _RequestBuilder, prefix: Prefix, tools: tuple[ToolSchema, ...]) -> None:
    for tool in prefix.hosted:
        draft.note(f"runs no tools of its own here: {tool.name} is off")
    if not tools:
        return
    strict = not draft.lacks(
        "strict", "has no strict schemas: arguments are checked by Holdfast alone"
    )
    if not prefix.settings.parallel_calls and not draft.lacks(
        "parallel_tool_calls",
        "can't be kept from calling several tools at once: parallel calls stay on",
    ):
        draft.body["parallel_tool_calls"] = False
    draft.body["tools"] = [_tool(tool, strict=strict) for tool in tools]


def _tool(tool: ToolSchema, *, strict: bool) -> JsonObject:
    function: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    if strict and strict_schema.conforms(tool.input_schema):
        function["strict"] = True
    return {"type": "function", "function": function}


def _shape(draft: _RequestBuilder, schema: JsonObject) -> str:
    """Ask for an answer in a shape; returns what has to be said in words for it."""
    in_words = f"{_SHAPE_IN_WORDS}\n{wire.json_text(schema)}"
    if draft.lacks(
        "json_schema", "can't be held to the shape of an answer: the instructions ask for it"
    ):
        return in_words
    if schema.get("type") != "object":
        draft.note("holds objects alone to their shape: for this answer the instructions ask")
        return in_words
    answer: JsonObject = {"name": "answer", "schema": schema}
    if draft.target.has("strict") and strict_schema.conforms(schema):
        answer["strict"] = True
    draft.body["response_format"] = {"type": "json_schema", "json_schema": answer}
    return ""


def _add_tool_choice(draft: _RequestBuilder, request: ModelRequest) -> None:
    choice = resolve_tool_choice(request)
    if choice == "auto" or draft.lacks(
        "tool_choice", "can't be told which tool to use: the choice is the model's"
    ):
        return
    named: JsonValue = {"type": "function", "function": {"name": choice}}
    draft.body["tool_choice"] = choice if choice in ("required", "none") else named
