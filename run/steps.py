"""How it is decided what a run does next: a pure function over its state."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from holdfast.contracts import bounds
from holdfast.contracts.model import ModelPurpose
from holdfast.contracts.state.phase import Closing, Stopping
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.run import approvals, backtracking, compaction, gates, tool_calls, verdicts
from holdfast.run.limits import budgets, routing, triggers
from holdfast.run.step import grading
from holdfast.run.step.kinds import (
    AskForReview,
    Authorize,
    AwaitMessage,
    AwaitPeople,
    AwaitProvider,
    AwaitResume,
    CallModel,
    Compensate,
    ContinueAsNew,
    EndMessage,
    Finish,
    Grade,
    Guard,
    Halt,
    KeepWorkspace,
    MarkCheckpoint,
    OpenProject,
    Pause,
    Prune,
    Release,
    RollBack,
    RunTier,
    RunTools,
    Step,
    TakeMessage,
)
from holdfast.run.transcript import build_continue_as_new_input


class Situation(NamedTuple):
    """
    What the next step is decided by. `elapsed` are the seconds since the run began.

    `flooded`: messages filled this execution, so that the server may soon take no more of them.
    `advanced`: parts have worked for it in this execution, or the work on a message is over.
    """

    state: RunState
    elapsed: float
    history_is_long: bool = False
    flooded: bool = False
    advanced: bool = False


Rule: TypeAlias = Callable[[Situation], Step | None]


def grade(run: Situation) -> Step | None:
    """Once the work is over guardrails look at the whole of it, before anything else."""
    checks = grading.select_run_checks(run.state)
    return Grade(checks) if checks else None


def end_message(run: Situation) -> Step | None:
    """In a session the work on a message is over, and not the run."""
    ended = run.state.session is not None and run.state.outcome is not None
    return EndMessage() if ended else None


def finish(run: Situation) -> Step | None:
    """Once the run is over nothing happens."""
    return Finish() if run.state.outcome is not None else None


def stop(run: Situation) -> Step | None:
    """Whom a person has stopped, or a full history, begins nothing more."""
    phase = run.state.phase
    return Halt(phase.stop) if isinstance(phase, Stopping) else None


def close_session(run: Situation) -> Step | None:
    """Whoever has closed a session waits for nobody: the work that does so ends."""
    state = run.state
    if state.session is None or state.session.closing is None or state.session.current is None:
        return None
    if not (state.suspended or state.oversight.requests or _awaits_provider(state)):
        return None
    return Halt(Stop.because(StopReason.SESSION_CLOSED, state.session.closing))


def take_message(run: Situation) -> Step | None:
    """Between two messages a session waits, goes on in a new execution, or ends."""
    state, session = run.state, run.state.session
    if session is None or session.current is not None:
        return None
    if session.closing is not None:
        return TakeMessage() if session.waiting else Finish()
    if run.flooded or (run.history_is_long and _got_somewhere(run)):
        return go_on_in_a_new_execution(state)
    if state.suspended:
        return AwaitResume()
    if session.waiting:
        return TakeMessage()
    return AwaitMessage(session.idle_since + timedelta(seconds=session.idle_timeout))


def drain_inbox(run: Situation) -> Step | None:
    """
    While the run waits, messages have filled its execution, or attempts of its last model have.

    Guardrails look first, at the whole of what it holds: of a long transcript the new execution
    begins with less.
    """
    state = run.state
    asks_again = _awaits_provider(state)
    full = run.flooded or (asks_again and run.history_is_long)
    if not (full and (state.suspended or state.oversight.requests or asks_again)):
        return None
    between_turns = not (state.calls or state.answering.candidate or state.oversight.requests)
    failed = state.answering.tripped is not None or bool(state.approaches.dead_end)
    if between_turns and not failed and (checks := gates.select_blocking_checks(state)):
        return Guard("turn", checks)
    return go_on_in_a_new_execution(state)


def await_resume(run: Situation) -> Step | None:
    """While the run is suspended nothing begins."""
    return AwaitResume() if run.state.suspended else None


def await_people(run: Situation) -> Step | None:
    """While somebody is asked something everything waits."""
    requests = run.state.oversight.requests
    return AwaitPeople(min(map(verdicts.next_deadline, requests))) if requests else None


def compensate(run: Situation) -> Step | None:
    """Whatever was blocked, what was done is taken back before anything else."""
    return Compensate() if run.state.answering.tripped is not None else None


def roll_back(run: Situation) -> Step | None:
    """Where an approach has failed, another begins at the checkpoint."""
    return RollBack() if run.state.approaches.dead_end else None


def take_calls(run: Situation) -> Step | None:
    """Each call that the model asks for is ruled on, looked at, and run."""
    return _select_call_step(run.state, run.elapsed) if run.state.calls else None


def pass_gates(run: Situation) -> Step | None:
    """Whatever the answer is, it passes its gates before it is out."""
    return _select_answer_step(run.state) if run.state.answering.candidate is not None else None


def guard_turn(run: Situation) -> Step | None:
    """Guardrails look at what the model would read."""
    checks = gates.select_blocking_checks(run.state)
    return Guard("turn", checks) if checks else None


def pause_for_trigger(run: Situation) -> Step | None:
    """Where a trigger holds, people are asked, if the agent has any."""
    agent, ledger = run.state.agent, run.state.ledger
    if not agent.escalates:
        return None
    worked = budgets.worked_seconds(ledger, run.elapsed)
    found = triggers.find_trigger(
        agent.triggers, agent.budget, ledger, worked, run.state.oversight.acknowledged
    )
    return Pause(found) if found else None


def halt_at_limit(run: Situation) -> Step | None:
    """Where a limit is reached the run stops; a model may have the last word."""
    limit = budgets.check_limits(run.state.agent.budget, run.state.ledger, run.elapsed)
    if limit is None:
        return None
    return _ask_model(run.state, "closing") if _is_summed_up(run) else Halt(limit)


def _is_summed_up(run: Situation) -> bool:
    """Whether a model sums up before the run stops: where nothing but its steps are used up."""
    state = run.state
    able = state.agent.summary_at_limit and state.session is None and state.model is not None
    if not able or state.chain.paused or isinstance(state.phase, Closing):
        return False
    return budgets.has_used_steps_alone(state.agent.budget, state.ledger, run.elapsed)


def halt_before_limit(run: Situation) -> Step | None:
    """Where the next call would break one it stops too, or asks people, once."""
    state = run.state
    ahead = budgets.check_next_call(state.agent.budget, state.ledger)
    if ahead is None:
        return None
    stop = ahead.stop
    was_asked = f"tokens:{state.agent.budget.max_tokens}" in state.oversight.acknowledged
    if not state.agent.escalates or (ahead.limit == "max_tokens" and was_asked):
        return Halt(stop)
    name = f"estimate:{stop.reason}"
    if name in state.oversight.acknowledged:
        return None  # they let it go on: the limit itself still holds
    return Pause(triggers.Trigger(name, "pause_and_escalate", stop.reason, stop.detail))


def continue_as_new(run: Situation) -> Step | None:
    """Where history is long, or full of messages; but not before this execution got anywhere."""
    if not (_got_somewhere(run) and (run.history_is_long or run.flooded)):
        return None
    return go_on_in_a_new_execution(run.state)


def await_provider(run: Situation) -> Step | None:
    """
    While the provider of the last model is down the run waits, and asks it now and then.

    Only its timer says when that is over: behind a local activity a replay knows another time.
    """
    wait = run.state.chain.provider_wait
    return AwaitProvider(wait) if wait and not wait.over else None


def open_project(run: Situation) -> Step | None:
    """Before anything else the project is opened, if the agent has one."""
    unopened = run.state.agent.project is not None and run.state.project is None
    return OpenProject() if unopened else None


def run_tier(run: Situation) -> Step | None:
    """Where other agents do the work, the next of them is run."""
    return RunTier() if run.state.agent.tiers is not None else None


def mark_checkpoint(run: Situation) -> Step | None:
    """Whoever may go back needs a place to go back to."""
    unmarked = run.state.agent.backtracking is not None and run.state.approaches.checkpoint is None
    return MarkCheckpoint() if unmarked else None


def prune(run: Situation) -> Step | None:
    """Where old results fill the window, stubs stand for them."""
    place = compaction.prune_point(run.state)
    return Prune(place) if place else None


def summarise(run: Situation) -> Step | None:
    """Where turns fill the window, a summary stands for them."""
    return _ask_model(run.state, "summary") if compaction.wants_summary(run.state) else None


def plan(run: Situation) -> Step | None:
    """Before each approach there is a plan."""
    unplanned = run.state.agent.backtracking is not None and run.state.approaches.current is None
    return _ask_model(run.state, "plan") if unplanned else None


PRECEDENCE: tuple[Rule, ...] = (
    grade,
    end_message,
    finish,
    stop,
    close_session,
    take_message,
    drain_inbox,
    await_resume,
    await_people,
    compensate,
    roll_back,
    take_calls,
    pass_gates,
    guard_turn,
    pause_for_trigger,
    halt_at_limit,
    halt_before_limit,
    continue_as_new,
    await_provider,
    open_project,
    run_tier,
    mark_checkpoint,
    prune,
    summarise,
    plan,
)
"""What a run asks itself before each step; the first answer counts (docs/control.md)."""


def next_step(
    state: RunState,
    now: datetime,
    *,
    history_is_long: bool = False,
    flooded: bool = False,
    advanced: bool = False,
) -> Step:
    """Say what the run does next. Pure: the time comes in, nothing goes out."""
    elapsed = (now - state.started_at).total_seconds()
    run = Situation(state, elapsed, history_is_long, flooded, advanced)
    for rule in PRECEDENCE:
        step = rule(run)
        if step is not None:  # one without fields is an empty tuple
            return step
    return _ask_model(state, "turn")


def _awaits_provider(state: RunState) -> bool:
    return state.chain.provider_wait is not None and not state.chain.provider_wait.over


def _ask_model(state: RunState, purpose: ModelPurpose) -> CallModel:
    return CallModel(routing.choose_model(state), purpose)


def had_a_turn(state: RunState) -> bool:
    """Whether this execution has asked a model."""
    return state.conversation.sent.length > 0


def _got_somewhere(run: Situation) -> bool:
    """Whether this execution has done anything: one that hasn't would lead to another like it."""
    return run.advanced or had_a_turn(run.state)


def go_on_in_a_new_execution(state: RunState) -> Step:
    """Continue as new, unless what that must begin with is too large to be sent."""
    written = bounds.size(build_continue_as_new_input(state))
    if written <= bounds.MAX_STATE_BYTES:
        return ContinueAsNew()
    why = f"the state of the run has {written:,} bytes, and {bounds.MAX_STATE_BYTES:,} is most"
    return Halt(Stop.because(StopReason.STATE_TOO_LARGE, why))


def _select_call_step(state: RunState, elapsed: float) -> Step:
    if stop := budgets.out_of_time(state.agent.budget, state.ledger, elapsed):
        return Halt(stop)
    undecided = tool_calls.select_for_authorization(state)
    if undecided and not tool_calls.select_drafts(state):
        return Authorize(undecided)
    batch = tool_calls.select_next(state)
    if stale := tool_calls.select_stale(batch):
        return Authorize(stale)
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
    return KeepWorkspace() if backtracking.wants_snapshot(state, batch) else RunTools(batch)


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
