"""A model that says what its script says: for tests, examples and benchmarks. No key, no cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from pydantic import JsonValue

from holdfast.adapters.base import merge_fields
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import (
    AnyCall,
    MalformedCall,
    ToolCall,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.errors import ModelError, ModelNotHere, ModelRejected
from holdfast.contracts.model import ModelReply, ModelRequest, ModelSettings, StopCause
from holdfast.contracts.transcript import Part, ToolTurn, TranscriptItem, UserTurn
from holdfast.contracts.usage import CallUsage, UsageMetrics

_PIECE_CHARS = 8
"""What comes at once of a reply, as from a provider that streams."""


@dataclass(frozen=True)
class Reply:
    """One scripted reply: words, calls, or an error to raise instead."""

    text: str = ""
    calls: tuple[tuple[str, JsonObject | str], ...] = ()
    stop: StopCause | None = None
    usage: UsageMetrics = field(default_factory=UsageMetrics)
    provider_state: JsonObject | None = None
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    error: ModelError | None = None


@dataclass(frozen=True)
class ScriptTurn:
    """
    What a script sees when it is asked for a reply.

    `number` is the turn, from 1; `attempt` counts from 1 too. The reply to a turn must be the same
    however often it is asked for, or a retried activity would change the run. Asked
    `without_tools`, for a summary for example, it should be words alone.
    """

    run_id: str
    number: int
    attempt: int
    transcript: tuple[TranscriptItem, ...]
    provider_state: JsonObject = field(default_factory=dict[str, JsonValue])
    without_tools: bool = False

    @property
    def goal(self) -> str:
        """The first words of the transcript."""
        return next(item.text for item in self.transcript if isinstance(item, UserTurn))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results of the latest tool turn; none before the first."""
        turns = [item for item in self.transcript if isinstance(item, ToolTurn)]
        return turns[-1].results if turns else ()

    def last(self, tool: str) -> JsonValue:
        """Return the data of the latest successful result of a tool; null when there is none."""
        found = [
            result.data
            for item in self.transcript
            if isinstance(item, ToolTurn)
            for result in item.results
            if isinstance(result, ToolSuccess) and result.name == tool
        ]
        return found[-1] if found else None


Answerer: TypeAlias = Callable[[ScriptTurn], Reply]
Script: TypeAlias = Answerer | Sequence[Reply | Answerer]


def say(text: str) -> Reply:
    """Reply with a final answer."""
    return Reply(text=text)


def call(tool: str, **arguments: JsonValue) -> Reply:
    """Reply with one tool call."""
    return Reply(calls=((tool, arguments),))


def calls(*replies: Reply, text: str = "") -> Reply:
    """Reply with the calls of several replies at once, in this order."""
    return Reply(text=text, calls=tuple(asked for reply in replies for asked in reply.calls))


def fail(error: ModelError) -> Reply:
    """Fail the call of the model."""
    return Reply(error=error)


def using(reply: Reply, usage: UsageMetrics) -> Reply:
    """Return a reply that is billed with *usage*."""
    return replace(reply, usage=usage)


class ScriptedAdapter:
    """The provider `scripted`: `scripted:NAME` speaks the script of that name."""

    provider = "scripted"
    credentials: frozenset[str] = frozenset()
    hosted_tools: Mapping[str, str] = MappingProxyType({})
    merge_state = staticmethod(merge_fields)

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = scripts

    def find_listing(self, name: str) -> None:
        """Nobody sells a scripted model."""

    def find_refused_settings(self, name: str, settings: ModelSettings) -> None:
        """Refuse nothing: a script stands for any model."""

    async def respond(self, request: ModelRequest) -> ModelReply:
        script = self._scripts.get(request.model)
        if script is None:
            known = ", ".join(sorted(self._scripts)) or "none"
            raise ModelNotHere(f"no script {request.model!r} in this app (known: {known})")
        turn = ScriptTurn(
            request.run_id,
            request.turn,
            request.attempt,
            request.transcript,
            request.provider_state,
            request.without_tools,
        )
        reply = _select_reply(script, turn)
        if request.on_text is not None:
            for begin in range(0, len(reply.text), _PIECE_CHARS):
                request.on_text(reply.text[begin : begin + _PIECE_CHARS])
        if reply.error is not None:
            raise reply.error
        asked = tuple(
            _build_call(f"call_{turn.number}_{place}", name, arguments)
            for place, (name, arguments) in enumerate(reply.calls, start=1)
        )
        return ModelReply(
            text=reply.text,
            calls=asked,
            parts=reply.parts,
            notes=reply.notes,
            stop=reply.stop or ("tool_use" if asked else "end_turn"),
            usage=CallUsage.of(reply.usage),
            model=request.model,
            provider_state=reply.provider_state,
        )


def _select_reply(script: Script, turn: ScriptTurn) -> Reply:
    if callable(script):
        return script(turn)
    if turn.number > len(script):
        raise ModelRejected(f"the script has {len(script)} replies, turn {turn.number} has none")
    spoken = script[turn.number - 1]
    return spoken(turn) if callable(spoken) else spoken


def _build_call(call_id: str, name: str, arguments: JsonObject | str) -> AnyCall:
    if isinstance(arguments, str):
        return MalformedCall(call_id=call_id, name=name, raw_arguments=arguments)
    return ToolCall(call_id=call_id, name=name, arguments=arguments)
