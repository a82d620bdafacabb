"""Results of calls: those that a run gives itself, and what the others did outside. Pure."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime

from pydantic import JsonValue

from holdfast.contracts import bounds
from holdfast.contracts.bounds import MAX_REDUCED_SUMMARY_CHARS
from holdfast.contracts.calls import (
    AnyCall,
    ErrorType,
    ToolCall,
    ToolFailure,
    ToolResult,
    ToolSuccess,
)
from holdfast.contracts.decisions import (
    Decided,
    Deny,
    Refused,
    Ruling,
    RunInSandbox,
    find_effects,
)
from holdfast.contracts.effects import Compensation, Effect
from holdfast.contracts.run import AgentSnapshot
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.tools import Risk, ToolContract, takes_words
from holdfast.run.limits import loop_detection
from holdfast.run.step import periods
from holdfast.run.summaries import call_line

MAY_HAVE_RUN_STATUSES = {"ok", "outcome_unknown"}
"""The results of calls that ran, or may have."""


def record(
    state: RunState, calls: tuple[CallState, ...], results: tuple[ToolResult, ...], now: datetime
) -> RunState:
    """Keep what calls changed by *now*, or may have."""
    found = {result.call_id: result for result in results}
    fresh = tuple(
        effect
        for call in calls
        if (result := found.get(call.call.call_id)) is not None
        and (effect := _build_effect(state, call, result, now)) is not None
    )
    return (
        keep_effects(state, (*_without_committed_drafts(state, calls, found), *fresh))
        if fresh
        else state
    )


def keep_effects(state: RunState, every: tuple[Effect, ...]) -> RunState:
    """Keep the latest effects, with what undoes them as far as there is room."""
    latest = _limit_effects(every)
    dropped = every[: len(every) - len(latest)]
    return state.with_effects(
        done=latest,
        forgotten=state.effects.forgotten + len(dropped),
        lost=state.effects.lost or any(one.part or one.reported for one in dropped),
    )


def split_by_outcome(
    state: RunState, *, whole: bool
) -> tuple[tuple[Effect, ...], tuple[Effect, ...]]:
    """
    Return what a run did and what stands, and what may have happened.

    The *whole* is for who may have to take it back.
    """
    every = (*_build_forgotten_effects(state), *state.effects.done)
    if not whole:
        every = tuple(map(_drop_compensation, every))
    elif len({one.outcome for one in every}) > 1:
        every = tuple(one.with_(place=place) for place, one in enumerate(every, start=1))
    done = tuple(effect for effect in every if effect.outcome == "done")
    return done, tuple(effect for effect in every if effect.outcome == "unknown")


def _drop_compensation(effect: Effect) -> Effect:
    """Return an effect as the result of a run tells of it: without what taking it back needs."""
    return effect.with_(
        undo=None,
        call=None,
        agents=(),
        first_execution_run_id="",
        drafted=False,
        result=None,
        time_limit=0,
        sandboxed=False,
        during=None,
    )


def replace_effect(state: RunState, index: int, effect: Effect) -> RunState:
    """Keep an effect in the place of one that was done."""
    done = state.effects.done
    return state.with_effects(done=(*done[:index], effect, *done[index + 1 :]))


def remove_effect(state: RunState, index: int) -> RunState:
    """Forget an effect that was taken back: no other call may have done the same, so it may be."""
    undone, effects = state.effects.done[index], state.effects.without(index)
    gone = {*undone.digests}.difference(*(one.digests for one in effects.done))
    return state.with_(effects=effects).with_effects(
        known=tuple(one for one in effects.known if one.digest not in gone),
        unresolved=tuple(one for one in effects.unresolved if one not in gone),
    )


def record_compensation(state: RunState, undone: Compensation, *, since: int = 0) -> RunState:
    """
    Keep what became of the run's effects; those that stand are told, and reported as such.

    Those that nobody came to stand as well: a person has stopped the run meanwhile. What was done
    before may be done again: the same calls are no loop then. Those before the place *since* were
    left as they are.
    """
    effects, ledger = state.effects, loop_detection.reset_calls(state.ledger)
    return state.with_(ledger=ledger).with_effects(
        forgotten=min(effects.forgotten, since),
        stood=max(effects.stood - effects.forgotten, since),
        lost=effects.lost or effects.forgotten > since,
        compensation=merge_compensations(effects.compensation, undone),
    )


def merge_compensations(before: Compensation | None, more: Compensation) -> Compensation:
    """Add to what is told of effects that were taken back."""
    before = before or Compensation()
    return Compensation(
        undone=_latest(before.undone + more.undone),
        not_undone=_latest(before.not_undone + more.not_undone),
    )


def _latest(lines: tuple[str, ...]) -> tuple[str, ...]:
    told = bounds.select_latest(lines, bounds.MAX_COMPENSATION_BYTES)
    left = len(lines) - len(told)
    return (f"{left} more, which history knows", *told) if left else told


def _build_effect(
    state: RunState, call: CallState, result: ToolResult, now: datetime
) -> Effect | None:
    """Return what a call changed; a draft is an effect where it can be taken back."""
    asked, tool = call.call, find_running_tool(state.agent, call)
    ruled = call.ruling if isinstance(call.ruling, Decided) else None
    undo = ruled.undo if ruled else None
    if tool is None or tool.receiver is not None or not isinstance(asked, ToolCall):
        return None  # what the run of a receiver did is told by that
    asked = asked.with_(name=tool.name)
    unknown = result.status == "outcome_unknown"
    changes = unknown or not tool.risk.changes_nothing
    harmless = not changes or (tool.risk is Risk.DRAFT_ONLY and undo is None)
    if harmless or result.status not in MAY_HAVE_RUN_STATUSES:
        return None
    sandboxed = isinstance(call.decision, RunInSandbox)
    stays = sandboxed and tool.side_effect == "local"
    lost = undo is not None and unknown
    digest, named = (*digests_of(call, result), "", "")[:2]
    answer = result.data if isinstance(result, ToolSuccess) and not result.cut else None
    return Effect(
        summary=f"{call_line(asked)}{', if it happened' if unknown else ''}",
        tool=asked.name,
        arguments=(ruled.canonical if ruled else None) or asked.arguments,
        outcome="unknown" if unknown else "done",
        digest=digest,
        named=named,
        local=stays,
        undo=undo,
        call=asked if undo else None,
        agents=(state.agent.name, *state.brief.path) if undo else (),
        first_execution_run_id=state.first_execution_run_id if undo else "",
        drafted=undo is not None and call.drafting is not None,
        result=answer if undo else None,
        time_limit=tool.timeout if lost else 0,
        sandboxed=lost and sandboxed,
        during=periods.find_period(state, ruled, now),
    )


def find_running_tool(agent: AgentSnapshot, call: CallState) -> ToolContract | None:
    """Return the contract of what runs for a call, be it the draft variant, as it was ruled on."""
    tool = agent.find_tool(call.call.name)
    if call.drafting is not None:
        tool = agent.find_any_tool(call.drafting.draft)
    if tool is None or not isinstance(call.ruling, Decided):
        return tool
    return tool.with_risk(call.ruling.runs_as, reaches_out=call.ruling.reaches_out)


def digests_of(call: CallState, result: ToolResult) -> tuple[str, ...]:
    """
    Return what calls have that do the same; nothing where they may be repeated.

    Of what only read when it was allowed something unknown may have happened all the same: by the
    time that it ran, another worker knew it as a write.
    """
    ruled, unknown = call.ruling, result.status == "outcome_unknown"
    if not isinstance(ruled, Decided):
        return ()
    was_read = ruled.runs_as.changes_nothing and unknown
    return () if ruled.repeatable and not was_read else find_effects(call.call, ruled)


def _without_committed_drafts(
    state: RunState, calls: tuple[CallState, ...], found: dict[str, ToolResult]
) -> Iterator[Effect]:
    """
    Leave out drafts that are committed now: they aren't there any more to be taken back.

    Of a commit whose answer was lost nobody knows that, so its draft may be there; and so is what
    an earlier release had drafted otherwise, which nothing commits.
    """
    committed = {
        (call.call.call_id, call.draft.tool)
        for call in calls
        if call.drafting is None
        if call.draft is not None and (result := found.get(call.call.call_id)) is not None
        if result.status == "ok"
    }
    for effect in state.effects.done:
        made = effect.call
        if effect.part or made is None or (made.call_id, effect.tool) not in committed:
            yield effect


def _limit_effects(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """Keep what undoes the latest effects; of earlier ones only that they happened."""
    found: list[Effect] = []
    taken = 0
    for effect in reversed(effects):
        taken += bounds.size(effect)
        found.append(effect if taken <= bounds.MAX_EFFECTS_BYTES // 2 else _reduce(effect))
    return bounds.select_latest(found[::-1], bounds.MAX_EFFECTS_BYTES)


def _reduce(effect: Effect) -> Effect:
    return effect.with_(
        summary=shorten(effect.summary, MAX_REDUCED_SUMMARY_CHARS),
        arguments=None,
        undo=effect.undo and effect.undo.with_(reason=""),
        call=None,
        agents=(),
        first_execution_run_id="",
        result=None,
    )


def _build_forgotten_effects(state: RunState) -> Iterator[Effect]:
    if state.effects.forgotten:
        yield Effect(summary=f"{state.effects.forgotten} earlier changes, which history knows")
    elif state.effects.lost:
        yield Effect(summary="more than is kept, which history knows")


def find_failed_duty(state: RunState, results: Iterable[ToolResult]) -> Stop | None:
    """Say that a run ends because a tool failed, of all that ran, without which it can't go on."""
    for result in results:
        tool = state.agent.find_tool(result.name)
        match result:
            case ToolFailure(status="error" | "outcome_unknown") if tool and tool.must_succeed:
                detail = shorten(f"{result.type}: {result.reason}", 2_000)
                return Stop.because(StopReason.TOOL_FAILED, detail, tool=tool.name)
            case _:
                continue
    return None


def build_refusal(ruling: Ruling) -> ToolFailure | None:
    """Build the result of a call that may not run; null for one that may, or may yet."""
    match ruling:
        case Refused():
            status, said = "error", ruling
        case Decided(decision=Deny() as said):
            status = "denied"
        case Decided():
            return None
    return ToolFailure(
        status=status,
        call_id=ruling.call_id,
        name=ruling.tool,
        type=said.type,
        reason=said.reason,
        next_valid_actions=said.next_valid_actions,
    )


def build_denial(call: AnyCall, kind: ErrorType, reason: str, *actions: str) -> ToolFailure:
    """Build the result of a call that people, or the lack of their word, kept from running."""
    return ToolFailure.of(call, "denied", kind, reason, *actions)


def build_rejection(call: AnyCall, reason: str) -> ToolFailure:
    """Build the result of a call that a person rejected."""
    actions = ("do without it", "ask the user")
    return build_denial(call, "permission_denied", reason, *actions).with_(by_person=True)


def build_expiry(call: AnyCall, request_id: str, expires_at: datetime) -> ToolFailure:
    """Build the result of a call for which a request waited that nobody decided in time."""
    reason = f"nobody decided {request_id} until {expires_at:%Y-%m-%d %H:%M}"
    actions = ("ask for it again", "go on without")
    return build_denial(call, "approval_required", reason, *actions)


def build_review_denial(call: AnyCall, reason: str, why: str, *, by_person: bool) -> ToolFailure:
    """Build the result of a call that a review kept from running, or that nobody reviewed."""
    failure = build_denial(call, "permission_denied", f"{reason}; {why}", "go on without it")
    return failure.with_(by_person=by_person)


def build_abort(call: AnyCall, reason: str) -> ToolFailure:
    """Build the result of a call that the end of its run overtook."""
    return ToolFailure.of(call, "aborted", "aborted", reason)


TOO_LARGE_TO_SHOW = "is too large to be shown whole to the person who would decide"


def build_too_large_denial(call: AnyCall, what: str) -> ToolFailure:
    """Build the result of a call of which somebody would have to approve what they can't see."""
    return build_denial(
        call,
        "permission_denied",
        f"{what} {TOO_LARGE_TO_SHOW}",
        "ask for less at once",
    )


def build_no_room_denial(call: AnyCall) -> ToolFailure:
    """Build the result of a call that isn't run, because those before it brought too much."""
    return build_denial(
        call,
        "permission_denied",
        "not run: the other calls of this turn brought more than there is room for",
        "ask for it again, and for less at once",
    )


def build_answer(call: AnyCall, text: str, contract: ToolContract | None) -> ToolSuccess:
    """Build the result of a question: the answer of a person, which fits what the tool returns."""
    schema = contract.answer_schema if contract is not None else None
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=text[:200],
        data={"answer": text if schema is None or takes_words(schema) else json.loads(text)},
        by_person=True,
    )


def build_question_denial(call: AnyCall) -> ToolFailure:
    """Build the result of a question in a part of a run whose guardrails look at the answers."""
    return build_denial(
        call,
        "permission_denied",
        "nobody is asked here: this is a part of a run whose guardrails look at people's words",
        "go on without an answer",
        "name in your own answer what you would have to know",
    )


def build_draft_result(call: AnyCall, draft_id: str, summary: str, data: JsonValue) -> ToolSuccess:
    """Build the result of a call of which nothing but the draft was to run."""
    return ToolSuccess(
        call_id=call.call_id,
        name=call.name,
        summary=f"only a draft, nothing was committed: {summary}",
        data={"draft_id": draft_id, "committed": False, "draft": data},
    )
