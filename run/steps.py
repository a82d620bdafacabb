"""What a run can do next, and how that is decided: a pure function over its state."""

from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts import bounds
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.control import Gate
from holdfast.contracts.state import CallState, RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.run import approvals, compaction, gates, tool_calls, verdicts
from holdfast.run.approvals import ReviewSubject
from holdfast.run.gates import GuardrailCheck
from holdfast.run.limits import budgets, triggers
from holdfast.run.limits.triggers import Trigger
from holdfast.run.transcript import build_continue_as_new_input


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
    checks: tuple[GuardrailCheck, ...]
    batch: tuple[CallState, ...] = ()


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


class MarkCheckpoint(NamedTuple):
    """Note where to go back to."""


class RollBack(NamedTuple):
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
    Guard | Pause | AskForReview | Compensate | OpenProject | MarkCheckpoint | RollBack | RunTier
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


def next_step(
    state: RunState, now: datetime, *, history_is_long: bool = False, flooded: bool = False
) -> Step:
    """
    Say what the run does next. Pure: the time comes in, nothing goes out.

    *flooded*: messages filled this execution, so that the server may soon take no more of them.
    """
    if state.outcome is not None:
        return Finish()
    if flooded and (state.suspended or state.requests):
        return _select_idle_continue_step(state)
    held = _find_blocking_step(state)
    if held is not None:  # a step without fields is an empty tuple
        return held
    elapsed = (now - state.started_at).total_seconds()
    if state.calls:
        return _select_call_step(state, elapsed)
    if state.candidate is not None:
        return _select_answer_step(state)
    if checks := gates.select_blocking_checks(state):
        return Guard("turn", checks)
    end = _find_limit_step(state, elapsed)
    if end is not None:
        return end
    took_a_turn = state.sent.length > 0  # each execution does, or none would get anywhere
    if (history_is_long or flooded) and took_a_turn:
        return _select_continue_step(state)
    return _select_work_step(state)


def _select_idle_continue_step(state: RunState) -> Step:
    """
    Go on in a new execution while the run waits, after guardrails have looked at what it holds.

    They look at the whole of it: of a long transcript the new execution begins with less.
    """
    between_turns = not (state.calls or state.candidate or state.requests)
    failed = state.tripped is not None or bool(state.dead_end)
    if between_turns and not failed and (checks := gates.select_blocking_checks(state)):
        return Guard("turn", checks)
    return _select_continue_step(state)


def _select_continue_step(state: RunState) -> Step:
    """Go on in a new execution, unless what it must begin with is too large to be sent."""
    written = bounds.size(build_continue_as_new_input(state))
    if written <= bounds.MAX_STATE_BYTES:
        return ContinueAsNew()
    return Halt(
        Stop.because(
            StopReason.STATE_TOO_LARGE,
            f"the state of the run has {written:,} bytes, and {bounds.MAX_STATE_BYTES:,} is most",
        )
    )


def _find_blocking_step(state: RunState) -> Step | None:
    """Say what has to be over before anything else may happen."""
    if state.suspended:
        return AwaitResume()
    if state.requests:
        return AwaitPeople(min(map(verdicts.next_deadline, state.requests)))
    if state.tripped is not None:
        return Compensate()
    return RollBack() if state.dead_end else None


def _select_call_step(state: RunState, elapsed: float) -> Step:
    if stop := budgets.out_of_time(state.agent.budget, state.ledger, elapsed):
        return Halt(stop)
    undecided = tool_calls.select_for_authorization(state)
    if undecided and not tool_calls.select_drafts(state):
        return Authorize(undecided)
    batch = tool_calls.select_next(state)
    if not all(tool_calls.changes_nothing(state, call) for call in batch):
        reviewed = approvals.approved_for(state, batch)
        if sensitive := triggers.check_domain(state.agent.triggers, state.brief, reviewed):
            return AskForReview(
                approvals.build_domain_subject(state, sensitive, batch), state.agent.review
            )
    if checks := gates.select_call_checks(state, batch):
        return Guard("calls", checks, batch)
    # Who judged them may have used what was left when they were counted.
    if stop := budgets.too_many_calls(state.agent.budget, state.ledger, len(batch)):
        return Halt(stop)
    return RunTools(batch)


def _select_answer_step(state: RunState) -> Step:
    gate = gates.next_gate(state)
    if gate == "review" and (lacking := gates.find_missing_review(state)):
        spec, what = lacking
        return AskForReview(
            approvals.build_answer_subject(state, spec, what), spec.review or state.agent.review
        )
    if gate == "confidence" and (trigger := gates.find_confidence_trigger(state)):
        return Pause(trigger)
    if gate is None:
        return Release()
    return Guard(gate, gates.select_gate_checks(state, gate))


def _find_limit_step(state: RunState, elapsed: float) -> Step | None:
    """Say what keeps the run from going on: a person is asked before a limit is met."""
    agent, budget, ledger = state.agent, state.agent.budget, state.ledger
    if state.agent.escalates:
        worked = budgets.worked_seconds(ledger, elapsed)
        if paused := triggers.find_trigger(
            agent.triggers, budget, ledger, worked, state.acknowledged
        ):
            return Pause(paused)
    if stop := budgets.check_limits(budget, ledger, elapsed):
        return Halt(stop)
    if ahead := budgets.check_next_call(budget, ledger):
        return _find_step_before_limit(state, ahead)
    return None


def _find_step_before_limit(state: RunState, ahead: budgets.Shortfall) -> Step | None:
    """Stop before a call that would go too far; who hasn't been asked about it is asked first."""
    stop = ahead.stop
    was_asked = f"tokens:{state.agent.budget.max_tokens}" in state.acknowledged
    if not state.agent.escalates or (ahead.limit == "max_tokens" and was_asked):
        return Halt(stop)
    name = f"estimate:{stop.reason}"
    if name in state.acknowledged:
        return None  # they let it go on: the limit itself still holds
    return Pause(triggers.Trigger(name, "pause_and_escalate", stop.reason, stop.detail))


def _select_work_step(state: RunState) -> Step:
    if state.agent.project is not None and state.project is None:
        return OpenProject()
    if state.agent.tiers is not None:
        return RunTier()
    if state.agent.backtracking is not None and state.checkpoint is None:
        return MarkCheckpoint()
    model = state.agent.models[state.model_index]
    if place := compaction.prune_point(state):
        return Prune(place)
    if compaction.wants_summary(state):
        return CallModel(model, "summary")
    planning = state.agent.backtracking is not None and state.approach is None
    return CallModel(model, "plan" if planning else "turn")
