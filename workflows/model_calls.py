"""Asking a model: for a turn, a plan or a summary, with guardrails that look meanwhile."""

import asyncio
from typing import NamedTuple

from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.control import ModelAttempt
from holdfast.contracts.model import ModelReply
from holdfast.contracts.state import RunState
from holdfast.contracts.usage import CallUsage
from holdfast.run import (
    answers,
    backtracking,
    compaction,
    fallbacks,
    gates,
    replies,
    tripwires,
    turns,
)
from holdfast.run.limits import budgets, fallback
from holdfast.run.steps import CallModel
from holdfast.workflows import failures, guarding, options
from holdfast.workflows.run_context import RunContext, is_cancellation

_REPLY = TypeAdapter(ModelReply)


class _FailedCall(NamedTuple):
    """
    A call of a model that failed for good, and what it used.

    It was `limited` by a budget, or `hurried`: its worker was lost, and the time that is left was
    too short for the pause before another attempt.
    """

    attempt: ModelAttempt
    used: CallUsage
    limited: bool
    hurried: bool


async def ask_model(run: RunContext, step: CallModel) -> None:
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
            return backtracking.asked_for_plan(turns.before_model(state))
        case "turn":
            return turns.before_model(compaction.unasked(state))


async def _asked(run: RunContext, step: CallModel) -> ModelReply | _FailedCall:
    state, model = run.state, step.model
    turn = f"turn {state.ledger.steps + 1} · {model}"
    summary = turn if step.purpose == "turn" else f"{turn} · {step.purpose}"
    call = turns.model_call(state, model, without_tools=step.purpose != "turn")
    run.state = state.model_copy(update={"unheard": True})
    try:
        with run.doing(f"model {model}"):
            return await failures.answered(
                "call_model",
                call,
                _REPLY,
                options.model_call(summary, run.seconds_left(), _attempts(state)),
            )
    except FailureError as error:
        if is_cancellation(error) or not failures.is_the_models(error):
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
        lost = attempt.kind == fallback.WORKER_LOST
        return _FailedCall(
            attempt,
            used,
            limited=_is_limited(state, error),
            hurried=lost and failures.was_short_of_time(error),
        )


async def _asked_beside(
    run: RunContext, step: CallModel, looks: tuple[gates.Look, ...]
) -> ModelReply | _FailedCall | None:
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


async def _billed_only(run: RunContext, asking: asyncio.Task[ModelReply | _FailedCall]) -> None:
    """
    End a call that nobody waits for any more; what it used is used.

    Of one that is cut off nobody knows that, so what was reserved for it counts.
    """
    asking.cancel()
    try:
        match await asking:
            case _FailedCall(used=used):
                run.state = turns.billed_failure(run.state, used)
            case reply:
                run.state = turns.billed(run.state, reply)
    except (asyncio.CancelledError, FailureError):
        reserved = budgets.reserved(run.state.ledger)
        run.state = turns.billed_failure(run.state, reserved)


async def _take(run: RunContext, step: CallModel, answer: ModelReply | _FailedCall) -> None:
    if isinstance(answer, _FailedCall):
        return await _take_failure(run, answer)
    for line in replies.audited(run.state, answer):
        await run.record(*line)
    # Read the state only now: a message may have changed it during the await.
    before, now = run.state, workflow.now()
    if before.outcome is not None:  # a person has ended the run meanwhile
        run.state = turns.billed(before, answer)
        return None
    match step.purpose:
        case "turn":
            run.state = replies.after_model(before, answer, now)
        case "plan":
            run.state = replies.after_plan(before, answer, now)
            if run.state.approach is not None:
                await run.record("approach", answers.quoted(before, run.state.approach))
        case "summary":
            run.state = compaction.summarised(replies.taken(before, answer), answer, now)
            sizes = f"{before.context_bytes} → {run.state.context_bytes} bytes"
            await run.record("context summarised", sizes)
    await _tell(run, before)
    return None


async def _take_failure(run: RunContext, failed: _FailedCall) -> None:
    if failed.hurried or run.seconds_left() == 0 or run.state.outcome is not None:
        run.state = turns.billed_failure(run.state, failed.used)
        return
    await run.record("model failed", f"{failed.attempt.model}: {failed.attempt.error}")
    before = run.state
    run.state = fallbacks.after_failure(
        before, failed.attempt, failed.used, workflow.now(), limited=failed.limited
    )
    await _tell(run, before)


async def _tell(run: RunContext, before: RunState) -> None:
    """Leave a line about a stop, and about a change of model with its reason."""
    state = run.state
    if state.stop is not None and before.stop is None and state.outcome != "failed":
        await run.record(state.outcome or "stopped", state.stop.reason)
    if state.model_index > before.model_index and state.attempts:
        why = state.attempts[-1].kind
        await run.record("model switched", f"{before.model} → {state.model}: {why}")


def _is_limited(state: RunState, error: FailureError) -> bool:
    """Whether the budget kept a model from being asked once more."""
    retries = state.agent.budget.max_model_retries
    if retries is None or not failures.attempts(error).used_up:
        return False
    return _attempts(state) == retries + 1


def _attempts(state: RunState) -> int:
    """Return how often this model is asked before its failure counts."""
    left = len(state.agent.models) - state.model_index - 1
    return fallback.attempts(
        state.agent.fallback,
        state.agent.budget,
        models_left=left,
        usual=options.MODEL_ATTEMPTS,
    )
