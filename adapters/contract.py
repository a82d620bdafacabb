"""What every adapter promises of what it reads and renders: for its tests and for ours. Pure."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from holdfast.adapters.base import ModelAdapter, ProviderAdapter
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import MalformedCall, ToolCall, ToolFailure, ToolSuccess
from holdfast.contracts.errors import ModelError, ModelUnavailable
from holdfast.contracts.model import ModelRequest, Prefix, ToolSchema
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.transcript import AssistantTurn, Part, ToolTurn, UserTurn

_PROVIDER = Pattern(r"[a-z][a-z0-9_\-]*")
_VARIABLE = Pattern(r"[A-Z_][A-Z0-9_]*")

_SECOND = ToolCall(call_id="call_2", name="find_order", arguments={})
_CALLS = (
    ToolCall(call_id="call_1", name="find_order", arguments={"order_id": 2**53 + 1, "max": 0.1}),
    _SECOND,
)

_PREFIX = Prefix(
    instructions="Be brief.",
    tools=(
        ToolSchema(
            name="find_order",
            description="Look an order up.",
            input_schema={
                "type": "object",
                "properties": {"order_id": {"type": "integer"}},
                "required": ["order_id"],
                "additionalProperties": False,
            },
        ),
    ),
)
_STRANGER = "kept-by-another-provider"
_GOAL = UserTurn(text="Where are my orders?")
_ANSWERED = ToolTurn(
    results=(
        ToolSuccess(call_id="call_1", name="find_order", summary="sent to Ulm"),
        ToolFailure(
            status="denied",
            call_id="call_2",
            name="find_order",
            type="permission_denied",
            reason="not yours",
        ),
    )
)
_TRANSCRIPT = (
    _GOAL,
    AssistantTurn(
        model="other:model",
        text="Let me see.",
        calls=_CALLS,
    ),
    _ANSWERED,
)
_STRANGERS_TURN = AssistantTurn(
    model="other:model",
    text="In Ulm.",
    parts=(
        Part(kind="reasoning", native={"signature": _STRANGER}),
        Part(kind="text", text="In Ulm."),
    ),
)
_RUN_ID = "run-of-the-contract"


@dataclass(frozen=True)
class AdapterSamples:
    """
    A few replies of a *model*, as its provider sends them whole.

    `words` say "In Köln.". `two_calls` say "Let me see." and ask for `find_order` twice: as
    `call_1` with `{"order_id": 9007199254740993, "max": 0.1}`, as `call_2` with `{}`. In
    `malformed` the one call, `call_1` of `find_order`, has the list `[4]` for arguments.
    `cut_short` hit its limit inside of its one call. `uncounted` doesn't say what it used.
    `words_events` and `calls_events` are what `words` and `two_calls` are when they are streamed.
    """

    model: str
    words: JsonObject
    two_calls: JsonObject
    malformed: JsonObject
    cut_short: JsonObject
    uncounted: JsonObject
    words_events: Sequence[JsonObject]
    calls_events: Sequence[JsonObject]


def find_missing_methods(adapter: object) -> list[str]:
    """Return what an adapter lacks of the seam: properties, and methods with their parameters."""
    promised = {**vars(ModelAdapter), **vars(ProviderAdapter)}
    found: list[str] = []
    for name, member in promised.items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            found += [name] if getattr(adapter, name, None) is None else []
        elif inspect.isfunction(member):
            own = getattr(adapter, name, None)
            expected = list(inspect.signature(member).parameters)[1:]
            if not callable(own) or list(inspect.signature(own).parameters) != expected:
                found.append(name)
    return found


def check_adapter(adapter: ProviderAdapter, samples: AdapterSamples) -> tuple[str, ...]:
    """
    Return which promises an adapter breaks, a line for each; none if it keeps them all.

    Nobody is asked: what is looked at is what it makes of requests and replies. That it asks once,
    follows no redirect and hangs up when it is cancelled takes a server of its provider's.
    """
    if missing := find_missing_methods(adapter):
        return (f"interface: it lacks {', '.join(missing)}",)
    return tuple(
        f"{promise}: {flaw}"
        for promise, find in _PROMISES.items()
        for flaw in _look(find, adapter, samples)
    )


_Look = Callable[[ProviderAdapter, AdapterSamples], Iterator[str]]


def _look(find: _Look, adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    """Find what breaks a promise; an error where none was expected breaks it too."""
    try:
        yield from find(adapter, samples)
    except ModelError as error:
        yield f"it raises {type(error).__name__}: {error}"


def _check_names(adapter: ProviderAdapter, _: AdapterSamples) -> Iterator[str]:
    if not _PROVIDER.fits(adapter.provider):
        yield f"provider {adapter.provider!r} is no word of small letters, digits, - and _"
    for name in adapter.credentials:
        if not _VARIABLE.fits(name):
            yield "what is among its credentials is no name of a variable, or is a key itself"


def _check_words(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    reply = adapter.parse_response(samples.words)
    if (reply.text, reply.calls, reply.stop) != ("In Köln.", (), "end_turn"):
        yield f"it reads {reply.text!r}, {len(reply.calls)} calls, stop {reply.stop!r}"
    if not reply.model.startswith(f"{adapter.provider}:"):
        yield f"the reply is of {reply.model!r}, not of {adapter.provider}:"


def _check_calls(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    reply = adapter.parse_response(samples.two_calls)
    if reply.calls != _CALLS:
        yield f"it reads {list(reply.calls)}"
    if reply.text != "Let me see.":
        yield f"the words beside the calls are {reply.text!r}"
    if reply.stop != "tool_use":
        yield f"it stops for {reply.stop!r}"


def _check_arguments(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    (call, *more) = adapter.parse_response(samples.malformed).calls or (None,)
    if more or not isinstance(call, MalformedCall) or call.name != "find_order":
        yield f"it reads {call!r}, where a call has no object of arguments"


def _check_cut_calls(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    reply = adapter.parse_response(samples.cut_short)
    if reply.calls or reply.stop != "max_tokens":
        yield f"it reads {len(reply.calls)} calls of a reply that was cut, stop {reply.stop!r}"


def _check_usage(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    used = adapter.extract_usage(samples.words)
    if not used.tokens_known or not (used.input_tokens and used.output_tokens):
        yield "it doesn't read what a reply used"
    unknown = adapter.extract_usage(samples.uncounted)
    if unknown.tokens_known:
        yield "what nobody counted passes as known"
    if unknown.estimated_cost is not None:
        yield "what nobody counted has a price"


def _check_streams(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    for whole, events in (
        (samples.words, samples.words_events),
        (samples.two_calls, samples.calls_events),
    ):
        streamed = adapter.parse_response(adapter.assemble(events))
        at_once = adapter.parse_response(whole)
        if (streamed.text, streamed.calls, streamed.stop) != (
            at_once.text,
            at_once.calls,
            at_once.stop,
        ):
            yield f"streamed it is {streamed.text!r}, {list(streamed.calls)}, {streamed.stop!r}"
        if streamed.usage.tokens_known and streamed.usage != at_once.usage:
            yield "streamed it has used something else"


def _check_broken_streams(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    half = samples.calls_events[: len(samples.calls_events) // 2]
    try:
        adapter.assemble(half)
    except ModelUnavailable:
        return
    yield "half of a stream passes as a reply"


def _check_strange_replies(adapter: ProviderAdapter, _: AdapterSamples) -> Iterator[str]:
    try:
        adapter.parse_response({"surprise": True})
    except ModelError:
        return
    yield "parse_response takes what is no response"


def _check_requests(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    asked = _ask(samples)
    rendered = _render(adapter, asked)
    if rendered != _render(adapter, asked):
        yield "two requests for the same differ"
    if rendered != _render(adapter, replace(asked, run_id="another", attempt=2)):
        yield "what is sent depends on the run or the attempt"
    for wanted in ("Be brief.", "find_order", "Look an order up.", "Where are my orders?"):
        if wanted not in rendered:
            yield f"{wanted!r} isn't sent"
    for wanted in ("Let me see.", "sent to Ulm", "not yours", str(2**53 + 1)):
        if wanted not in rendered:
            yield f"{wanted!r} isn't sent, which was said before"
    if _RUN_ID in rendered:
        yield "the id of the run is sent"


def _check_strangers(adapter: ProviderAdapter, samples: AdapterSamples) -> Iterator[str]:
    transcript = (_GOAL, _STRANGERS_TURN, UserTurn(text="Since when?"))
    rendered = _render(adapter, replace(_ask(samples), transcript=transcript))
    if _STRANGER in rendered:
        yield "it sends what another provider kept"
    if "In Ulm." not in rendered:
        yield "it leaves out what another provider's model said"


def _check_results(adapter: ProviderAdapter, _: AdapterSamples) -> Iterator[str]:
    for result in _ANSWERED.results:
        rendered = json.dumps(adapter.build_tool_result(result), ensure_ascii=False)
        said = result.summary if isinstance(result, ToolSuccess) else result.reason
        if result.call_id not in rendered or said not in rendered:
            yield f"the answer to {result.call_id} is {rendered}"


def _check_state(adapter: ProviderAdapter, _: AdapterSamples) -> Iterator[str]:
    before: JsonObject = {"one": 1}
    fresh: JsonObject = {"two": 2}
    adapter.merge_state(before, fresh)
    if (before, fresh) != ({"one": 1}, {"two": 2}):
        yield "merge_state changes what it is given"


def _ask(samples: AdapterSamples) -> ModelRequest:
    return ModelRequest(
        run_id=_RUN_ID,
        turn=2,
        attempt=1,
        model=samples.model,
        prefix=_PREFIX,
        transcript=_TRANSCRIPT,
        provider_state={},
    )


def _render(adapter: ProviderAdapter, request: ModelRequest) -> str:
    return json.dumps(adapter.build_request(request), ensure_ascii=False)


_PROMISES: Mapping[str, _Look] = MappingProxyType(
    {
        "names": _check_names,
        "words": _check_words,
        "calls": _check_calls,
        "malformed calls": _check_arguments,
        "cut calls": _check_cut_calls,
        "usage": _check_usage,
        "streams": _check_streams,
        "broken streams": _check_broken_streams,
        "strange replies": _check_strange_replies,
        "requests": _check_requests,
        "other providers": _check_strangers,
        "results": _check_results,
        "state": _check_state,
    }
)
