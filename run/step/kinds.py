"""What a run can do next: one type for each kind of step."""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.control import Gate, ProviderWait
from holdfast.contracts.model import ModelPurpose
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.stops import Stop
from holdfast.run.approvals import ReviewSubject
from holdfast.run.gates import GuardrailCheck
from holdfast.run.limits.triggers import Trigger


class CallModel(NamedTuple):
    """Ask the model for its next turn, for a plan, or for a summary of what came before."""

    model: str
    purpose: ModelPurpose = "turn"


class Authorize(NamedTuple):
    """Ask the permission engine about calls, all at once."""

    calls: tuple[CallState, ...]


class AwaitPeople(NamedTuple):
    """Wait until somebody decides, or until time changes the first request."""

    until: datetime


class AwaitResume(NamedTuple):
    """Wait until the suspension is lifted."""


class AwaitProvider(NamedTuple):
    """Wait until it is time to ask a model again whose provider is down."""

    wait: ProviderWait


class RunTools(NamedTuple):
    """Run calls that may run beside each other."""

    batch: tuple[CallState, ...]


class Prune(NamedTuple):
    """Show the results of tools before this place in the transcript as stubs from now on."""

    before: int


class Guard(NamedTuple):
    """Have guardrails look: at what the model reads next, at *batch*, or at the answer."""

    moment: Literal["turn", "calls"] | Gate
    checks: tuple[GuardrailCheck, ...]
    batch: tuple[CallState, ...] = ()


class Grade(NamedTuple):
    """Have guardrails look at what the run came to, and how."""

    checks: tuple[GuardrailCheck, ...]


class Compensate(NamedTuple):
    """Take back what the run did: its answer was blocked."""


class Pause(NamedTuple):
    """Ask a person how the run goes on, because of what was counted or measured."""

    trigger: Trigger


class AskForReview(NamedTuple):
    """Ask people to approve what the run is about to do or to say."""

    under_review: ReviewSubject
    requirement: Requirement


class Release(NamedTuple):
    """Let an answer out that has passed everything."""


class OpenProject(NamedTuple):
    """Fill the workspace, and read what the project says about itself."""


class KeepWorkspace(NamedTuple):
    """Keep the files as they are, before a call that may change them."""


class MarkCheckpoint(NamedTuple):
    """Note where to go back to."""


class RollBack(NamedTuple):
    """Give up an approach, and go back to the checkpoint."""


class RunTier(NamedTuple):
    """Have another agent try the goal in a run of its own."""


class ContinueAsNew(NamedTuple):
    """Go on in a new execution with an empty history."""


class TakeMessage(NamedTuple):
    """Begin the work on the next message of a session."""


class AwaitMessage(NamedTuple):
    """Wait until somebody says something more, or the session closes."""

    until: datetime


class EndMessage(NamedTuple):
    """Keep what the work on a message came to: the session goes on."""


class Halt(NamedTuple):
    """End the run without an answer."""

    stop: Stop


class Finish(NamedTuple):
    """Once the run is over nothing happens."""


SessionStep: TypeAlias = TakeMessage | AwaitMessage | EndMessage

ControlStep: TypeAlias = (
    Guard
    | Grade
    | Pause
    | AskForReview
    | Compensate
    | OpenProject
    | KeepWorkspace
    | MarkCheckpoint
    | RollBack
    | RunTier
)


Step: TypeAlias = (
    CallModel
    | Authorize
    | AwaitPeople
    | AwaitResume
    | AwaitProvider
    | RunTools
    | Prune
    | Release
    | ContinueAsNew
    | SessionStep
    | Halt
    | Finish
    | ControlStep
)
