"""From contracts to a request of OpenAI Responses: all but the context itself."""

from functools import lru_cache

from holdfast.adapters import strict_schema
from holdfast.adapters.base import RenderedRequest, Sampling, select_sampling
from holdfast.adapters.openai import families, input_items, tools
from holdfast.adapters.openai.conversation_state import Scope
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import ModelRequest, ModelSettings, Prefix

_SAMPLING = {"temperature": "temperature", "top_p": "top_p"}


def sampling(model: str, settings: ModelSettings) -> Sampling:
    """Say what becomes of how words are to be drawn."""

    def refuse(name: str) -> str | None:
        if name not in _SAMPLING:
            return f"OpenAI's Responses take no {name}"
        return families.find_sampling_flaw(model, name, settings.reasoning)

    return select_sampling(settings, _SAMPLING, refuse)


def render(request: ModelRequest, scope: Scope) -> RenderedRequest:
    """
    Render a call; what changes from turn to turn comes last.

    Instructions and tools are part of every request: the provider carries them over from none.
    """
    stored = request.strategy != "stateless"
    body = dict(_prefix(request.prefix.model_dump_json(), request.model, stored=stored))
    wanted = tools.choice(request)
    if wanted is not None and "tools" in body:
        body["tool_choice"] = wanted
    if request.without_tools:
        body.pop("text", None)
    if request.calls_left and tools.has_hosted_tools(request.prefix):
        body["max_tool_calls"] = request.calls_left
    body.update(scope.reference)
    body["input"] = [*input_items.render(request, scope.begin)]
    return RenderedRequest(body, (*_notes(request), *filter(None, (scope.note,))))


def _notes(request: ModelRequest) -> tuple[str, ...]:
    """Say what of the agent's wishes this provider or model can't fulfil."""
    settings, model = request.prefix.settings, request.model
    found = [*tools.notes(request.prefix), *sampling(model, settings).notes]
    if settings.reasoning is not None and families.never_reasons(model):
        found.append(f"{model} doesn't reason: the setting `reasoning` is left out")
    elif settings.reasoning == "none" != families.least_effort(model):
        found.append(f"{model} always reasons: it is asked for little")
    if settings.reasoning_tokens is not None:
        found.append("openai bounds no reasoning by tokens: `reasoning_tokens` is left out")
    shape = None if request.without_tools else request.prefix.output_schema
    if shape is not None and not _is_object(shape):
        found.append("openai enforces the shape of objects only: this answer's is just checked")
    return tuple(found)


@lru_cache(maxsize=64)
def _prefix(written: str, model: str, *, stored: bool) -> JsonObject:
    """
    Render what is the same, byte by byte, in every run of an agent with this model.

    Once for all their turns: *written* is the prefix as JSON, by which it is found again.
    """
    prefix = Prefix.model_validate_json(written)
    settings = prefix.settings
    body: JsonObject = {
        "model": model,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "store": stored,
        "prompt_cache_key": prefix.digest,  # 64 characters, and it may have no more
    }
    if families.encrypts_reasoning(model):
        body["include"] = ["reasoning.encrypted_content"]
    if prefix.instructions.strip():
        body["instructions"] = prefix.instructions
    if declared := tools.declare(prefix):
        body["tools"] = declared
        if not settings.parallel_calls:
            body["parallel_tool_calls"] = False
    if settings.reasoning is not None and not families.never_reasons(model):
        silent = settings.reasoning == "none"
        effort = families.least_effort(model) if silent else settings.reasoning
        body["reasoning"] = {"effort": effort, "summary": "auto"}
    if settings.max_output_tokens is not None:
        body["max_output_tokens"] = settings.max_output_tokens
    body.update(sampling(model, settings).fields)
    if prefix.output_schema is not None and _is_object(prefix.output_schema):
        body["text"] = {"format": _shape(prefix.output_schema)}
    return body


def _is_object(schema: JsonObject) -> bool:
    return schema.get("type") == "object"


def _shape(schema: JsonObject) -> JsonObject:
    return {
        "type": "json_schema",
        "name": "answer",
        "schema": schema,
        "strict": strict_schema.conforms(schema),
    }
