"""What a run does next, and what each step leaves behind: pure functions over its state."""

from datetime import datetime, timedelta

from contracts.base import JsonObject
from contracts.decisions import Decided
from contracts.model import ModelCall
from contracts.run import AgentSnapshot, Brief, RunInput, RunResult, Stop
from contracts.state import CallState, RunState
from contracts.tools import Draft, ToolFailure, ToolResult
from contracts.transcript import ToolTurn, UserTurn
from policy import budgets, context, escalation, fallback, repetition
from workflows import batches, compaction, effects, escalations, gates, requests, reviews
from workflows.results import draft_only, too_large_to_show
from workflows.step import (
    AskForReview,
    Authorize,
    AwaitPeople,
    AwaitResume,
    CallModel,
    Compensate,
    ContinueAsNew,
    Finish,
    GoBack,
    Guard,
    Halt,
    MarkCheckpoint,
    OpenProject,
    Pause,
    Prune,
    Release,
    RunTier,
    RunTools,
    Step,
)
from workflows.transcript import appended

TURN_BYTES = 1_500_000
"""A turn with all of its results goes to the model together, in a payload that may have 2 MB."""

RESULTS_BYTES = 1_000_000
"""What the results of a turn may have of it."""

KEPT_UNRESOLVED = 100
"""How many calls whose outcome nobody knows the state keeps, so that none is repeated blindly."""


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
        return ContinueAsNew()
    held = _held(state)
    if held is not None:  # a step without fields is an empty tuple
        return held
    elapsed = (now - state.started_at).total_seconds()
    if state.calls:
        return _with_calls(state, elapsed)
    if state.candidate is not None:
        return _with_answer(state)
    if looks := gates.before_turn(state):
        return Guard("turn", looks)
    end = _at_its_end(state, elapsed)
    if end is not None:
        return end
    took_a_turn = state.sent.length > 0  # each execution does, or none would get anywhere
    if (history_is_long or flooded) and took_a_turn:
        return ContinueAsNew()
    return _towards_an_answer(state)


def _held(state: RunState) -> Step | None:
    """Say what has to be over before anything else may happen."""
    if state.suspended:
        return AwaitResume()
    if state.requests:
        return AwaitPeople(min(map(requests.due, state.requests)))
    if state.tripped is not None:
        return Compensate()
    return GoBack() if state.dead_end else None


def _with_calls(state: RunState, elapsed: float) -> Step:
    undecided = batches.undecided(state)
    if undecided and not batches.drafting(state):
        return Authorize(undecided)
    if stop := budgets.out_of_time(state.agent.budget, state.ledger, elapsed):
        return Halt(stop)
    batch = batches.following(state)
    if not all(batches.changes_nothing(state, call) for call in batch):
        triggers = state.agent.triggers
        sensitive = triggers and escalation.sensitive(triggers, state.brief.domain, state.reviewed)
        if sensitive:
            return AskForReview(reviews.of_domain(state, sensitive, batch), state.agent.review)
    if looks := gates.before_calls(state, batch):
        return Guard("calls", looks, batch)
    return RunTools(batch)


def _with_answer(state: RunState) -> Step:
    gate = gates.next_gate(state)
    if gate == "review" and (lacking := gates.unreviewed(state)):
        spec, what = lacking
        return AskForReview(
            reviews.of_answer(state, spec, what), spec.review or state.agent.review
        )
    if gate == "confidence" and (doubt := gates.doubt(state)):
        return Pause(doubt)
    if gate is None:
        return Release()
    return Guard(gate, gates.at_gate(state, gate))


def _at_its_end(state: RunState, elapsed: float) -> Step | None:
    """Say what keeps the run from going on: a person is asked before a limit is met."""
    budget, ledger, triggers = state.agent.budget, state.ledger, state.agent.triggers
    if triggers is not None and state.agent.escalates:
        worked = budgets.worked_seconds(ledger, elapsed)
        if paused := escalation.paused_by(triggers, budget, ledger, worked, state.acknowledged):
            return Pause(paused)
    if stop := budgets.exhausted(budget, ledger, elapsed):
        return Halt(stop)
    # A release without triggers had no reservations either.
    if triggers is not None and (stop := budgets.would_exceed(budget, ledger)):
        return _ahead_of_a_limit(state, stop)
    return None


def _ahead_of_a_limit(state: RunState, stop: Stop) -> Step | None:
    """Stop before a call that would go too far; who hasn't been asked about it is asked first."""
    about_tokens = stop.reason.startswith("max_tokens")
    was_asked = f"tokens:{state.agent.budget.max_tokens}" in state.acknowledged
    if not state.agent.escalates or (about_tokens and was_asked):
        return Halt(stop)
    name = f"estimate:{stop.reason}"
    if name in state.acknowledged:
        return None  # they let it go on: the limit itself still holds
    return Pause(escalation.Trigger(name, "pause_and_escalate", stop.reason, stop.detail))


def _towards_an_answer(state: RunState) -> Step:
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


def opened(run_id: str, run: RunInput, agent: AgentSnapshot, now: datetime) -> RunState:
    """Begin a run: the goal is the first item of its transcript."""
    if run.budget is not None:
        agent = agent.model_copy(update={"budget": agent.budget.changed_by(run.budget)})
    if run.ceiling is not None:
        lower = budgets.within(agent.budget, run.ceiling)
        agent = agent.model_copy(update={"budget": lower})
    brief = Brief.model_validate(run.model_dump())
    state = RunState(run_id=run_id, brief=brief, agent=agent, started_at=now, ceiling=run.ceiling)
    return appended(state, UserTurn(text=run.input))


def before_model(state: RunState) -> RunState:
    """Put what people said meanwhile behind the transcript, where the model will read it."""
    if not state.steers or state.paused:
        return state
    return appended(state, *state.steers).model_copy(update={"steers": ()})


def model_call(state: RunState, model: str, *, without_tools: bool = False) -> ModelCall:
    """Build the input of `call_model`: only what the model hasn't seen yet."""
    left = len(state.agent.models) - state.model_index - 1
    rules = state.agent.fallback
    return ModelCall(
        run_id=state.run_id,
        turn=state.ledger.steps + 1,
        model=model,
        prefix=state.agent.prefix_digest,
        origin=state.origin,
        base=state.sent,
        items=state.items[state.sent.length :],
        head=state.head,
        pruned_before=state.pruned_before,
        max_context_bytes=state.agent.max_context_bytes,
        strategy=state.brief.strategy,
        provider_state=state.provider_state,
        hidden=state.hidden,
        summary=state.summary,
        summarised_before=state.summarised_before,
        without_tools=without_tools,
        patience=None if rules is None else fallback.patience(rules, models_left=left),
    )


def after_tools(state: RunState, results: tuple[ToolResult, ...], now: datetime) -> RunState:
    """Keep the results of calls that ran; they come in the order of `RunTools.batch`."""
    ledger = state.ledger.model_copy(update={"tool_calls": state.ledger.tool_calls + len(results)})
    found = {result.call_id: result for result in results}
    unresolved = tuple(
        _effect(call)
        for call in state.calls
        if call.result is None and _may_have_happened(state, found.get(call.call.call_id))
    )
    calls = tuple(
        _after_tool(state, call, found[call.call.call_id])
        if call.result is None and call.call.call_id in found
        else call
        for call in state.calls
    )
    fresh = {
        "calls": calls,
        "ledger": ledger,
        "unresolved": (*state.unresolved, *unresolved)[-KEPT_UNRESOLVED:],
    }
    state = effects.remembered(state.model_copy(update=fresh), state.calls, results)
    return settled(state, now)


def settled(state: RunState, now: datetime) -> RunState:
    """Close the turn when each of its calls has its one result."""
    results = tuple(call.result for call in state.calls if call.result is not None)
    if not results or len(results) < len(state.calls):
        return state
    ledger = state.ledger
    for result in results:
        ledger = repetition.count_result(ledger, result)
    room = TURN_BYTES - context.size(state.items[-1])  # which is the turn that asked for them
    shown = context.bounded(results, min(room, RESULTS_BYTES))
    turn = ToolTurn(results=shown)
    if state.agent.budget.max_result_chars is not None:
        read = ledger.result_chars + len(turn.model_dump_json())
        ledger = ledger.model_copy(update={"result_chars": read})
    state = appended(state.model_copy(update={"calls": (), "ledger": ledger}), turn)
    stop = repetition.failing(state.agent.budget, ledger)
    return state if stop is None else escalations.given_up(state, stop, now)


def waited(state: RunState, time: timedelta) -> RunState:
    """Count time that people took: no limit on work includes it."""
    ledger = state.ledger
    fresh = ledger.model_copy(update={"waited": ledger.waited + time.total_seconds()})
    return state.model_copy(update={"ledger": fresh})


def suspended(state: RunState, *, on: bool) -> RunState:
    """Hold the run before its next step, or let it go on."""
    return state.model_copy(update={"suspended": on})


def result(state: RunState, *, has_parent: bool = False) -> RunResult:
    """Build the result of a run that is over."""
    return RunResult(
        status=state.outcome or "failed",
        answer=state.answer,
        output=state.output,
        stop=state.stop,
        steps=state.ledger.steps,
        usage=state.ledger.usage.summary,
        provider_state=_shown(state.provider_state) or None,
        confidence=state.confidence,
        model=state.model,
        attempts=state.approaches,
        compensation=state.compensation,
        ledger=state.ledger if has_parent else None,
    )


def _after_tool(state: RunState, call: CallState, result: ToolResult) -> CallState:
    """Keep a result, or the draft that a person is asked to approve next."""
    drafting = call.drafting
    if drafting is None or isinstance(result, ToolFailure):
        return call.model_copy(update={"result": result})
    if result.artifact is not None:
        return call.model_copy(update={"result": too_large_to_show(call.call, drafting.draft)})
    draft = Draft(
        draft_id=f"{state.run_id}/{call.call.call_id}/draft",
        call_id=call.call.call_id,
        tool=drafting.draft,
        summary=result.summary,
        data=result.data,
    )
    if drafting.then == "approval":
        # Whatever was approved before, this draft wasn't shown.
        return call.model_copy(
            update={"draft": draft, "ruling": None, "approvals": (), "guarded": False}
        )
    drafted = draft_only(call.call, draft.draft_id, draft.summary, draft.data)
    return call.model_copy(update={"draft": draft, "result": drafted})


def _effect(call: CallState) -> str:
    known = call.ruling.effect if isinstance(call.ruling, Decided) else ""
    return known or repetition.fingerprint(call.call)


def _may_have_happened(state: RunState, result: ToolResult | None) -> bool:
    if result is None or result.status != "outcome_unknown":
        return False
    tool = state.agent.tool(result.name)
    return tool is None or tool.side_effect != "local"


def _shown(provider_state: JsonObject) -> JsonObject:
    """Leave out what an adapter keeps for itself."""
    shown: JsonObject = {}
    for provider, kept in provider_state.items():
        known = kept if isinstance(kept, dict) else {}
        if public := {key: value for key, value in known.items() if not key.startswith("_")}:
            shown[provider] = public
    return shown
