"""Each thing that runs ask of models, tried with a request or two, as a run makes them."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from pydantic import JsonValue

from holdfast.activities import structured_output
from holdfast.contracts.calls import ToolCall
from holdfast.contracts.errors import ModelError
from holdfast.contracts.model import ModelReply
from holdfast.contracts.tools import HostedTool
from holdfast.contracts.transcript import UserTurn
from holdfast.probes.endpoint import (
    CLAIM,
    CLAIM_GOAL,
    LOOK_UP,
    SHAPE_GOAL,
    TOLD,
    TWO_GOAL,
    WORDS,
    Endpoint,
    answer_calls,
    build_prefix,
    has_field,
)
from holdfast.tools.schema import SchemaCheck

Verdict: TypeAlias = Literal["ok", "lacking", "wrong", "refused", "unknown"]
"""
What a probe has found.

What is "lacking" runs do without; what is "wrong" they would take for something else. "refused"
is an error in place of a reply.
"""

Found: TypeAlias = tuple[str, Verdict, str]
Look: TypeAlias = Callable[[Endpoint], AsyncIterator[Found]]


async def _probe_words(endpoint: Endpoint) -> AsyncIterator[Found]:
    pieces: list[str] = []
    asked = endpoint.build_request("Name the days of the week, and nothing else.")
    reply = await endpoint.ask(replace(asked, on_text=pieces.append))
    if not reply.text.strip() or reply.stop != "end_turn":
        yield "words", "wrong", f"it says {len(reply.text)} characters, and stops ({reply.stop})"
    else:
        yield "words", "ok", f"an answer of {len(reply.text)} characters"
    if len(pieces) <= 1:
        yield "stream", "lacking", "the words come in one piece"
    elif "".join(pieces) != reply.words:
        yield "stream", "wrong", "what comes in pieces isn't what the whole reply says"
    else:
        yield "stream", "ok", f"{len(pieces)} pieces, the first after {reply.first_token_ms} ms"
    if not reply.usage.tokens_known:
        yield "usage", "lacking", "it doesn't say what a call used: no budget of tokens holds"
    elif reply.usage.estimated_cost is None:
        yield "usage", "ok", "tokens are told; nobody knows the price"
    else:
        yield "usage", "ok", "tokens are told, and their price is known"


async def _probe_arguments(endpoint: Endpoint) -> AsyncIterator[Found]:
    prefix = build_prefix(tools=(CLAIM,), tool_choice="required")
    asked = endpoint.build_request(CLAIM_GOAL, prefix=prefix)
    reply = await endpoint.ask(asked)
    is_strict = has_field(endpoint.adapter.build_request(asked), "strict", wanted=True)
    flaw = _find_claim_flaw(reply)
    yield "schema", "wrong" if flaw else "ok", flaw or "arguments fit, to the last digit"
    if not is_strict:
        yield "strict mode", "lacking", "it isn't asked for: arguments are checked by us alone"
    elif flaw:
        yield "strict mode", "wrong", "it is taken, and not kept"
    else:
        yield "strict mode", "ok", "it is taken, and kept"


def _find_claim_flaw(reply: ModelReply) -> str:
    match reply.calls:
        case (ToolCall(name=CLAIM.name, arguments=arguments),):
            return _find_flaw(arguments)
        case (call,):
            return f"the call of {call.name!r} can't be read, or is of another tool"
        case calls:
            return f"{len(calls)} calls where one had to be made"


def _find_flaw(value: JsonValue) -> str:
    if objections := SchemaCheck(CLAIM.input_schema).objections(value):
        return "; ".join(objections)
    given = value if isinstance(value, dict) else {}
    return ", ".join(
        f"{name} isn't what it was told" for name, told in TOLD.items() if given[name] != told
    )


async def _probe_parallel_calls(endpoint: Endpoint) -> AsyncIterator[Found]:
    prefix = build_prefix(tools=(LOOK_UP,))
    reply = await endpoint.ask(endpoint.build_request(TWO_GOAL, prefix=prefix))
    ids = {call.call_id for call in reply.calls}
    if len(ids) < len(reply.calls) or not ids:
        yield "parallel calls", "wrong", f"{len(reply.calls)} calls with {len(ids)} ids"
        return
    several = len(ids) > 1
    told = f"{len(ids)} calls at once" if several else "one call where two were asked for"
    yield "parallel calls", "ok" if several else "lacking", told
    followed = endpoint.build_request(TWO_GOAL, *answer_calls(reply), prefix=prefix)
    answer = await endpoint.ask(followed)
    missing = [
        word
        for call, word in zip(reply.calls, WORDS, strict=False)
        if isinstance(call, ToolCall) and word not in answer.words
    ]
    if missing and not answer.calls:
        yield "results", "wrong", f"its answer knows nothing of {', '.join(missing)}"
    else:
        yield "results", "ok", "results are taken, and used"


async def _probe_single_calls(endpoint: Endpoint) -> AsyncIterator[Found]:
    prefix = build_prefix(tools=(LOOK_UP,), parallel_calls=False)
    reply = await endpoint.ask(endpoint.build_request(TWO_GOAL, prefix=prefix))
    if len(reply.calls) <= 1:
        yield "one call at a time", "ok", f"{len(reply.calls)} call"
    elif endpoint.notes:
        yield "one call at a time", "lacking", "it can't be kept from calling several at once"
    else:
        yield "one call at a time", "wrong", f"{len(reply.calls)} calls where one was allowed"


async def _probe_shape(endpoint: Endpoint) -> AsyncIterator[Found]:
    schema = CLAIM.input_schema
    asked = endpoint.build_request(SHAPE_GOAL, prefix=build_prefix(output_schema=schema))
    reply = structured_output.validate(await endpoint.ask(asked), schema, {})
    if reply.stop != "end_turn" or reply.calls:
        yield "answer's shape", "wrong", f"no answer: it stops ({reply.stop})"
    elif reply.objections:
        yield "answer's shape", "wrong", "; ".join(reply.objections)
    elif flaw := _find_flaw(reply.output):
        yield "answer's shape", "wrong", flaw
    else:
        yield "answer's shape", "lacking" if endpoint.notes else "ok", "the answer fits"


async def _probe_reasoning(endpoint: Endpoint) -> AsyncIterator[Found]:
    prefix = build_prefix(tools=(LOOK_UP,), reasoning="low")
    reply = await endpoint.ask(endpoint.build_request(TWO_GOAL, prefix=prefix))
    items = sum(part.kind == "reasoning" for part in reply.parts)
    if not items:
        tokens = reply.usage.reasoning_tokens
        hidden = f"{tokens} tokens of it, and no item" if tokens else "none came"
        yield "reasoning items", "lacking", hidden
        return
    await endpoint.ask(endpoint.build_request(TWO_GOAL, *answer_calls(reply), prefix=prefix))
    yield "reasoning items", "ok", f"{items} came, and the next request with them was taken"


async def _probe_storage(endpoint: Endpoint) -> AsyncIterator[Found]:
    goal = f"Remember the word {WORDS[0]}, and say yes."
    asked = endpoint.build_request(goal)
    if has_field(endpoint.adapter.build_request(asked), "store", wanted=False):
        yield "storage", "ok", "each request says that nothing is to be kept, unless an agent says"
    else:
        yield "storage", "unknown", "requests say nothing of it: its provider's word counts"
    chained = replace(asked, strategy="previous_response_id")
    if not has_field(endpoint.adapter.build_request(chained), "store", wanted=True):
        return
    reply = await endpoint.ask(chained)
    endpoint.notes = {}
    state = endpoint.adapter.merge_state({}, reply.provider_state or {})
    further = endpoint.build_request(
        goal, *answer_calls(reply), UserTurn(text="Which word?", origin="steer")
    )
    answer = await endpoint.ask(
        replace(further, strategy="previous_response_id", provider_state=state)
    )
    if endpoint.notes:
        yield "kept conversation", "lacking", "what it was asked to keep is gone"
    elif WORDS[0] not in answer.words:
        yield "kept conversation", "wrong", "it goes on without what was said before"
    else:
        yield "kept conversation", "ok", "it knows what was said before"


async def _probe_hosted_tools(endpoint: Endpoint) -> AsyncIterator[Found]:
    if not endpoint.adapter.hosted_tools:
        yield "hosted tools", "lacking", "the adapter knows of none"
    for name in endpoint.adapter.hosted_tools:
        endpoint.notes = {}
        prefix = build_prefix(hosted=(HostedTool(name=name),))
        asked = endpoint.build_request("Say yes.", prefix=prefix)
        try:
            await endpoint.ask(replace(asked, calls_left=0))
        except ModelError as error:
            yield f"hosted {name}", "lacking", str(error)
        else:
            left_out = bool(endpoint.notes)
            told = "it is left out" if left_out else "its declaration is taken; it wasn't called"
            yield f"hosted {name}", "lacking" if left_out else "ok", told


PROBES: Mapping[str, Look] = {
    "words": _probe_words,
    "schema": _probe_arguments,
    "parallel calls": _probe_parallel_calls,
    "one call at a time": _probe_single_calls,
    "answer's shape": _probe_shape,
    "reasoning items": _probe_reasoning,
    "storage": _probe_storage,
    "hosted tools": _probe_hosted_tools,
}
