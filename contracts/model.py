"""What a model is asked, and what it answers: no provider's words."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import Field

from contracts.base import Contract, JsonObject, digest
from contracts.tools import AnyCall
from contracts.transcript import Mark, TranscriptItem
from contracts.usage import UsageMetrics

StopCause = Literal[
    "end_turn", "tool_use", "max_tokens", "refusal", "content_filter", "context_overflow", "other"
]


class ToolSchema(Contract):
    """The part of a tool's contract that a model sees."""

    name: str
    description: str
    input_schema: JsonObject


class Prefix(Contract):
    """What stays the same in every model call of a run; named by its digest after the first."""

    instructions: str
    tools: tuple[ToolSchema, ...]

    @property
    def digest(self) -> str:
        """The name of this prefix."""
        return digest(self.model_dump(mode="json"))


class ModelCall(Contract):
    """
    Input of the activity `call_model`: what is new, and a proof of what is not.

    The transcript is the one up to `base`, then `items`; behind them its rolling digest, begun
    from `origin`, must be that of `head`. Of what stands before item number `pruned_before` the
    model is shown what policy/context.py leaves of it within `max_context_bytes`.
    """

    run_id: str
    turn: int
    model: str
    prefix: str
    origin: str
    base: Mark
    items: tuple[TranscriptItem, ...]
    head: Mark
    pruned_before: int = 0
    max_context_bytes: int
    provider_state: JsonObject = Field(default_factory=dict)


@dataclass(frozen=True)
class ModelRequest:
    """
    What an adapter gets: the whole context of one call.

    No pydantic model: it never leaves the process, and validating a long transcript again in every
    turn would cost more than the call.
    """

    run_id: str
    turn: int
    attempt: int
    model: str
    prefix: Prefix
    transcript: tuple[TranscriptItem, ...]
    provider_state: JsonObject


class FinalAnswer(Contract):
    """A model says that it is done."""

    content: str


AgentEvent: TypeAlias = AnyCall | FinalAnswer


class ModelReply(Contract):
    """
    Output of the activity `call_model`.

    `provider_state` is what the provider wants to see again in the next call; null leaves the
    state as it is. `latency_ms` is the time until the reply was complete.
    """

    text: str = ""
    calls: tuple[AnyCall, ...] = ()
    stop: StopCause
    usage: UsageMetrics = UsageMetrics()
    model: str
    provider_state: JsonObject | None = None
    latency_ms: int = 0

    @property
    def events(self) -> tuple[AgentEvent, ...]:
        """What the reply means for the loop: its calls, or else its final answer."""
        if self.calls:
            return self.calls
        return (FinalAnswer(content=self.text),) if self.text.strip() else ()
