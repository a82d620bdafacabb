"""A call that waited in its queue, and what its run says of it before it begins."""

from operator import not_
from typing import Self

from pydantic import Field

from holdfast.contracts.base import Contract, digest
from holdfast.contracts.bounds import Number
from holdfast.contracts.calls import ToolInvocation
from holdfast.contracts.decisions import AuthorizeCalls, Decided


class Whole(Contract):
    """The run that a part works for: nothing of the part begins that the whole wouldn't."""

    run_id: str
    execution: str


class LateCall(Contract):
    """
    What a run says of a call that waited in its queue, when that is about to begin.

    There is a `reason` where it may not. `asked` is by what it is decided anew, and `terms` are
    what has to come of that; without it nothing is to be decided. Where the run hasn't `heard`
    so many messages that had come before, it is to be asked once more, behind those. Its `whole`
    is to be asked, too: it may have been told what its part has yet to hear.
    """

    reason: str = Field(default="", exclude_if=not_)
    asked: AuthorizeCalls | None = Field(default=None, exclude_if=lambda asked: asked is None)
    terms: str = Field(default="", exclude_if=not_)
    heard: Number | None = Field(default=None, exclude_if=lambda heard: heard is None)
    whole: Whole | None = Field(default=None, exclude_if=lambda whole: whole is None)

    def with_whole(self, whole: Whole) -> Self:
        """Return a copy with who is to be asked as well."""
        return self.copy_with({"whole": whole})


def prove_call(invocation: ToolInvocation) -> str:
    """Return what only those can name who have the input of a call."""
    key, basis = invocation.idempotency_key, invocation.basis
    return digest([invocation.purpose, key, basis, invocation.arguments])


def digest_terms(ruling: Decided) -> str:
    """Return what is the same while a call may run as it was decided, in whatever words."""
    # Left out is when, and what the digest of the arguments stands for.
    plain = dict.fromkeys(("at", "canonical", "filled", "named", "scope"), True)
    words = {"decision": {"reason"}, "undo": {"reason", "effects"}}
    return digest(ruling.model_dump(mode="json", exclude={**plain, **words}))
