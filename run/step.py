"""What a run can do next: one class for each kind of step."""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.control import Gate
from holdfast.contracts.run import Stop
from holdfast.contracts.state import CallState
from holdfast.policy.escalation import Trigger
from holdfast.run.gates import Look
from holdfast.run.reviews import ReviewSubject


class CallModel(NamedTuple):
    """Ask the model for its next turn, for a plan, or for a summary of what came before."""

    model: str
    purpose: Literal["turn", "plan", "summary"] = "turn"


class Authorize(NamedTuple):
    """Ask the permission engine about calls, all at once."""

    calls: tuple[CallState, ...]


class AwaitPeople(NamedTuple):
    """Wait until somebody decides, or until time changes the first request."""

    until: datetime


class AwaitResume(NamedTuple):
    """Wait until the suspension is lifted."""


class RunTools(NamedTuple):
    """Run calls that may run beside each other."""

    batch: tuple[CallState, ...]


class Prune(NamedTuple):
    """Show the results of tools before this place in the transcript as stubs from now on."""

    before: int


class Guard(NamedTuple):
    """Have guardrails look: at what the model reads next, at *batch*, or at the answer."""

    moment: Literal["turn", "calls"] | Gate
    looks: tuple[Look, ...]
    batch: tuple[CallState, ...] = ()


class Compensate(NamedTuple):
    """Take back what the run did: its answer was blocked."""


class Pause(NamedTuple):
    """Ask a person how the run goes on, because of what was counted or measured."""

    trigger: Trigger


class AskForReview(NamedTuple):
    """Ask people to approve what the run is about to do or to say."""

    matter: ReviewSubject
    requirement: Requirement


class Release(NamedTuple):
    """Let an answer out that has passed everything."""


class OpenProject(NamedTuple):
    """Fill the workspace, and read what the project says about itself."""


class MarkCheckpoint(NamedTuple):
    """Note where to go back to."""


class GoBack(NamedTuple):
    """Give up an approach, and go back to the checkpoint."""


class RunTier(NamedTuple):
    """Have another agent try the goal in a run of its own."""


class ContinueAsNew(NamedTuple):
    """Go on in a new execution with an empty history."""


class Halt(NamedTuple):
    """End the run without an answer."""

    stop: Stop


class Finish(NamedTuple):
    """The run is over."""


ControlStep: TypeAlias = (
    Guard | Pause | AskForReview | Compensate | OpenProject | MarkCheckpoint | GoBack | RunTier
)

Step: TypeAlias = (
    CallModel
    | Authorize
    | AwaitPeople
    | AwaitResume
    | RunTools
    | Prune
    | Release
    | ContinueAsNew
    | Halt
    | Finish
    | ControlStep
)
