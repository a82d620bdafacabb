"""How far a run is from its end, as a closed union of frozen values."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field

from holdfast.contracts.base import Contract
from holdfast.contracts.control import LimitSummary
from holdfast.contracts.run import RunStatus
from holdfast.contracts.stops import Stop


class Working(Contract):
    """It works on its goal, or waits for somebody."""

    kind: Literal["working"] = "working"


class Closing(Contract):
    """Its steps are used up: a model has summed up, and nothing but guardrails follows."""

    kind: Literal["closing"] = "closing"
    stop: Stop
    summary: LimitSummary


class Stopping(Contract):
    """
    A person has stopped it, or a full history.

    Nothing begins any more, and what is under way comes to its end.
    """

    kind: Literal["stopping"] = "stopping"
    stop: Stop


class Ended(Contract):
    """
    It is over, as `outcome` says; `stop` is why, where it came to no answer.

    One that was ended `by_person`, or by a full history, waits for no guardrail. `grading` says
    how far those are that look at what it came to, and `grading_stop` who has stopped them.
    """

    kind: Literal["ended"] = "ended"
    outcome: RunStatus
    stop: Stop | None = None
    summary: LimitSummary | None = None
    by_person: bool = False
    grading: Literal["", "under_way", "done"] = ""
    grading_stop: Stop | None = None

    def with_grading(self, grading: Literal["under_way", "done"]) -> Self:
        """Return a copy that says how far guardrails are."""
        return self.copy_with({"grading": grading})

    def with_grading_stop(self, stop: Stop) -> Self:
        """Return a copy in which a person has stopped who looks at what it came to."""
        return self.copy_with({"grading": "done", "grading_stop": stop})


Phase: TypeAlias = Annotated[Working | Closing | Stopping | Ended, Field(discriminator="kind")]
