"""Asking a model: for a turn, a plan or a summary, with guardrails that look meanwhile."""

import asyncio
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import ActivityError, RetryState, is_cancelled_exception

from activities.model import ModelActivities
from contracts.control import ModelAttempt
from contracts.model import ModelReply
from contracts.state import RunState
from contracts.usage import CallUsage
from policy import budgets, fallback
from workflows import (
    backtracking,
    billing,
    compaction,
    failures,
    fallbacks,
    gates,
    guarding,
    options,
    replies,
    steps,
    tripwires,
)
from workflows.live import LiveRun
from workflows.step import CallModel


class _NoReply(NamedTuple):
    """A call of a model that failed for good, what it used, and whether a budget ended it."""

    attempt: ModelAttempt
    used: CallUsage
    limited: bool


async def ask_model(run: LiveRun, step: CallModel) -> None:
    """Ask, and take what comes back: nothing of it counts before its guardrails have looked."""
    run.state = gates.looked(_prepared(run.state, step))
    if gates.before_turn(run.state):
        return  # people said more, and guardrails look at that first
    looks = gates.beside_turn(run.state)
    answer = await (_asked_beside(run, step, looks) if looks else _asked(run, step))
    if answer is not None:
        await _take(run, step, answer)


def _prepared(state: RunState, step: CallModel) -> RunState:
    match step.purpose:
        case "summary":
            return compaction.asked(state)
        case "plan":
            return backtracking.asked_for_plan(steps.before_model(state))
        case "turn":
            return steps.before_model(compaction.unasked(state))


async def _asked(run: LiveRun, step: CallModel) -> ModelReply | _NoReply:
    state, model = run.state, step.model
    turn = f"turn {state.ledger.steps + 1} · {model}"
    summary = turn if step.purpose == "turn" else f"{turn} · {step.purpose}"
    try:
        return await workflow.execute_activity_method(
            ModelActivities.call_model,
            steps.model_call(state, model, without_tools=step.purpose != "turn"),
            **options.model_call(summary, run.seconds_left(), _attempts(state)),
        )
    except ActivityError as error:
        if is_cancelled_exception(error) or not failures.is_the_models(error):
            raise
        used = failures.usage(error)
        attempt = ModelAttempt(
            turn=state.ledger.steps + 1,
            model=model,
            kind=failures.kind(error),
            error=failures.message(error),
            at=workflow.now(),
            cost=used.estimated_cost,
        )
        return _NoReply(attempt, used, limited=_is_limited(state, error))


async def _asked_beside(
    run: LiveRun, step: CallModel, looks: tuple[gates.Look, ...]
) -> ModelReply | _NoReply | None:
    """Ask while guardrails look. Returns nothing when one of them tripped."""
    seen = len(run.state.items)
    asking = asyncio.create_task(_asked(run, step))
    looking = asyncio.create_task(guarding.look(run, looks))
    try:
        verdicts = await looking
    finally:
        if looking.cancelled() or looking.exception() is not None:
            asking.cancel()
    run.state = run.state.model_copy(update={"watched": seen})
    if tripwires.first(verdicts) is None:
        return await asking
    # Cancelled before the lines about it: a cancellation that follows a marker in a workflow task
    # that the server has tried again can't be replayed, and the run would hang.
    await _billed_only(run, asking)
    await guarding.tell(run, verdicts)
    before = run.state
    run.state = tripwires.after_turn(before, verdicts, workflow.now())
    await _tell(run, before)
    return None


async def _billed_only(run: LiveRun, asking: asyncio.Task[ModelReply | _NoReply]) -> None:
    """
    End a call that nobody waits for any more; what it used is used.

    Of one that is cut off nobody knows that, so what was reserved for it counts.
    """
    asking.cancel()
    try:
        match await asking:
            case _NoReply(used=used):
                run.state = billing.billed_failure(run.state, used)
            case reply:
                run.state = billing.billed(run.state, reply)
    except (asyncio.CancelledError, ActivityError):
        reserved = budgets.reserved(run.state.ledger)
        run.state = billing.billed_failure(run.state, reserved)


async def _take(run: LiveRun, step: CallModel, answer: ModelReply | _NoReply) -> None:
    if isinstance(answer, _NoReply):
        return await _take_failure(run, answer)
    for line in replies.audited(run.state, answer):
        await run.record(*line)
    # Read the state only now: a message may have changed it during the await.
    before, now = run.state, workflow.now()
    if before.outcome is not None:  # a person has ended the run meanwhile
        run.state = billing.billed(before, answer)
        return None
    match step.purpose:
        case "turn":
            run.state = replies.after_model(before, answer, now)
        case "plan":
            run.state = replies.after_plan(before, answer, now)
            if run.state.approach is not None:
                await run.record("approach", run.state.approach)
        case "summary":
            run.state = compaction.summarised(replies.taken(before, answer), answer, now)
            sizes = f"{before.context_bytes} → {run.state.context_bytes} bytes"
            await run.record("context summarised", sizes)
    await _tell(run, before)
    return None


async def _take_failure(run: LiveRun, failed: _NoReply) -> None:
    if run.seconds_left() == 0 or run.state.outcome is not None:
        run.state = billing.billed_failure(run.state, failed.used)
        return
    await run.record("model failed", f"{failed.attempt.model}: {failed.attempt.error}")
    before = run.state
    run.state = fallbacks.after_failure(
        before, failed.attempt, failed.used, workflow.now(), limited=failed.limited
    )
    await _tell(run, before)


async def _tell(run: LiveRun, before: RunState) -> None:
    """Leave a line about a stop, and about a change of model with its reason."""
    state = run.state
    if state.stop is not None and before.stop is None and state.outcome != "failed":
        await run.record(state.outcome or "stopped", state.stop.reason)
    told = state.agent.fallback is not None
    if told and state.model_index > before.model_index and state.attempts:
        why = state.attempts[-1].kind
        await run.record("model switched", f"{before.model} → {state.model}: {why}")


def _is_limited(state: RunState, error: ActivityError) -> bool:
    """Whether the budget kept a model from being asked once more."""
    retries = state.agent.budget.max_model_retries
    ended = error.retry_state is RetryState.MAXIMUM_ATTEMPTS_REACHED
    return ended and retries is not None and _attempts(state) == retries + 1


def _attempts(state: RunState) -> int:
    """Return how often this model is asked before its failure counts."""
    rules, usual = state.agent.fallback, options.MODEL_ATTEMPTS
    if rules is None:
        return usual
    left = len(state.agent.models) - state.model_index - 1
    return fallback.attempts(rules, state.agent.budget, models_left=left, usual=usual)
