"""What a model is asked, and what it answers: no provider's words."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack, get_args

from pydantic import AfterValidator, Field, JsonValue, field_serializer

from holdfast.contracts.base import Contract, Inbound, JsonObject, Stored, digest
from holdfast.contracts.bounds import Count, Number
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import DEFAULT_TENANT, AnyCall, ToldTenant
from holdfast.contracts.tools import TOOL_NAME_PATTERN, HostedTool
from holdfast.contracts.transcript import (
    AssistantTurn,
    ItemRange,
    NewItem,
    Part,
    TranscriptDigest,
    TranscriptItem,
    TranscriptView,
    join_text,
)
from holdfast.contracts.usage import CallUsage

NoAnswer = Literal[
    "pause",  # the model isn't done: it goes on when it is asked again with what it said
    "max_tokens",
    "refusal",
    "content_filter",
    "context_overflow",
    "other",
]
"""Why a reply ended that may have nothing to take."""

StopCause = Literal["end_turn", "tool_use", NoAnswer]

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

Strategy = Literal["stateless", "previous_response_id", "conversation"]
"""Who keeps the conversation: we alone, or the provider too, as a chain or as an object."""


Stream: TypeAlias = bool | Literal["before_checks"]
"""
Whether what a model says is told while it says it.

"before_checks" says so of an agent whose answers are looked at before they are out.
"""

Streamed: TypeAlias = Annotated[
    bool | None, Field(strict=True, exclude_if=lambda choice: choice is None)
]
"""What a start says of that; null leaves it to the agent."""

ChosenModels: TypeAlias = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=200)], ...],
    Field(max_length=20, exclude_if=not_),
]
"""Models of an agent that a start names; with none all of the agent's are asked."""

TextListener: TypeAlias = Callable[[str], None]
"""Hears what a model says, piece by piece; never what it thinks, or what it calls."""


class ModelSettingsChange(TypedDict, total=False):
    """What may change of it."""

    reasoning: Effort | None
    reasoning_tokens: Count | None


MAX_PATIENCE_SECONDS = 7 * 24 * 3600.0
"""Seconds; a provider that is down for longer than a week comes back to another world."""


MAX_STOP_SEQUENCES = 4
"""As many as every provider takes that takes any."""

SamplingSetting: TypeAlias = Literal[
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
]
SAMPLING_SETTINGS: tuple[SamplingSetting, ...] = get_args(SamplingSetting)
"""How words are drawn; few models take all of it, and an app that asks for more is refused."""

_StopSequence = Annotated[str, Field(max_length=200, pattern=r"\S")]
_Penalty = Annotated[float, Field(ge=-2, le=2)]


def _is_unset(value: object) -> bool:
    return value in (None, ())


class ModelSettings(Inbound):
    """
    What an agent asks of its models beyond words. What is null is left to the provider.

    `reasoning` is how hard a model thinks; `reasoning_tokens` bounds that for models which count
    tokens instead. `max_output_tokens` bounds a reply, reasoning included. `tool_choice` is for
    the first turn only, the model is free afterwards: "required" is any tool, a name is that tool.
    `patience` (seconds) is how long a run waits for the last of its models while its provider is
    down, and asks it again.

    `temperature` (0 to 2), `top_p`, `top_k`, `seed` and the penalties (-2 to 2) are how a model
    draws its words; a reply ends where one of `stop_sequences` would begin. What one of the
    agent's models doesn't take is refused when the app is made.
    """

    reasoning: Effort | None = None
    reasoning_tokens: Count | None = None
    max_output_tokens: Count | None = None
    tool_choice: (
        Literal["auto", "required", "none"] | Annotated[str, Field(pattern=TOOL_NAME_PATTERN)]
    ) = "auto"
    parallel_calls: bool = True
    patience: Annotated[float, Field(ge=0, le=MAX_PATIENCE_SECONDS)] = 2 * 3600.0
    temperature: float | None = Field(default=None, ge=0, le=2, exclude_if=_is_unset)
    top_p: float | None = Field(default=None, gt=0, le=1, exclude_if=_is_unset)
    top_k: Count | None = Field(default=None, exclude_if=_is_unset)
    seed: Number | None = Field(default=None, exclude_if=_is_unset)
    stop_sequences: tuple[_StopSequence, ...] = Field(
        default=(), max_length=MAX_STOP_SEQUENCES, exclude_if=_is_unset
    )
    frequency_penalty: _Penalty | None = Field(default=None, exclude_if=_is_unset)
    presence_penalty: _Penalty | None = Field(default=None, exclude_if=_is_unset)

    @property
    def sampling(self) -> JsonObject:
        """Those of SAMPLING_SETTINGS that say something."""
        return self.model_dump(mode="json", include={*SAMPLING_SETTINGS})

    def with_(self, **changes: Unpack[ModelSettingsChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


_DEFAULT_SETTINGS = ModelSettings()

_BEGINNING = TranscriptDigest()

_NOTHING_USED = CallUsage()

DEFAULT_CONTEXT_BYTES = 500_000

DEFAULT_PATIENCE_SECONDS = 600.0
"""Seconds; with six attempts less than an hour in all, before the failure of a model counts."""


class ToolSchema(Contract):
    """The part of a tool's contract that a model sees."""

    name: str
    description: str
    input_schema: JsonObject


class Prefix(Contract):
    """What stays the same in every model call of a run; named by its digest after the first."""

    instructions: str
    tools: tuple[ToolSchema, ...]
    hosted: tuple[Stored[HostedTool], ...] = Field(default=(), exclude_if=not_)
    settings: Stored[ModelSettings] = Field(
        default=_DEFAULT_SETTINGS, exclude_if=lambda value: value == _DEFAULT_SETTINGS
    )
    output_schema: JsonObject | None = Field(default=None, exclude_if=not_)

    def narrow(self, names: tuple[str, ...]) -> Self:
        """Return it with these tools alone; with all where none is named."""
        if not names:
            return self
        return self.copy_with({"tools": tuple(one for one in self.tools if one.name in names)})

    @property
    def digest(self) -> str:
        """The name of this prefix."""
        return digest(self.model_dump(mode="json"))


ModelPurpose: TypeAlias = Literal["turn", "plan", "summary", "closing"]
"""
What a model is asked for: to go on, to plan an approach, to sum up what was said and go on, or to
close because no further turn is allowed.
"""


class ModelCallChange(TypedDict, total=False):
    """What may change of it."""

    base: TranscriptDigest
    items: tuple[NewItem, ...]


class ModelCall(Contract):
    """
    Input of the activity `call_model`: what is new, and a proof of what is not.

    The transcript is the one up to `base`, then `items`; behind them its rolling digest, begun
    from `origin`, must be that of `head`. There is no `base` where items are named by what history
    has of them already: an activity gets those of its workflow, or asks it. Of what stands before
    item number `pruned_before` the model is shown what run/context.py leaves of it within
    `max_context_bytes`. A model that is asked for no turn may only say something. `unheard`: what
    its provider keeps may be ahead of the transcript, because a reply was dropped or never came.
    `calls_left` are those of tools that the budget leaves, where hosted ones may use them up. No
    attempt is repeated that would have to wait longer than `patience` (seconds), whatever its
    provider asks for. `stream` has the words told while they come, in heartbeats. Of the prefix it
    is sent these `tools` alone; all where none is named. No attempt is repeated either once those
    that brought no reply have used up what the budget has `left` for models; of one that was lost
    with its worker nobody knows that, so what is `reserved` for it counts, where there is a limit.
    What takes long has its turn with all that works for the `tenant`.
    """

    run_id: str
    tenant: ToldTenant = DEFAULT_TENANT
    turn: int
    app: str = Field(default="", exclude_if=not_)
    model: str
    prefix: str
    origin: str = Field(default="", exclude_if=not_)
    base: TranscriptDigest = Field(default=_BEGINNING, exclude_if=lambda base: base == _BEGINNING)
    items: tuple[NewItem, ...]
    head: TranscriptDigest
    pruned_before: int = Field(default=0, exclude_if=not_)
    max_context_bytes: int = Field(
        default=DEFAULT_CONTEXT_BYTES, exclude_if=lambda value: value == DEFAULT_CONTEXT_BYTES
    )
    strategy: Strategy = Field(default="stateless", exclude_if=lambda value: value == "stateless")
    provider_state: JsonObject = Field(default_factory=dict, exclude_if=not_)
    hidden: tuple[ItemRange, ...] = Field(default=(), exclude_if=not_)
    summary: str = Field(default="", exclude_if=not_)
    summarised_before: int = Field(default=0, exclude_if=not_)
    purpose: ModelPurpose = Field(default="turn", exclude_if=lambda purpose: purpose == "turn")
    unheard: bool = Field(default=False, exclude_if=not_)
    calls_left: int | None = Field(default=None, exclude_if=lambda value: value is None)
    patience: float = Field(
        default=DEFAULT_PATIENCE_SECONDS,
        exclude_if=lambda value: value == DEFAULT_PATIENCE_SECONDS,
    )
    stream: bool = Field(default=False, exclude_if=not_)
    tools: tuple[str, ...] = Field(default=(), exclude_if=not_)
    left: Budget | None = Field(default=None, exclude_if=lambda value: value is None)
    reserved: CallUsage = Field(
        default_factory=lambda: _NOTHING_USED, exclude_if=lambda used: used == _NOTHING_USED
    )

    @field_serializer("reserved", when_used="json")
    def _write_figures(self, reserved: CallUsage) -> JsonObject:
        """Write what there is of it: each call has it in history that a budget limits."""
        return reserved.model_dump(mode="json", exclude_defaults=True)

    def with_(self, **changes: Unpack[ModelCallChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def view(self) -> TranscriptView:
        """Which part of the transcript the model is shown."""
        return TranscriptView(
            pruned_before=self.pruned_before,
            hidden=self.hidden,
            summary=self.summary,
            summarised_before=self.summarised_before,
        )


@dataclass(frozen=True)
class ModelRequest:
    """
    What an adapter gets: the whole context of one call.

    No pydantic model: it never leaves the process, and validating a long transcript again in every
    turn would cost more than the call. `provider_state` is what this provider alone asked to see
    again; `pruned_before` is another number whenever less of the transcript is shown than before.
    A model that is asked `without_tools` must not call one. `unheard`: what the provider keeps may
    be ahead of the transcript. `calls_left` bounds the calls of its own tools; at 0 no tool may be
    called. `on_text` hears the words while they come, if somebody wants to.
    """

    run_id: str
    turn: int
    attempt: int
    model: str
    prefix: Prefix
    transcript: tuple[TranscriptItem, ...]
    provider_state: JsonObject
    strategy: Strategy = "stateless"
    pruned_before: int = 0
    without_tools: bool = False
    unheard: bool = False
    calls_left: int | None = None
    on_text: TextListener | None = None

    @property
    def forbids_tool_calls(self) -> bool:
        """Whether the model must be kept from calling any tool."""
        return self.without_tools or self.calls_left == 0


MAX_LATENCY_MS = 10**9
"""What no reply takes: who made one up may say anything, and times are written."""


def _cap_latency(milliseconds: int) -> int:
    return min(max(milliseconds, 0), MAX_LATENCY_MS)


Milliseconds: TypeAlias = Annotated[int, AfterValidator(_cap_latency)]


class ModelReplyChange(TypedDict, total=False):
    """What may change of it."""

    calls: tuple[AnyCall, ...]
    parts: tuple[Part, ...]
    stop: StopCause
    output: JsonValue
    objections: tuple[str, ...]
    notes: tuple[str, ...]
    failed_usage: CallUsage | None
    model: str
    provider_state: JsonObject | None
    latency_ms: Milliseconds
    first_token_ms: Milliseconds


class ModelReply(Contract):
    """
    Output of the activity `call_model`.

    `text` is what counts of its words: those beside its calls, or else its answer. `stop_detail`
    is what the provider says of an unusual stop. `output` is the answer as data where the agent
    declares a shape for it, `objections` say why it doesn't fit. `notes` tell what the adapter had
    to leave out or couldn't read. `provider_state` is all that the provider wants to see again in
    the next call (keys that begin with `_` are for the adapter alone); null leaves the state as it
    is. `failed_usage` is what earlier attempts of this call used up. `latency_ms` is the time
    until the reply was complete, `first_token_ms` until it began.
    """

    text: str = Field(default="", exclude_if=not_)
    calls: tuple[AnyCall, ...] = ()
    parts: tuple[Part, ...] = Field(default=(), exclude_if=not_)
    stop: StopCause
    stop_detail: str = Field(default="", exclude_if=not_)
    output: JsonValue = Field(default=None, exclude_if=lambda value: value is None)
    objections: tuple[str, ...] = Field(default=(), exclude_if=not_)
    notes: tuple[str, ...] = Field(default=(), exclude_if=not_)
    usage: CallUsage = Field(
        default_factory=lambda: _NOTHING_USED, exclude_if=lambda used: used == _NOTHING_USED
    )
    failed_usage: CallUsage | None = Field(default=None, exclude_if=not_)
    model: str
    provider_state: JsonObject | None = Field(default=None, exclude_if=lambda value: value is None)
    latency_ms: Milliseconds = 0
    first_token_ms: Milliseconds = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[ModelReplyChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    def build_turn(self, calls: tuple[AnyCall, ...] = ()) -> AssistantTurn:
        """Build what stands of it in the transcript, with those calls that the run takes."""
        return AssistantTurn(model=self.model, text=self.text, calls=calls, parts=self.parts)

    @property
    def words(self) -> str:
        """Everything that the model said in words."""
        return join_text(self.text, self.parts)
