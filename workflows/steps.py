"""What a run does next, and what each step leaves behind: pure functions over its state."""

from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from contracts.base import JsonObject
from contracts.decisions import Decided, RunAsDraftOnly
from contracts.model import ModelCall
from contracts.run import AgentSnapshot, Brief, RunInput, RunResult, Stop
from contracts.state import CallState, RunState
from contracts.tools import Draft, ToolFailure, ToolResult
from contracts.transcript import ToolTurn, UserTurn
from policy import budgets, context, repetition
from workflows import requests, rulings
from workflows.results import draft_only, too_large_to_show
from workflows.transcript import appended

TURN_BYTES = 1_500_000
"""A turn with all of its results goes to the model together, in a payload that may have 2 MB."""

RESULTS_BYTES = 1_000_000
"""What the results of a turn may have of it."""

KEPT_UNRESOLVED = 100
"""How many calls whose outcome nobody knows the state keeps, so that none is repeated blindly."""


class CallModel(NamedTuple):
    """Ask the model for its next turn."""

    model: str


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


class ContinueAsNew(NamedTuple):
    """Go on in a new execution with an empty history."""


class Halt(NamedTuple):
    """End the run without an answer."""

    stop: Stop


class Finish(NamedTuple):
    """The run is over."""


Step: TypeAlias = (
    CallModel
    | Authorize
    | AwaitPeople
    | AwaitResume
    | RunTools
    | Prune
    | ContinueAsNew
    | Halt
    | Finish
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
        return ContinueAsNew()
    if state.suspended:
        return AwaitResume()
    if state.requests:
        return AwaitPeople(min(map(requests.due, state.requests)))
    undecided = tuple(call for call in state.calls if _needs_ruling(call))
    if undecided and not _drafting(state):
        return Authorize(undecided)
    elapsed = (now - state.started_at).total_seconds()
    if state.calls:
        stop = budgets.out_of_time(state.agent.budget, state.ledger, elapsed)
        return Halt(stop) if stop else RunTools(_batch(state))
    if stop := budgets.exhausted(state.agent.budget, state.ledger, elapsed):
        return Halt(stop)
    took_a_turn = state.sent.length > 0  # each execution does, or none would get anywhere
    if (history_is_long or flooded) and took_a_turn:
        return ContinueAsNew()
    if place := _prune_point(state):
        return Prune(place)
    return CallModel(state.agent.models[state.model_index])


def opened(run_id: str, run: RunInput, agent: AgentSnapshot, now: datetime) -> RunState:
    """Begin a run: the goal is the first item of its transcript."""
    if run.budget is not None:
        agent = agent.model_copy(update={"budget": agent.budget.changed_by(run.budget)})
    brief = Brief.model_validate(run.model_dump())
    state = RunState(run_id=run_id, brief=brief, agent=agent, started_at=now)
    return appended(state, UserTurn(text=run.input))


def before_model(state: RunState) -> RunState:
    """Put what people said meanwhile behind the transcript, where the model will read it."""
    if not state.steers or state.paused:
        return state
    return appended(state, *state.steers).model_copy(update={"steers": ()})


def model_call(state: RunState, model: str) -> ModelCall:
    """Build the input of `call_model`: only what the model hasn't seen yet."""
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
    return settled(state.model_copy(update=fresh), now)


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
    state = appended(
        state.model_copy(update={"calls": (), "ledger": ledger}), ToolTurn(results=shown)
    )
    stop = repetition.failing(state.agent.budget, ledger)
    return state if stop is None else requests.given_up(state, stop, now)


def waited(state: RunState, time: timedelta) -> RunState:
    """Count time that people took: no limit on work includes it."""
    ledger = state.ledger
    fresh = ledger.model_copy(update={"waited": ledger.waited + time.total_seconds()})
    return state.model_copy(update={"ledger": fresh})


def suspended(state: RunState, *, on: bool) -> RunState:
    """Hold the run before its next step, or let it go on."""
    return state.model_copy(update={"suspended": on})


def result(state: RunState) -> RunResult:
    """Build the result of a run that is over."""
    return RunResult(
        status=state.outcome or "failed",
        answer=state.answer,
        output=state.output,
        stop=state.stop,
        steps=state.ledger.steps,
        usage=state.ledger.usage.summary,
        provider_state=_shown(state.provider_state) or None,
        confidence=None,
        model=state.model,
    )


def _needs_ruling(call: CallState) -> bool:
    """Whether a call was never ruled upon, or was approved since: then it is decided again."""
    if call.result is not None:
        return False
    return call.ruling is None or bool(call.approvals and rulings.wants_approval(call.ruling))


def _after_tool(state: RunState, call: CallState, result: ToolResult) -> CallState:
    """Keep a result, or the draft that a person is asked to approve next."""
    drafting = drafts(call)
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
        return call.model_copy(update={"draft": draft, "ruling": None, "approvals": ()})
    drafted = draft_only(call.call, draft.draft_id, draft.summary, draft.data)
    return call.model_copy(update={"draft": draft, "result": drafted})


def drafts(call: CallState) -> RunAsDraftOnly | None:
    """Return the decision by which a call's draft variant runs in its place, if it does."""
    return call.decision if isinstance(call.decision, RunAsDraftOnly) else None


def _effect(call: CallState) -> str:
    known = call.ruling.effect if isinstance(call.ruling, Decided) else ""
    return known or repetition.fingerprint(call.call)


def _may_have_happened(state: RunState, result: ToolResult | None) -> bool:
    if result is None or result.status != "outcome_unknown":
        return False
    tool = state.agent.tool(result.name)
    return tool is None or tool.side_effect != "local"


def _batch(state: RunState) -> tuple[CallState, ...]:
    """All open calls that change nothing together; then drafts, then the others, one by one."""
    waiting = tuple(call for call in state.calls if call.result is None)
    harmless = tuple(call for call in waiting if _changes_nothing(state, call))
    return harmless or _drafting(state)[:1] or waiting[:1]


def _drafting(state: RunState) -> tuple[CallState, ...]:
    """Return the calls that are drafted next: people are asked when all drafts are there."""
    return tuple(call for call in state.calls if call.result is None and drafts(call) is not None)


def _changes_nothing(state: RunState, call: CallState) -> bool:
    tool = state.agent.tool(call.call.name)
    ruled = isinstance(call.ruling, Decided) and call.ruling.risk.changes_nothing
    return tool is not None and tool.risk.changes_nothing and ruled


def _prune_point(state: RunState) -> int:
    if state.context_bytes <= state.agent.max_context_bytes:
        return 0
    place = context.prune_point(state.items, state.agent.max_context_bytes)
    return place if place > state.pruned_before else 0


def _shown(provider_state: JsonObject) -> JsonObject:
    """Leave out what an adapter keeps for itself."""
    shown: JsonObject = {}
    for provider, kept in provider_state.items():
        known = kept if isinstance(kept, dict) else {}
        if public := {key: value for key, value in known.items() if not key.startswith("_")}:
            shown[provider] = public
    return shown
