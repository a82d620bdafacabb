"""From contracts to a request of Anthropic Messages."""

from collections.abc import Iterable
from typing import NamedTuple

from pydantic import JsonValue

from holdfast.adapters import wire
from holdfast.adapters.anthropic.capabilities import HOSTED_TOOLS, Family, family
from holdfast.adapters.anthropic.messages import MessageBuilder, with_cache_control
from holdfast.adapters.anthropic.reasoning import Reasoning, reasoning
from holdfast.adapters.anthropic.schemas import SchemaBudget
from holdfast.adapters.base import (
    RenderedRequest,
    Sampling,
    resolve_tool_choice,
    select_sampling,
)
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix
from holdfast.contracts.tools import HostedTool

MAX_TOKENS = 32_000
"""Of one reply, thinking included: the most that every model since Claude 4 gives."""

_BOUNDED = frozenset({"web_search", "web_fetch"})
"""Tools of Anthropic's own that take `max_uses`."""

_SAMPLING = {"stop_sequences": "stop_sequences"}

_STATELESS_NOTE = "anthropic keeps no conversation: every turn sends all of it"


class _StablePrefix(NamedTuple):
    """What is the same in all requests of a run to a model, but for the calls that are left."""

    body: JsonObject
    reasoning: Reasoning
    notes: tuple[str, ...]


def render(request: ModelRequest) -> RenderedRequest:
    """
    Render the whole context of a call.

    What is the same in every turn comes first, so that its bytes are too.
    """
    stable = _build_stable_prefix(request)
    dialog = MessageBuilder(request.model, request.transcript)
    choice = _tool_choice(request) if "tools" in stable.body else None
    thinking, notes = _thinking(stable.reasoning, choice, dialog)
    container = request.provider_state.get("container_id")
    turn: JsonObject = {
        "messages": dialog.messages,
        "thinking": thinking,
        "tool_choice": choice,
        "container": container,
    }
    body = stable.body | {name: value for name, value in turn.items() if value is not None}
    kept = () if request.strategy == "stateless" else (_STATELESS_NOTE,)
    return RenderedRequest(body, (*stable.notes, *notes, *dialog.notes, *kept))


def sampling(model: str, settings: ModelSettings) -> Sampling:
    """Say what becomes of how words are to be drawn: the API has nothing left but where to end."""

    def refuse(name: str) -> str | None:
        return None if name in _SAMPLING else f"the API of {model} takes no {name}"

    return select_sampling(settings, _SAMPLING, refuse)


def _build_stable_prefix(request: ModelRequest) -> _StablePrefix:
    model, prefix = request.model, request.prefix
    known = family(model)
    max_tokens = prefix.settings.max_output_tokens or MAX_TOKENS
    asked = reasoning(model, known, prefix.settings, max_tokens)
    drawn = sampling(model, prefix.settings)
    grammar = SchemaBudget()
    shape, system, shape_notes = _shape(model, known, prefix, grammar)
    # The grammar has taken it all the same, so the tools are held to as much.
    if request.without_tools:
        shape, system, shape_notes = {}, _instructions(prefix), ()
    tools = [*_tools(prefix, known, grammar)]
    hosted, hosted_notes = _declare_hosted_tools(prefix.hosted, known, request.calls_left)
    tools += hosted
    # A cache is kept of the tools and what follows them: one place marks them all.
    if tools and not system:
        tools[-1] = with_cache_control(tools[-1])
    fields: JsonObject = {
        "model": model,
        "max_tokens": max_tokens,
        "stream": True,
        "tools": [*tools],
        "system": [with_cache_control({"type": "text", "text": system})] if system else None,
        "output_config": ({"effort": asked.effort} if asked.effort else {}) | shape,
        **drawn.fields,
    }
    body: JsonObject = {name: value for name, value in fields.items() if value}
    return _StablePrefix(body, asked, (*asked.notes, *drawn.notes, *shape_notes, *hosted_notes))


def _shape(
    model: str, known: Family, prefix: Prefix, grammar: SchemaBudget
) -> tuple[JsonObject, str, tuple[str, ...]]:
    """Return how the answer's shape is asked for, and the instructions that go with it."""
    said, schema = _instructions(prefix), prefix.output_schema
    if schema is None:
        return {}, said, ()
    if known.schemas and grammar.takes(schema):
        return {"format": {"type": "json_schema", "schema": schema}}, said, ()
    told = f"Your answer is nothing but JSON that fits this JSON Schema: {wire.json_text(schema)}"
    note = f"{model} can't be held to the answer's schema: it is told in words"
    return {}, f"{said}\n\n{told}".lstrip(), (note,)


def _instructions(prefix: Prefix) -> str:
    return prefix.instructions if prefix.instructions.strip() else ""


def _tools(prefix: Prefix, known: Family, grammar: SchemaBudget) -> Iterable[JsonObject]:
    for tool in prefix.tools:
        declared: JsonObject = {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
        }
        strict = known.schemas and grammar.takes_tool(tool.input_schema)
        yield declared | {"strict": True} if strict else declared


def _declare_hosted_tools(
    wanted: Iterable[HostedTool], known: Family, calls_left: int | None
) -> tuple[list[JsonObject], tuple[str, ...]]:
    """Declare the tools that run at Anthropic; the options may name another version of a tool."""
    declared: list[JsonObject] = []
    notes: list[str] = []
    for tool in wanted:
        kind: JsonValue = tool.options.get("type", known.hosted.get(tool.name))
        if kind is None:
            notes.append(f"anthropic has no tool {tool.name!r} of its own: it is left out")
        else:
            declared.append({"type": kind, "name": tool.name} | tool.options)
    if calls_left:
        _limit_uses([tool for tool in declared if tool["name"] in _BOUNDED], calls_left)
        notes += [
            f"anthropic bounds no {tool['name']}: it may run more often than calls are left"
            for tool in declared
            if tool["name"] not in _BOUNDED
        ]
    return declared, tuple(notes)


def _limit_uses(declared: list[JsonObject], calls_left: int) -> None:
    """Give each tool an equal share of the calls that are left, and at least one."""
    for tool in declared:
        share = max(calls_left // len(declared), 1)
        asked = tool.get("max_uses")
        tool["max_uses"] = min(asked, share) if isinstance(asked, int) else share


def _tool_choice(request: ModelRequest) -> JsonObject | None:
    """Render which tools the model may or must use; it is free after its first turn."""
    choice = _choice(resolve_tool_choice(request, HOSTED_TOOLS))
    if not request.prefix.settings.parallel_calls and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return None if choice == {"type": "auto"} else choice


def _choice(wanted: str) -> JsonObject:
    match wanted:
        case "required":
            return {"type": "any"}
        case "auto" | "none":
            return {"type": wanted}
        case _:
            return {"type": "tool", "name": wanted}


def _thinking(
    asked: Reasoning, choice: JsonObject | None, dialog: MessageBuilder
) -> tuple[JsonObject | None, tuple[str, ...]]:
    """Return the field about thinking; with a budget it isn't allowed everywhere."""
    if not asked.by_budget:
        return asked.thinking, ()
    if choice is not None and choice["type"] in ("any", "tool"):
        return None, ("no thinking in the first turn: it must call a tool",)
    if dialog.began_without_thinking:
        return None, ("no thinking amid calls that began without it",)
    return asked.thinking, ()
