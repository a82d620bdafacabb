"""What each step leaves behind in the state of a run. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from holdfast.contracts import bounds
from holdfast.contracts.approvals import Review
from holdfast.contracts.base import JsonObject
from holdfast.contracts.calls import (
    Draft,
    ToolFailure,
    ToolResult,
    idempotency_key,
)
from holdfast.contracts.errors import InvalidInput
from holdfast.contracts.model import ModelCall, ModelPurpose, ModelReply
from holdfast.contracts.run import AgentSnapshot, RunInput, RunMetadata, RunResult
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.effects import EffectRecord
from holdfast.contracts.state.phase import Ended
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import UserTurn
from holdfast.contracts.usage import CallUsage
from holdfast.run import answers, escalations, tool_calls, tool_results
from holdfast.run.delegation import ceilings
from holdfast.run.limits import budgets, fallback, loop_detection, plans, routing, tool_choice
from holdfast.run.limits.reservations import add_reservations, book_ended_calls
from holdfast.run.step.drafts import is_draft
from holdfast.run.tool_results import build_draft_result, build_too_large_denial
from holdfast.run.transcript import append_items, append_results

_RESULT_MARGIN_BYTES = 1_000
"""Commas and names between what is measured by itself."""

_BYTES_PER_TOKEN = 4
"""About what a token of English or JSON has."""

_PRICED_TOKENS = 1_000_000
"""Tokens that a price is for."""

KEEP_LAST_UNRESOLVED_CALLS = 100
"""Calls whose outcome nobody knows and that are denied by name; beyond them a person is asked."""


def start_run(
    run: RunInput,
    agent: AgentSnapshot,
    now: datetime,
    *,
    run_id: str,
    first_execution_run_id: str,
    execution: str,
) -> RunState:
    """Begin a run: the goal is the first item of its transcript."""
    if run.budget is not None:
        agent = agent.with_(budget=agent.budget.with_changes(run.budget))
    if run.ceiling is not None:
        lower = budgets.cap_limits(agent.budget, run.ceiling)
        agent = agent.with_(budget=lower)
    agent = ceilings.cut_tools(agent, run)
    if run.review is not None:
        agent = agent.copy_with({"review": ceilings.join_reviews(run.review, agent.review)})
    if run.output_schema is not None:
        agent = agent.with_(output_schema=run.output_schema)
        agent = agent.with_(prefix_digest=agent.prefix.digest)
    state = RunState(
        run_id=run_id,
        first_execution_run_id=first_execution_run_id,
        execution=execution,
        brief=RunMetadata.model_validate(run.model_dump()),
        agent=agent,
        started_at=now,
        ceiling=run.ceiling,
        budget=run.budget,
        effects=EffectRecord(known=run.known),
        output_schema=run.output_schema,
        planning=run.mode == "plan",
    )
    said = (plans.PLAN_FIRST,) if state.planning else ()
    return append_items(state, UserTurn(text=run.input or ""), *said)


def choose_models(agent: AgentSnapshot, chosen: tuple[str, ...]) -> AgentSnapshot:
    """Have a run ask some of its agent's models alone; raises InvalidInput for any other."""
    for model in chosen:
        if model not in agent.models:
            known = ", ".join(agent.models) or "none"
            raise InvalidInput(f"agent {agent.name!r} has no model {model!r} (it has: {known})")
        if chosen.count(model) > 1:
            raise InvalidInput(f"models: {model!r} is named twice")
    if not chosen:
        return agent
    routes = tuple(one for one in agent.routes if one.model in chosen)
    return agent.with_(models=chosen, routes=routes)


def append_steering(state: RunState) -> RunState:
    """Put what people said meanwhile behind the transcript, where the model will read it."""
    if not state.conversation.steers or state.chain.paused:
        return state
    return append_items(state, *state.conversation.steers).with_conversation(steers=())


def build_model_call(state: RunState, model: str, purpose: ModelPurpose = "turn") -> ModelCall:
    """Build the input of `call_model`: only what the model hasn't seen yet."""
    said, left = state.conversation, len(state.agent.models) - state.chain.model_index - 1
    hosted = bool(state.agent.hosted)
    usage_left = budgets.usage_left(state.agent.budget, state.ledger)
    return ModelCall(
        run_id=state.run_id,
        tenant=state.brief.tenant,
        turn=state.turns_taken + 1,
        app=state.agent.app,
        model=model,
        prefix=state.agent.prefix_digest,
        origin=said.origin,
        base=said.sent,
        items=said.items[said.sent.length :],
        head=said.head,
        pruned_before=said.pruned_before,
        max_context_bytes=state.agent.max_context_bytes,
        strategy=state.brief.strategy,
        provider_state=_select_provider_state(state, model),
        hidden=said.hidden,
        summary=said.summary,
        summarised_before=said.summarised_before,
        purpose=purpose,
        unheard=state.chain.unheard,
        calls_left=budgets.calls_left(state.agent.budget, state.ledger) if hosted else None,
        patience=fallback.compute_max_wait(state.agent.fallback, models_left=left),
        stream=purpose == "turn" and state.streams_text,
        tools=tool_choice.choose_tools(state) if purpose == "turn" else (),
        left=usage_left,
        reserved=CallUsage.of(reserve_call(state).summary) if usage_left else CallUsage(),
    )


def _select_provider_state(state: RunState, model: str) -> JsonObject:
    """Return what providers keep; nothing where another model has spoken since it was kept."""
    speaker = routing.find_speaker(state)
    moved = bool(state.agent.routes) and speaker not in {None, model}
    return {} if moved else state.chain.provider_state


def after_tools(
    state: RunState,
    results: tuple[ToolResult, ...],
    now: datetime,
    batch: tuple[CallState, ...] = (),
) -> RunState:
    """
    Keep the results of calls that ran; they come in the order of *batch*.

    What it did stays known though the run has ended meanwhile, and closed its turn.
    """
    ledger = book_ended_calls(state, batch, results)
    ledger = ledger.with_(tool_calls=ledger.tool_calls + len(results))
    found = {result.call_id: result for result in results}
    ran = state.calls or batch
    unresolved = tuple(
        digest
        for call in ran
        if call.result is None
        and (result := found.get(call.call.call_id)) is not None
        and _has_unknown_effect(state, call, result)
        for digest in tool_results.digests_of(call, result)
    )
    calls = tuple(
        _after_tool(state, call, found[call.call.call_id])
        if call.result is None and call.call.call_id in found
        else call
        for call in state.calls
    )
    state = tool_results.record(
        state.with_(calls=calls, ledger=ledger).with_oversight(
            releases=_select_remaining_releases(state, calls, found)
        ),
        ran,
        results,
        now,
    )
    state = _with_unresolved_calls(state, unresolved)
    return close_turn_if_complete(plans.after_tools(state, ran, results), now)


def restore_rulings(
    state: RunState, batch: Iterable[CallState], results: Iterable[ToolResult]
) -> RunState:
    """
    Have calls of a batch that ran be those that were decided: that says what they have done.

    Where a reset was noticed meanwhile, what has yet to begin is decided anew.
    """
    ran = {result.call_id for result in results}
    rulings = {one.call.call_id: one.ruling for one in batch if one.call.call_id in ran}
    calls = tuple(
        call.with_(ruling=rulings.get(call.call.call_id, call.ruling))
        if call.result is None
        else call
        for call in state.calls
    )
    return state if calls == state.calls else state.with_(calls=calls)


def _select_remaining_releases(
    state: RunState, calls: tuple[CallState, ...], found: dict[str, ToolResult]
) -> tuple[Review, ...]:
    """
    Return the approved reviews that still have something to release.

    That of a domain isn't used up by a call that has done nothing, nor by one that only drafted.
    """
    changed = any(
        call.drafting is None and not tool_calls.drafts_at_most(state, call)
        for call in _select_begun(state, found)
    )
    over = {call.call.call_id for call in calls if call.result is not None}
    return tuple(
        one
        for one in state.oversight.releases
        if (one.call_id not in over if one.call_id else not changed)
    )


def use_up_reviews_by_drafts(
    before: RunState, after: RunState, results: Iterable[ToolResult]
) -> RunState:
    """Have a draft that was called use the review of a domain up, as in earlier releases."""
    drafted = any(
        call.drafting is None and not tool_calls.changes_nothing(before, call)
        for call in _select_begun(before, {result.call_id: result for result in results})
    )
    left = tuple(one for one in after.oversight.releases if one.call_id)
    if not drafted or left == after.oversight.releases:
        return after
    return after.with_oversight(releases=left)


def _select_begun(state: RunState, found: Mapping[str, ToolResult]) -> Iterator[CallState]:
    """Yield the calls of a turn that may have run, by their results."""
    for call in state.calls:
        result = found.get(call.call.call_id)
        if result is not None and result.status in tool_results.MAY_HAVE_RUN_STATUSES:
            yield call


def close_turn_if_complete(state: RunState, now: datetime) -> RunState:
    """Close the turn when each of its calls has its one result."""
    results = tuple(call.result for call in state.calls if call.result is not None)
    if not results or len(results) < len(state.calls):
        return state
    ledger = add_reservations(state)
    for result in results:
        ledger = loop_detection.count_result(ledger, result)
    state = append_results(state.with_(ledger=ledger), results)
    stop = loop_detection.check_failures(state.agent.budget, state.ledger)
    return state if stop is None else escalations.give_up(state, stop, now)


def add_waiting_time(state: RunState, time: timedelta) -> RunState:
    """Count time that people took: no limit on work includes it."""
    ledger = state.ledger
    fresh = ledger.with_(waited=ledger.waited + time.total_seconds())
    return state.with_(ledger=fresh)


def set_suspension(state: RunState, *, on: bool) -> RunState:
    """Hold the run before its next step, or let it go on."""
    return state.with_(suspended=on)


def build_result(state: RunState, *, has_parent: bool = False) -> RunResult:
    """Build the result of a run that is over; of many approaches it has the latest."""
    done, unresolved = tool_results.split_by_outcome(state, whole=has_parent)
    result = RunResult(
        status=state.outcome or "failed",
        answer=state.answering.answer,
        output=state.answering.output,
        stop=state.stop,
        steps=state.ledger.steps,
        usage=state.ledger.usage.summary,
        provider_state=drop_private_keys(state.chain.provider_state) or None,
        confidence=state.answering.confidence,
        model=(routing.find_speaker(state) if state.agent.routes else None) or state.model,
        compensation=state.effects.compensation,
        effects=done,
        unresolved=unresolved,
        undone=state.effects.undone if has_parent else (),
        failures=state.chain.attempts if has_parent else (),
        ledger=state.ledger if has_parent else None,
        tainted=has_parent and state.trust == "untrusted",
        summary=state.phase.summary if isinstance(state.phase, Ended) else None,
    )
    room = bounds.MAX_PAYLOAD_BYTES - _RESULT_MARGIN_BYTES - bounds.size(result)
    told = bounds.select_latest(answers.redact_approaches(state), room)
    return result.with_(attempts=told)


def _after_tool(state: RunState, call: CallState, result: ToolResult) -> CallState:
    """Keep a result, or the draft that a person is asked to approve next."""
    drafting = call.drafting
    if drafting is None or isinstance(result, ToolFailure):
        return call.with_(result=result)
    drafted = bounds.size(result) if is_draft(call) else 0
    draft = Draft(
        draft_id=idempotency_key(state.first_execution_run_id, call.call.call_id, "draft"),
        call_id=call.call.call_id,
        tool=drafting.draft,
        summary=result.summary,
        data=result.data,
    )
    shown = sum(bounds.size(one.draft) for one in state.calls if one is not call and one.draft)
    if result.cut or shown + bounds.size(draft) > bounds.MAX_DRAFTS_BYTES:
        failure = build_too_large_denial(call.call, f"what {drafting.draft} prepared")
        return call.with_(result=failure, drafted_bytes=drafted)
    if drafting.then == "approval":
        # Whatever was approved before, this draft wasn't shown.
        return call.with_(
            draft=draft, ruling=None, approvals=(), guarded="", drafted_bytes=drafted
        )
    drafted = build_draft_result(call.call, draft.draft_id, draft.summary, draft.data)
    return call.with_(draft=draft, result=drafted)


def _with_unresolved_calls(state: RunState, fresh: tuple[str, ...]) -> RunState:
    """Keep the latest writes of unknown outcome; that one was dropped is never forgotten."""
    every = tuple(dict.fromkeys((*state.effects.unresolved, *fresh)))
    lost = state.effects.lost or len(every) > KEEP_LAST_UNRESOLVED_CALLS
    return state.with_effects(unresolved=every[-KEEP_LAST_UNRESOLVED_CALLS:], lost=lost)


def _has_unknown_effect(state: RunState, call: CallState, result: ToolResult) -> bool:
    """Whether nobody knows of a call that may have changed something outside the workspace."""
    if result.status != "outcome_unknown":
        return False
    tool = tool_results.find_running_tool(state.agent, call)
    return tool is None or tool.side_effect != "local"


def drop_private_keys(provider_state: JsonObject) -> JsonObject:
    """Leave out what an adapter keeps for itself."""
    shown: JsonObject = {}
    for provider, kept in provider_state.items():
        known = kept if isinstance(kept, dict) else {}
        if public := {key: value for key, value in known.items() if not key.startswith("_")}:
            shown[provider] = public
    return shown


def charge(state: RunState, reply: ModelReply) -> RunState:
    """Count what a reply used, and what the attempts before it did."""
    if reply.failed_usage is not None:
        state = charge_failed_usage(state, reply.failed_usage)
    hosted = sum(part.kind == "hosted_call" for part in reply.parts)
    ledger = budgets.after_model_call(state.ledger, reply.usage)
    ledger = ledger.with_(hosted_calls=ledger.hosted_calls + hosted)
    return state.with_(ledger=ledger).with_chain(provider_wait=None)


def charge_broken_off(state: RunState) -> RunState:
    """Count a call that was broken off: nobody knows what it used, so what was reserved counts."""
    return charge_failed_usage(state, reserve_call(state))


def reserve_call(state: RunState) -> CallUsage:
    """
    Return what is reserved for a call: what the one before it used.

    Before there was a reply that is what is sent, by its size, at the price of the model's input.
    """
    reserved = budgets.estimate_next_call(state.ledger)
    return reserved if reserved.total_tokens else _estimate_sent(state)


def _estimate_sent(state: RunState) -> CallUsage:
    sent = (state.conversation.context_bytes + bounds.size(state.agent.prefix)) // _BYTES_PER_TOKEN
    facts = next((one for one in state.agent.facts if one.model == state.model), None)
    price = facts.input_price if facts else None
    cost = None if price is None else price * sent / _PRICED_TOKENS
    return CallUsage(input_tokens=sent, estimated_cost=cost)


def charge_failed_usage(state: RunState, used: CallUsage) -> RunState:
    """Count what attempts without a reply used up."""
    ledger = state.ledger.with_(
        usage=state.ledger.usage + used, failed_usage=state.ledger.failed_usage + used
    )
    return state.with_(ledger=ledger)
