"""Asking a person how a run goes on, and taking what they say. Pure."""

from datetime import datetime

from holdfast.contracts import bounds
from holdfast.contracts.approvals import Escalation
from holdfast.contracts.bounds import MAX_FAILURE_REASON_CHARS
from holdfast.contracts.calls import ToolSuccess
from holdfast.contracts.control import Approach, ModelAttempt
from holdfast.contracts.journal import ApproachFailed
from holdfast.contracts.signals import (
    ResolutionSignal,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.run import answers, context, gates, requests, tool_results
from holdfast.run.limits import budget_extension, loop_detection
from holdfast.run.limits.triggers import Trigger
from holdfast.run.texts.figures import pluralize
from holdfast.run.transcript import abort_open_calls, drop_candidate, halt

MODELS = "models"
TIERS = "tiers"
FAILURES = "failures"
BACKTRACKS = "backtracks"

KEEP_LAST_ATTEMPTS = 50
"""How many failed calls of models the state keeps; history has them all."""


def give_up(state: RunState, stop: Stop, now: datetime, trigger: str = FAILURES) -> RunState:
    """
    Leave what leads nowhere: for another approach, else to a person, else for good.

    What may be tried is the agent's: it goes back only where it has backtracking, and asks only
    where somebody is there to be asked. A run that is stopped ends for no other reason.
    """
    if state.outside_stop is not None:
        return state
    if state.approaches.checkpoint is not None:
        return end_approach(state, f"{stop.reason}: {stop.detail}")
    if state.agent.escalates:
        return escalate(state, stop, now, trigger)
    return halt(state, stop, now)


def can_try_again(state: RunState) -> bool:
    """Whether another approach is left: the first, and one for each time that it may go back."""
    if state.agent.backtracking is None:
        return False
    granted = state.oversight.acknowledged.count(BACKTRACKS)
    return len(state.approaches.failed) <= state.agent.backtracking.max_backtracks + granted


def end_approach(state: RunState, reason: str) -> RunState:
    """End the approach under way; its open calls are aborted."""
    left = abort_open_calls(drop_candidate(state), "the approach was given up")
    failed = ApproachFailed(approach=describe_approach(left, reason))
    return left.with_(journal=(*left.journal, failed)).with_approaches(dead_end=reason)


def describe_approach(state: RunState, reason: str) -> Approach:
    """Say what the approach under way was, why it fails, and how far it came."""
    place = 0 if state.approaches.checkpoint is None else state.approaches.checkpoint.items
    return Approach(
        number=len(state.approaches.failed) + 1,
        approach=state.approaches.current or "(none was planned)",
        failure_reason=shorten(reason, MAX_FAILURE_REASON_CHARS),
        partial_progress=_describe_progress(state, place),
    )


def escalate(state: RunState, stop: Stop, now: datetime, trigger: str) -> RunState:
    """Ask a person how the run goes on, instead of stopping it, if they can be shown why."""
    request = Escalation(
        request_id=state.oversight.next_request_id,
        reason=stop.reason,
        detail=stop.detail,
        requested_at=now,
        expires_at=requests.expiry(state, now),
        trigger=trigger,
        attempts=state.chain.attempts,
        approaches=answers.redact_approaches(state),
        usage=state.ledger.usage.summary,
        confidence=_confidence(state),
        answer=answers.find_disclosable_answer(state),
        next_safe_action=stop.next_safe_action,
    )
    if requests.is_too_large_to_show(request):
        return halt(
            state,
            build_stop(request, f"what there is to decide {tool_results.TOO_LARGE_TO_SHOW}"),
            now,
        )
    return requests.open_request(state, request)


def _confidence(state: RunState) -> float | None:
    """Say how sure one may be of the answer that waits, if it is measured."""
    return None if state.answering.candidate is None else gates.score(state).value


def pause(state: RunState, trigger: Trigger, now: datetime) -> RunState:
    """Ask a person because of what was counted or measured, without anything having failed."""
    stop = Stop.because(StopReason.PAUSED, trigger.detail, trigger=trigger.reason)
    return escalate(state, stop, now, trigger.name)


def record_attempts(state: RunState, *attempts: ModelAttempt) -> RunState:
    """Keep calls of models that brought no answer."""
    kept = (*state.chain.attempts, *attempts)[-KEEP_LAST_ATTEMPTS:]
    return state.with_chain(attempts=bounds.select_latest(kept, bounds.MAX_ATTEMPTS_BYTES))


def after_resolution(
    state: RunState, message: ResolutionSignal, request: Escalation, now: datetime
) -> RunState:
    """Go on as a person says."""
    state = requests.close_request(state, request, "resolved", now)
    if message.action == "abort":
        detail = message.guidance or "aborted by a person"
        return halt(state, build_stop(request, detail, ended_by="a person"), now)
    if message.guidance is not None:
        words = UserTurn(text=message.guidance, origin="guidance")
        state = requests.queue_steering(state, words, now)
    if message.action == "extend" and message.budget is not None:
        budget = budget_extension.extend(state.agent.budget, message.budget, state.ceiling)
        agent = state.agent.with_(budget=budget)
        state = state.with_(agent=agent)
    ledger = loop_detection.reset_calls(state.ledger).with_(failures_in_a_row=0)
    acknowledged = (*state.oversight.acknowledged, *filter(None, [request.trigger]))
    state = state.with_(ledger=ledger).with_oversight(acknowledged=acknowledged)
    return answers.release_if_clear(_reset_for_trigger(state, request))


def build_stop(request: Escalation, detail: str, *, ended_by: str = "") -> Stop:
    """Build the stop of a run that nobody let go on, and which somebody may have ended."""
    return Stop(
        reason=request.reason,
        detail=f"{request.detail}; {detail}",
        next_safe_action=request.next_safe_action,
        ended_by=ended_by,
        quotes=request.trigger == TIERS,
    )


def _reset_for_trigger(state: RunState, request: Escalation) -> RunState:
    """Begin again with what had come to its end: the chain of models, the last tier."""
    if request.trigger == MODELS:
        return state.with_chain(model_index=0, provider_state={}, provider_wait=None)
    if request.trigger == TIERS:
        return state.with_parts(tier=state.parts.tier - 1, tier_failure="")
    if request.trigger == BACKTRACKS:
        # They have seen every retry, and are not asked about those again.
        seen = f"retries:{state.ledger.retries}"
        return state.with_oversight(acknowledged=(*state.oversight.acknowledged, seen))
    return state


def words_since(state: RunState, place: int) -> tuple[UserTurn, ...]:
    """Return what people said behind a place in the transcript, and what binds the model."""
    said = {"steer", "guidance", "constraint"}
    return tuple(
        turn
        for turn in context.select_lasting(state.conversation.items[place:])
        if turn.origin in said
    )


def _describe_progress(state: RunState, place: int) -> str:
    """
    Say how far an approach came: how many calls did something, and the last words beside a call.

    An answer isn't quoted: it failed, and no guardrail may have seen it.
    """
    done = sum(
        isinstance(result, ToolSuccess)
        for item in state.conversation.items[place:]
        if isinstance(item, ToolTurn)
        for result in item.results
    )
    said = [
        item.text
        for item in state.conversation.items[place:]
        if isinstance(item, AssistantTurn) and item.calls and item.text.strip()
    ]
    last = answers.redact(state, shorten(said[-1], 500)) if said else ""
    return f"{pluralize(done, 'call')} succeeded{f'; it said at last: {last}' if last else ''}"
