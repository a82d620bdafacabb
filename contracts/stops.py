"""Why a run ended without an answer."""

from operator import not_

from pydantic import Field

from holdfast.contracts.base import Contract


class Stop(Contract):
    """
    Why a run ended without an answer, and what to do next.

    `ended_by` is who ended it, where a person did: by rejecting a review, or by an abort.
    """

    reason: str
    detail: str
    next_safe_action: str
    ended_by: str = Field(default="", exclude_if=not_)
