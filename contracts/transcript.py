"""The conversation: append-only items, and the rolling digest that proves which ones are meant."""

import hashlib
from operator import not_
from typing import Annotated, Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field, TypeAdapter

from holdfast.contracts.base import Contract, JsonObject, canonical_json
from holdfast.contracts.calls import AnyCall, ToolCall, ToolFailure, ToolResult, ToolSuccess

PartKind: TypeAlias = Literal["text", "call", "reasoning", "hosted_call", "hosted_result", "other"]


class PartChange(TypedDict, total=False):
    """What may change of it."""

    text: str
    continues: bool


class Part(Contract):
    """
    One piece of what a model said, in its place.

    A reply has parts only where its text and its calls don't tell it all: reasoning, tools that
    the provider ran itself (hosted), pieces of a kind that this release doesn't know. `text` is
    what a person reads of it, `name` that of the hosted tool or of the unknown kind. A text that
    `continues` goes on in the sentence of the piece before it. `native` holds the provider's own
    fields: they go back unchanged to the model that they came from, and to no other. The parts of
    kind `call` stand for the calls of the reply, in their order.
    """

    kind: PartKind
    text: str = Field(default="", exclude_if=not_)
    name: str = Field(default="", exclude_if=not_)
    continues: bool = Field(default=False, exclude_if=not_)
    native: JsonObject = Field(default_factory=dict, exclude_if=not_)

    def with_(self, **changes: Unpack[PartChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


def join_text(text: str, parts: tuple[Part, ...]) -> str:
    """Return all that a model said in words; *text* is all of it only where there are no parts."""
    if not parts:
        return text
    said = ""
    for part in parts:
        if part.kind == "text" and part.text:
            said += ("" if part.continues or not said else "\n\n") + part.text
    return said


def strip_fence(text: str) -> str:
    """Return what stands in a block of Markdown, where a text is one; models like to answer so."""
    said, fence = text.strip(), "```"
    if len(said) < len(fence) * 2 or not (said.startswith(fence) and said.endswith(fence)):
        return said
    return said[len(fence) : -len(fence)].removeprefix("json").strip()


class UserTurn(Contract):
    """
    Words of a person: the goal first, then what was said while the run went on.

    In a session each `message` is a goal, until the next one is.

    A `notice` is the run's own and may be left out later; a `constraint` never, nor the `plan` of
    the approach under way. `project` is what the files of a project say, `findings` what checks
    found, or a tool loaded for a handoff: neither binds anybody. A constraint that is `by_person`
    is why somebody rejected an answer.
    """

    kind: Literal["user"] = "user"
    text: str
    origin: Literal[
        "goal",
        "message",
        "steer",
        "guidance",
        "notice",
        "constraint",
        "plan",
        "project",
        "findings",
    ] = "goal"
    by_person: bool = Field(default=False, exclude_if=not_)


class AssistantTurnChange(TypedDict, total=False):
    """What may change of it."""

    text: str
    parts: tuple[Part, ...]


class AssistantTurn(Contract):
    """
    What a model said and asked for.

    `text` is what counts: the words beside its calls, or its answer. `parts` are empty where text
    and calls tell it all, in this order.
    """

    kind: Literal["assistant"] = "assistant"
    model: str
    text: str = ""
    calls: tuple[AnyCall, ...] = ()
    parts: tuple[Part, ...] = Field(default=(), exclude_if=not_)

    def with_(self, **changes: Unpack[AssistantTurnChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)

    @property
    def words(self) -> str:
        """Everything that the model said in words."""
        return join_text(self.text, self.parts)


class ToolTurn(Contract):
    """
    The results of all calls of one assistant turn, in call order.

    `filled` are the arguments that calls left out, by their ids, with the values that they had.
    `drafts` are the answers of what drafted for them, where guardrails look at those: no model
    reads them.
    """

    kind: Literal["tool"] = "tool"
    results: tuple[ToolResult, ...]
    filled: dict[str, JsonObject] = Field(default_factory=dict, exclude_if=not_)
    drafts: tuple[ToolResult, ...] = Field(default=(), exclude_if=not_)

    def restore_arguments(self, call: AnyCall) -> AnyCall:
        """Return a call of the turn before with all of the arguments that it had."""
        filled = self.filled.get(call.call_id)
        return call.with_arguments(filled) if filled and isinstance(call, ToolCall) else call


TranscriptItem: TypeAlias = Annotated[
    UserTurn | AssistantTurn | ToolTurn, Field(discriminator="kind")
]

ITEM_ADAPTER: TypeAdapter[TranscriptItem] = TypeAdapter(TranscriptItem)


Trust: TypeAlias = Literal["trusted", "semi_trusted", "untrusted"]
"""
How far what a model reads may be believed; whatever it says, it decides nothing.

`trusted` is what people said who may steer the run, `semi_trusted` what models said, or the run
itself, which may quote them, `untrusted` what tools, files and providers' own tools brought.
"""


_OWN_PARTS = frozenset[PartKind]({"text", "call", "reasoning"})
"""What a model put out by itself."""


def rate_trust(item: TranscriptItem) -> Trust:
    """
    Say how far what stands in an item may be believed.

    A provider's own tool may have brought anything, also where the reply has its call alone: some
    providers never say what it found.
    """
    match item:
        case UserTurn(origin="goal" | "message" | "steer" | "guidance"):
            return "trusted"
        case UserTurn(origin="project" | "findings"):
            return "untrusted"
        case UserTurn():
            return "semi_trusted"
        case AssistantTurn(parts=parts):
            foreign = any(part.kind not in _OWN_PARTS for part in parts)
            return "untrusted" if foreign else "semi_trusted"
        case ToolTurn(results=results):
            return "trusted" if all(result.by_person for result in results) else "untrusted"


REFERENCE_DIGITS = 16
"""So much of a SHA-256 names what history has; the digest of the whole transcript proves it."""


class ReplyReference(Contract):
    """An assistant turn that stands in history as the reply of a model, by its digest."""

    kind: Literal["reply"] = "reply"
    digest: str


class ResultReference(Contract):
    """A result that stands in history as that of a tool, by the digest of it without its spans."""

    status: Literal["recorded"] = "recorded"
    call_id: str
    digest: str


class ToolTurnReference(Contract):
    """A tool turn of whose results at least one stands in history, and the others here."""

    kind: Literal["results"] = "results"
    results: tuple[
        Annotated[ToolSuccess | ToolFailure | ResultReference, Field(discriminator="status")], ...
    ]
    filled: dict[str, JsonObject] = Field(default_factory=dict, exclude_if=not_)


NewItem: TypeAlias = Annotated[
    UserTurn | AssistantTurn | ToolTurn | ReplyReference | ToolTurnReference,
    Field(discriminator="kind"),
]
"""An item that a model is to see for the first time: itself, or where history has it."""


class TranscriptDigest(Contract):
    """
    A place in the transcript: how many items lie before it, and their rolling digest.

    The digest of the empty transcript is the empty string; every further item hashes the digest
    so far together with its own canonical JSON.
    """

    length: int = 0
    digest: str = ""

    def extend(self, items: tuple[TranscriptItem, ...]) -> "TranscriptDigest":
        """Return the place behind *items*."""
        rolling = self.digest
        for item in items:
            content = canonical_json(item.model_dump(mode="json"))
            rolling = hashlib.sha256(rolling.encode() + content).hexdigest()
        return TranscriptDigest(length=self.length + len(items), digest=rolling)


class ItemRange(Contract):
    """A part of a transcript, from the item `begin` up to the item `end`, which isn't in it."""

    begin: int = Field(ge=0)
    end: int = Field(ge=0)


class TranscriptViewChange(TypedDict, total=False):
    """What may change of it."""

    pruned_before: int
    summary: str
    summarised_before: int


class TranscriptView(Contract):
    """
    Which part of a transcript a model is shown.

    `hidden` parts are left out: approaches that were given up. Before `summarised_before` only
    people's words stay, and `summary` stands for the rest. Before `pruned_before` results are
    stubs.
    """

    pruned_before: int = 0
    hidden: tuple[ItemRange, ...] = Field(default=(), exclude_if=not_)
    summary: str = Field(default="", exclude_if=not_)
    summarised_before: int = Field(default=0, exclude_if=not_)

    def with_(self, **changes: Unpack[TranscriptViewChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)


class TranscriptPage(Contract):
    """
    Some items of the transcript; `next_offset` is null on the last page.

    `trust` has for each item how far it may be believed.
    """

    items: tuple[TranscriptItem, ...]
    total: int
    next_offset: int | None
    trust: tuple[Trust, ...] = ()
