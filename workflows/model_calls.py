"""Asking a model: for a turn, a plan or a summary, with guardrails that look meanwhile."""

import asyncio
from typing import NamedTuple

from pydantic import TypeAdapter
from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.control import AttemptKind, ModelAttempt
from holdfast.contracts.errors import PayloadTooLarge
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.model import ModelPurpose, ModelReply
from holdfast.contracts.state.run import RunState
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
from holdfast.run.limits import closing, fallback
from holdfast.run.sessions import hiding
from holdfast.run.step.kinds import CallModel
from holdfast.workflows import failures, guarding, options, run_context
from holdfast.workflows.inbound.breaking_off import unless_broken_off
from holdfast.workflows.inbound.inbox import hear_before_more
from holdfast.workflows.inbound.signals import hear_what_waits
from holdfast.workflows.run_context import RunContext, is_cancellation

_REPLY_ADAPTER = TypeAdapter(ModelReply)


LAST_WORDS_STAY = "last-words-stay"
"""The patch by which no words of a person break off the last words of a run."""


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


async def run_model_call(run: RunContext, step: CallModel) -> None:
    """Ask, and take what comes back: nothing of it counts before its guardrails have looked."""
    run.state = gates.skip_items_without_checks(_prepare(run.state, step))
    if gates.select_blocking_checks(run.state):
        return  # people said more, and guardrails look at that first
    checks = gates.select_parallel_checks(run.state)
    answer = await (
        _call_with_parallel_guardrails(run, step, checks)
        if checks
        else _await_reply(run, step.purpose, asyncio.create_task(_call_model(run, step)))
    )
    if answer is not None:
        await _apply_answer(run, step, answer)


def _prepare(state: RunState, step: CallModel) -> RunState:
    match step.purpose:
        case "summary":
            return compaction.request_summary(state)
        case "plan":
            return backtracking.request_plan(turns.append_steering(state))
        case "closing":
            return closing.request_closing(state)
        case "turn":
            return turns.append_steering(compaction.withdraw_summary_request(state))


async def _call_model(run: RunContext, step: CallModel) -> ModelReply | _FailedCall:
    state, model = run.state, step.model
    turn = f"turn {state.turns_taken + 1} · {model}"
    summary = turn if step.purpose == "turn" else f"{turn} · {step.purpose}"
    call = run.recorded.shorten(turns.build_model_call(state, model, step.purpose), state)
    run.state = state.with_chain(unheard=True, sent_tools=call.tools)
    try:
        with run.track_in_flight(f"model {model}"):
            return await failures.execute_activity(
                "call_model",
                call,
                _REPLY_ADAPTER,
                options.model_call(summary, run.seconds_left(), _max_attempts(state)),
            )
    except PayloadTooLarge as error:  # nobody was asked
        attempt = _build_attempt(state, model, "context_overflow", str(error), CallUsage())
        return _FailedCall(attempt, CallUsage(), limited=False, hurried=False)
    except FailureError as error:
        if is_cancellation(error) or not failures.is_model_failure(error):
            raise
        kind, used = failures.classify(error), failures.usage(error)
        return _FailedCall(
            _build_attempt(state, model, kind, failures.message(error), used),
            used,
            limited=_is_at_retry_limit(state, error),
            hurried=kind == "worker_lost" and failures.is_retry_timeout(error),
        )


def _build_attempt(
    state: RunState, model: str, kind: AttemptKind, error: str, used: CallUsage
) -> ModelAttempt:
    return ModelAttempt(
        turn=state.turns_taken + 1,
        model=model,
        kind=kind,
        error=error,
        at=workflow.now(),
        cost=used.estimated_cost,
    )


async def _call_with_parallel_guardrails(
    run: RunContext, step: CallModel, checks: tuple[gates.GuardrailCheck, ...]
) -> ModelReply | _FailedCall | None:
    """
    Ask while guardrails look. Returns nothing when one of them tripped.

    All look first where the provider runs tools itself: nobody could keep it from beginning. Local
    ones always do, which takes no longer: a call that is scheduled beside a local activity isn't
    sent before that ends, and one that is then cancelled can't be replayed where a query has
    divided the workflow task between them.
    """
    seen, hosted = len(run.state.conversation.items), bool(run.state.agent.hosted)
    first = tuple(one for one in checks if one.spec.local or hosted)
    verdicts = await guarding.run_checks(run, first)
    since = run.hurried
    await hear_before_more()
    if verdicts is None or run.hurried != since:
        return None
    if run.state.is_ending or run.state.suspended:
        return None
    verdicts = tripwires.apply_approvals(run.state, verdicts)
    if tripwires.find_tripwire(verdicts) is None:
        asking = asyncio.create_task(_call_model(run, step))
        rest = tuple(one for one in checks if one not in first)
        verdicts = await _check_beside(run, rest, asking)
        if verdicts is None:
            await _cancel_and_charge(run, step.purpose, asking)
            return None
        verdicts = tripwires.apply_approvals(run.state, verdicts)
        if tripwires.find_tripwire(verdicts) is None:
            run.state = hiding.advance_watch(run.state, rest, verdicts, seen)
            return await _await_reply(run, step.purpose, asking)
        # Cancelled before the lines about it: a cancellation that follows a marker in a workflow
        # task that the server has tried again can't be replayed, and the run would hang.
        await _cancel_and_charge(run, step.purpose, asking)
    run.state = hiding.advance_watch(run.state, checks, verdicts, seen)
    await guarding.record_tripwires(run, verdicts)
    before = run.state
    run.state = tripwires.after_turn(before, verdicts, workflow.now())
    await _record_changes(run, before)
    return None


async def _await_reply(
    run: RunContext, purpose: ModelPurpose, asking: asyncio.Task[ModelReply | _FailedCall]
) -> ModelReply | _FailedCall | None:
    """
    Wait for a reply; of a call that is broken off what was reserved for it counts as used.

    Last words aren't for other words: nobody reads those behind them.
    """
    since = run.hurried

    def is_moot() -> bool:
        if run.state.outside_stop is not None:
            return True
        hurried = run.hurried != since
        return hurried and (purpose != "closing" or not workflow.patched(LAST_WORDS_STAY))

    answer = await unless_broken_off(run, asking, is_moot)
    if answer is None:
        run.state = turns.charge_broken_off(run.state)
    return answer


async def _check_beside(
    run: RunContext,
    checks: tuple[gates.GuardrailCheck, ...],
    asking: asyncio.Task[ModelReply | _FailedCall],
) -> tuple[GuardrailVerdict, ...] | None:
    """Have guardrails look while a model is asked; a failure of theirs ends the call."""
    guarding_task = asyncio.create_task(guarding.run_checks(run, checks, beside_model=True))
    try:
        return await guarding_task
    finally:
        failed = guarding_task.done() and (guarding_task.cancelled() or guarding_task.exception())
        if failed:
            asking.cancel()


async def _cancel_and_charge(
    run: RunContext, purpose: ModelPurpose, asking: asyncio.Task[ModelReply | _FailedCall]
) -> None:
    """
    End a call that nobody waits for any more; what it used is used.

    Of one that is cut off nobody knows that, so what was reserved for it counts.
    """
    # A cancellation that follows a marker in one workflow task can't always be replayed.
    await hear_what_waits(run.state.run_id)
    asking.cancel()
    try:
        match await asking:
            case _FailedCall(used=used):
                run.state = turns.charge_failed_usage(run.state, used)
            case reply:
                run.state = closing.charge_unheard(run.state, purpose, reply)
    except (asyncio.CancelledError, FailureError):
        run.state = turns.charge_broken_off(run.state)


async def _apply_answer(
    run: RunContext, step: CallModel, answer: ModelReply | _FailedCall
) -> None:
    if isinstance(answer, _FailedCall):
        return await _apply_failure(run, step, answer)
    run.recorded.keep_reply(answer)
    for line in replies.build_audit_lines(run.state, answer):
        await run.record(*line)
    # Read the state only now: a message may have changed it during the await.
    before, now = run.state, workflow.now()
    if before.is_ending:  # a person has ended the run meanwhile
        run.state = closing.charge_unheard(before, step.purpose, answer)
        return None
    match step.purpose:
        case "turn":
            run.state = replies.after_model(before, answer, now)
        case "plan":
            run.state = replies.after_plan(before, answer, now)
            if run.state.approaches.current is not None:
                await run.record("approach", answers.redact(before, run.state.approaches.current))
        case "closing":
            run.state = closing.after_closing(before, answer, now)
        case "summary":
            run.state = compaction.after_summary(replies.record_reply(before, answer), answer, now)
            was, shown = before.conversation, run.state.conversation
            sizes = f"{was.context_bytes} → {shown.context_bytes} bytes"
            await run.record("context summarised", sizes)
    if before.chain.provider_wait is not None:
        run_context.publish_status(run)
    await _record_changes(run, before)
    return None


async def _apply_failure(run: RunContext, step: CallModel, failed: _FailedCall) -> None:
    if failed.hurried or run.seconds_left() == 0 or run.state.is_ending:
        run.state = turns.charge_failed_usage(run.state, failed.used)
        return
    await run.record("model failed", f"{failed.attempt.model}: {failed.attempt.error}")
    before = run.state
    if step.purpose == "closing":
        run.state = closing.after_failed_closing(before, failed.used, failed.attempt.at)
        await _record_changes(run, before)
        return
    # By the time of the failure: what it is behind that line a replay may know otherwise.
    run.state = fallbacks.after_failure(
        before, failed.attempt, failed.used, failed.attempt.at, limited=failed.limited
    )
    await _record_changes(run, before)


async def _record_changes(run: RunContext, before: RunState) -> None:
    """Leave a line about a stop, and about a change of model with its reason."""
    state = run.state
    if state.stop is not None and before.stop is None and state.outcome != "failed":
        await run.record(state.outcome or "stopped", state.stop.reason)
    if state.chain.attempts:
        await run.record_switch(before, state.chain.attempts[-1].kind)


def _is_at_retry_limit(state: RunState, error: FailureError) -> bool:
    """Whether the budget kept a model from being asked once more."""
    retries = state.agent.budget.max_model_retries
    if retries is None or not failures.attempts(error).used_up:
        return False
    return _max_attempts(state) == retries + 1


def _max_attempts(state: RunState) -> int:
    """Return how often this model is asked before its failure counts."""
    left = len(state.agent.models) - state.chain.model_index - 1
    return fallback.compute_max_attempts(
        state.agent.fallback,
        state.agent.budget,
        models_left=left or (1 if state.chain.provider_wait else 0),
        usual=options.MAX_MODEL_ATTEMPTS,
    )
