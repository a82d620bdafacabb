"""What follows when a model brought no answer: the next one, a person, or the end. Pure."""

from datetime import datetime

from holdfast.contracts import attempts
from holdfast.contracts.control import ModelAttempt
from holdfast.contracts.run import Stop
from holdfast.contracts.state import RunState
from holdfast.contracts.transcript import UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import escalations, turns
from holdfast.run.limits import budgets, fallback
from holdfast.run.summaries import shortened
from holdfast.run.transcript import appended, halted

_MEND = "mend what the detail names, then start the run again"


def after_failure(
    state: RunState,
    attempt: ModelAttempt,
    used: CallUsage,
    now: datetime,
    *,
    limited: bool = False,
) -> RunState:
    """Go on as the agent's rules say after a call that failed for good; *limited* by a budget."""
    state = turns.billed_failure(state, used)
    state = escalations.attempted(state, attempt)
    stop = _lost(attempt) if attempt.kind == fallback.WORKER_LOST else _broken(attempt)
    match fallback.reaction(attempt.kind, state.agent.fallback):
        case "next_model":
            return switched(state) or exhausted(state, now, limited=limited)
        case "ask" if state.agent.escalates:
            return escalations.escalated(state, stop, now, escalations.MODELS)
        case _:
            return _failed(state, stop)


def after_no_answer(state: RunState, attempt: ModelAttempt, now: datetime) -> RunState | None:
    """Go on after a reply that is no answer; null where the run ends with it."""
    state = escalations.attempted(state, attempt)
    match fallback.reaction(attempt.kind, state.agent.fallback):
        case "next_model" if len(state.agent.models) > 1 or state.agent.escalates:
            return switched(state) or exhausted(state, now)
        case "ask" if state.agent.escalates:
            stop = Stop(
                reason=f"model stopped: {attempt.kind}",
                detail=attempt.error,
                next_safe_action=_MEND,
            )
            return escalations.escalated(state, stop, now, escalations.MODELS)
        case _:
            return None


def switched(state: RunState) -> RunState | None:
    """Go on with the agent's next model, if there is one."""
    following = state.model_index + 1
    if following >= len(state.agent.models):
        return None
    # What the first model's provider wanted to see again means nothing to another.
    fresh = state.model_copy(update={"model_index": following, "provider_state": {}})
    return _unpaused(fresh)


def exhausted(state: RunState, now: datetime, *, limited: bool = False) -> RunState:
    """Ask a person when every model has failed, or end the run where nobody is there."""
    chain = state.attempts[-len(state.agent.models) :]
    if not state.agent.escalates and len(state.agent.models) == 1:
        if limited:
            return halted(state, budgets.no_more_retries(state.agent.budget, chain[-1].error))
        stop = Stop(reason="no model answered", detail=chain[-1].error, next_safe_action=_MEND)
        return _failed(state, stop)
    told = "; ".join(f"{one.model}: {one.kind}: {one.error}" for one in chain)
    stop = Stop(reason=fallback.EXHAUSTED, detail=shortened(told, 4_000), next_safe_action=_MEND)
    if state.agent.escalates:
        return escalations.escalated(state, stop, now, escalations.MODELS)
    return _failed(state, stop)


def _broken(attempt: ModelAttempt) -> Stop:
    return Stop(
        reason=f"model failed: {attempt.kind}", detail=attempt.error, next_safe_action=_MEND
    )


def _lost(attempt: ModelAttempt) -> Stop:
    return Stop(
        reason="worker lost",
        detail=f"whatever worker asked {attempt.model} ended before there was a reply, "
        f"{attempts.LOST} times and more: {attempt.error}",
        next_safe_action="find out what ends the workers, then start the run again",
    )


def _failed(state: RunState, stop: Stop) -> RunState:
    return halted(state, stop, "failed")


def _unpaused(state: RunState) -> RunState:
    """Let another model go on where the last one left off in the middle of its turn."""
    if not state.paused:
        return state
    go_on = UserTurn(text="Go on.", origin="notice")
    return appended(state.model_copy(update={"paused": False}), go_on)
