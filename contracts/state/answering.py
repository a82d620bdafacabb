"""The answer of a run on its way out, as a frozen value."""

from operator import not_
from typing import Self, TypedDict, Unpack

from pydantic import Field, JsonValue

from holdfast.contracts.base import Contract
from holdfast.contracts.control import Candidate
from holdfast.contracts.guardrails import GuardrailVerdict, Signals


class Rejection(Contract):
    """A person's no to an answer, or to what was done: who said it, and their words."""

    by: str
    words: str


class AnsweringChange(TypedDict, total=False):
    """What may change of it."""

    candidate: Candidate | None
    tripped: GuardrailVerdict | None
    rejection: Rejection | None
    output_retries: int
    revisions: int
    checked: tuple[GuardrailVerdict, ...]
    signals: Signals
    confidence: float | None
    answer: str | None
    output: JsonValue


class Answering(Contract):
    """
    The answer: one on its way out, what was measured of it, and the one that is out.

    A `candidate` has yet to pass, `tripped` is what kept one from passing: the run takes back what
    it did before it goes on; `rejection` says who was against it, where people were asked.
    `checked` is what acceptance checks found last.
    """

    candidate: Candidate | None = None
    tripped: GuardrailVerdict | None = None
    rejection: Rejection | None = Field(default=None, exclude_if=not_)
    output_retries: int = 0
    revisions: int = 0
    checked: tuple[GuardrailVerdict, ...] = Field(default=(), exclude_if=not_)
    signals: Signals = Signals()
    confidence: float | None = None
    answer: str | None = None
    output: JsonValue = None

    def with_(self, **changes: Unpack[AnsweringChange]) -> Self:
        """Return a copy with these fields changed."""
        return self.copy_with(changes)
