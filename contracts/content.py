"""What a reply holds beyond plain words and calls: its pieces, in their order."""

from operator import not_
from typing import Literal, Self, TypeAlias, TypedDict, Unpack

from pydantic import Field

from holdfast.contracts.base import Contract, JsonObject

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
