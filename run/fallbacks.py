"""What follows when a model brought no answer: the next one, a person, or the end. Pure."""

from datetime import datetime, timedelta

from holdfast.contracts import usage
from holdfast.contracts.control import ModelAttempt, ProviderWait
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import escalations, parts, turns
from holdfast.run.limits import budgets, fallback, routing
from holdfast.run.transcript import append_items, halt


def after_failure(
    state: RunState,
    attempt: ModelAttempt,
    used: CallUsage,
    now: datetime,
    *,
    limited: bool = False,
) -> RunState:
    """
    Go on as the agent's rules say after a call that failed for good; *limited* by a budget.

    Where its attempts have used up what models may use no other is asked: the limit ends the run.
    """
    state = turns.charge_failed_usage(state, used)
    state = escalations.record_attempts(state, attempt)
    stop = _build_failure_stop(attempt)
    match fallback.find_reaction(attempt.kind, state.agent.fallback):
        case "next_model" if budgets.check_limits(state.agent.budget, state.ledger, 0):
            return state
        case "next_model" if routing.is_out_of_turn(state, attempt.model):
            return state  # the chain is asked instead
        case "next_model":
            return (
                switch_model(state)
                or (None if limited else wait_for_provider(state, attempt, now))
                or after_last_model(state, now, limited=limited)
            )
        case "ask" if state.agent.escalates:
            return escalations.escalate(state, stop, now, escalations.MODELS)
        case "ask" | "stop":
            return halt(state, stop, now, "failed")


def after_no_answer(state: RunState, attempt: ModelAttempt, now: datetime) -> RunState | None:
    """Go on after a reply that is no answer; null where the run ends with it."""
    state = escalations.record_attempts(state, attempt)
    match fallback.find_reaction(attempt.kind, state.agent.fallback):
        case "next_model" if routing.is_out_of_turn(state, attempt.model):
            return _resume_turn(state)
        case "next_model" if len(state.agent.models) > 1 or state.agent.escalates:
            return switch_model(state) or after_last_model(state, now)
        case "ask" if state.agent.escalates:
            stop = Stop.because(StopReason.MODEL_STOPPED, attempt.error, kind=attempt.kind)
            return escalations.escalate(state, stop, now, escalations.MODELS)
        case "next_model" | "ask" | "stop":
            return None


def end_wait(state: RunState) -> RunState:
    """Have the last model asked again: the time to wait for its provider has passed."""
    if (wait := state.chain.provider_wait) is None:
        return state
    return state.with_chain(provider_wait=wait.model_copy(update={"over": True}))


def switch_model(state: RunState) -> RunState | None:
    """Go on with the agent's next model, if there is one."""
    following = state.chain.model_index + 1
    if following >= len(state.agent.models):
        return None
    # What the first model's provider wanted to see again means nothing to another.
    fresh = state.with_chain(model_index=following, provider_state={})
    return _resume_turn(fresh)


def after_rejections(state: RunState, rejected: int) -> RunState | None:
    """
    Go on with the next model once so many answers of one didn't pass; null where it tries on.

    What was done for them the next model knows, and does no second time.
    """
    limit = state.agent.fallback.rejections
    fresh = None if limit is None or rejected < limit else switch_model(state)
    if fresh is None:
        return None
    return (
        fresh.with_(ledger=fresh.ledger.with_(failures_in_a_row=0))
        .with_effects(known=parts.build_known_effects(fresh))
        .with_answering(output_retries=0, revisions=0)
    )


def wait_for_provider(state: RunState, attempt: ModelAttempt, now: datetime) -> RunState | None:
    """
    Wait before the last model is asked again, if what keeps it from answering may pass.

    Patience lasts as long as the run works: neither suspension nor people use it up.
    """
    before, waited = state.chain.provider_wait, state.ledger.waited
    since, tries = (before.since, before.tries) if before else (now, 0)
    at_rest = waited - before.waited if before else 0.0
    patience = timedelta(seconds=state.agent.settings.patience + at_rest)
    if attempt.kind not in fallback.PASSING_FAILURES or now >= since + patience:
        return None
    pause = min(fallback.FIRST_WAIT * 2 ** min(tries, 10), fallback.LONGEST_WAIT)
    wait = ProviderWait(
        model=attempt.model,
        kind=attempt.kind,
        error=attempt.error,
        since=since,
        until=min(now + pause, since + patience),
        tries=tries + 1,
        waited=before.waited if before else waited,
    )
    return state.with_chain(provider_wait=wait)


def after_last_model(state: RunState, now: datetime, *, limited: bool = False) -> RunState:
    """Ask a person when every model has failed, or end the run where nobody is there."""
    state = state.with_chain(provider_wait=None)
    chain = state.chain.attempts[-len(state.agent.models) :]
    if not state.agent.escalates and len(state.agent.models) == 1:
        if limited:
            stop = budgets.no_more_retries(state.agent.budget, chain[-1].error)
            return halt(state, stop, now)
        return halt(state, Stop.because(StopReason.NO_MODEL, chain[-1].error), now, "failed")
    told = "; ".join(f"{one.model}: {one.kind}: {one.error}" for one in chain)
    stop = Stop.because(StopReason.FALLBACKS_EXHAUSTED, shorten(told, 4_000))
    if state.agent.escalates:
        return escalations.escalate(state, stop, now, escalations.MODELS)
    return halt(state, stop, now, "failed")


def _build_failure_stop(attempt: ModelAttempt) -> Stop:
    if attempt.kind != "worker_lost":
        return Stop.because(StopReason.MODEL_FAILED, attempt.error, kind=attempt.kind)
    return Stop.because(
        StopReason.WORKER_LOST,
        f"whatever worker asked {attempt.model} ended before there was a reply, "
        f"{usage.MAX_LOST_ATTEMPTS} times and more: {attempt.error}",
    )


def _resume_turn(state: RunState) -> RunState:
    """Let another model go on where the last one left off in the middle of its turn."""
    if not state.chain.paused:
        return state
    go_on = UserTurn(text="Go on.", origin="notice")
    return append_items(state.with_chain(paused=False), go_on)
