"""Whatever a run has come to: what an adapter sends of it is what its provider takes."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import AnyCall, MalformedCall, ToolCall, ToolFailure, ToolSuccess
from holdfast.contracts.transcript import (
    AssistantTurn,
    ItemRange,
    ToolTurn,
    TranscriptItem,
    TranscriptView,
    UserTurn,
)
from holdfast.run import context
from tests.adapters import conversations as say
from tests.adapters.dialects import DIALECTS, Dialect
from tests.adapters.samples import anthropic, openai

HEADERS = {"anthropic-version": "2026-10-21"}
REPLIES = (
    *("", "WORDS", "TWO_CALLS", "MALFORMED", "REASONING", "STRANGE", "SEARCHED"),
    *("CUT_SHORT", "REFUSAL", "FILTERED", "PAUSED"),
)
THINKERS = {"openai": openai.THOUGHTS, "anthropic": anthropic.THOUGHTS}
"""Replies with thoughts wherever those may stand."""
THOUGHTS = tuple(f"thought {place}" for place in range(max(map(len, THINKERS.values()))))
IDS = {"id", "call_id", "tool_use_id"}
WORDS = (
    say.STEERED,
    UserTurn(text="You have two turns left.", origin="notice"),
    UserTurn(text="Nothing but orders.", origin="constraint"),
)


class Spoken(NamedTuple):
    """A reply as its provider gave it out, and the turn that a run keeps of it."""

    dialect: str
    raw: JsonObject
    turn: AssistantTurn


class Conversation(NamedTuple):
    """What a run has come to, what a model is shown of it, and who said something in it."""

    shown: tuple[TranscriptItem, ...]
    spoken: tuple[Spoken, ...]


def renamed(value: JsonValue, number: int) -> JsonValue:
    """Give all that a reply names by an id an id of its own: no provider gives one out twice."""
    match value:
        case dict():
            return {
                key: f"{one}_{number}"
                if key in IDS and isinstance(one, str)
                else renamed(one, number)
                for key, one in value.items()
            }
        case list():
            return [renamed(one, number) for one in value]
        case _:
            return value


@cache
def spoken(dialect: str, name: str, number: int) -> Spoken | None:
    """One of a provider's replies, with the number of its turn; null where it has no such one."""
    its = DIALECTS[dialect]
    thoughts: Mapping[str, JsonObject] = dict(
        zip(THOUGHTS, THINKERS.get(dialect, ()), strict=False)
    )
    if (sample := thoughts.get(name) or getattr(its.samples, name, None)) is None:
        return None
    raw = renamed(sample, number)
    assert isinstance(raw, dict)
    return Spoken(dialect, raw, say.turn(its.model, its.adapter().parse_response(raw)))


@st.composite
def foreign(draw: st.DrawFn, number: int) -> AssistantTurn:
    """A turn of a model that nobody knows: words, calls, both, or nothing."""
    calls: list[AnyCall] = []
    for place in range(draw(st.integers(0, 3))):
        name, call_id = draw(st.sampled_from(["find_order", "gone"])), f"mine_{number}_{place}"
        calls.append(
            MalformedCall(call_id=call_id, name=name, raw_arguments='{"a": ')
            if draw(st.booleans())
            else ToolCall(call_id=call_id, name=name, arguments={"order_id": 1})
        )
    words = draw(st.sampled_from(["", " ", "So.", "Köln \N{WAVING HAND SIGN}\n"]))
    return AssistantTurn(model="other:model", text=words, calls=tuple(calls))


@st.composite
def ended(draw: st.DrawFn, call: AnyCall) -> ToolSuccess | ToolFailure:
    """What a call came to."""
    if draw(st.booleans()):
        data = draw(st.sampled_from(["", "x" * 300]))
        return ToolSuccess(call_id=call.call_id, name=call.name, summary="ok", data=data)
    return ToolFailure(
        status=draw(st.sampled_from(["error", "denied", "aborted", "outcome_unknown"])),
        call_id=call.call_id,
        name=call.name,
        type="not_found",
        reason="no such order",
    )


@st.composite
def views(draw: st.DrawFn, items: tuple[TranscriptItem, ...]) -> TranscriptView:
    """Approaches that were given up, a summary, and results that gave way, each or none."""
    places = st.integers(0, len(items))
    seen = TranscriptView()
    if draw(st.booleans()):
        begin, end = sorted((draw(places), draw(places)))
        seen = TranscriptView(hidden=(ItemRange(begin=begin, end=end),))
    if draw(st.booleans()):
        before = context.find_summary_point(items, seen)
        seen = seen.with_(summary="They looked." if before else "", summarised_before=before)
    if draw(st.booleans()):
        room = draw(st.integers(100, 3_000))
        seen = seen.with_(pruned_before=context.find_prune_point(items, room, seen))
    return seen


@st.composite
def conversations(draw: st.DrawFn) -> Conversation:
    """A goal, turns of any models, a result for each call, and words of people in between."""
    items, said = list[TranscriptItem]([say.GOAL]), list[Spoken]()
    dialects, replies = st.sampled_from([*DIALECTS]), st.sampled_from([*REPLIES, *THOUGHTS])
    for number in range(1, draw(st.integers(0, 6)) + 1):
        known = spoken(draw(dialects), draw(replies), number)
        if known is not None:
            said.append(known)
        turn = known.turn if known is not None else draw(foreign(number))
        items.append(turn)
        if turn.calls:
            items.append(ToolTurn(results=tuple(draw(ended(call)) for call in turn.calls)))
        if not turn.calls or draw(st.booleans()):
            items.append(draw(st.sampled_from(WORDS)))
    whole = tuple(items)
    seen, room = draw(views(whole)), draw(st.integers(400, 4_000))
    shown = context.apply_view(whole, seen, room)
    if isinstance(shown[-1], AssistantTurn):  # where what came after it is hidden, a run says so
        shown += (say.STEERED,)
    return Conversation(shown, tuple(said))


def results(items: tuple[TranscriptItem, ...]) -> Iterator[str]:
    """The ids of all results that a model is shown."""
    return (one.call_id for item in items if isinstance(item, ToolTurn) for one in item.results)


@settings(max_examples=100)
@given(
    dialect=st.sampled_from(list(DIALECTS.values())),
    conversation=conversations(),
    without_tools=st.booleans(),
)
def test_what_is_sent_is_what_is_taken(
    dialect: Dialect, conversation: Conversation, *, without_tools: bool
) -> None:
    """Each call has its one result in its place, thoughts are whole or gone, nothing is half."""
    # BY-48 T-21
    rules = dialect.rules()
    for one in conversation.spoken:
        if one.dialect == dialect.name:
            rules.issued(one.raw)
    request = say.request(dialect.samples.MODEL, *conversation.shown)
    request = replace(request, without_tools=without_tools)

    body = dialect.adapter().build_request(request)

    assert rules.problem("/v1/messages", HEADERS, body) is None
    sent = json.dumps(body)
    assert [one for one in results(conversation.shown) if one not in sent] == []
