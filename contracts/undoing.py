"""Whether what a call does may be taken back: ruled on together with the call."""

from operator import not_
from typing import Literal

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.tools import Risk


class UndoRuling(Contract):
    """
    What the permission engine says of a call's undo, when it rules on the call.

    `approval_required`: the undo takes an approval, and those of the call don't cover it, or not
    yet. Only what is allowed ever runs, and then nobody is asked again. `recovery` is the
    documented way back that its approval takes.
    """

    tool: str
    risk: Risk
    verdict: Literal["allow", "approval_required", "deny"]
    rule: str
    reason: str
    recovery: str = Field(default="", exclude_if=not_)
