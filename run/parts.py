"""What parts of a run did: kept for the whole, and told to whoever comes next. Pure."""

from collections.abc import Collection, Mapping
from datetime import datetime

from holdfast.contracts import bounds
from holdfast.contracts.bounds import MAX_LISTED_EFFECTS
from holdfast.contracts.calls import RecordedResult, ToolFailure
from holdfast.contracts.decisions import Decided, MayRun
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.effects import Effect, KnownEffect, Period
from holdfast.contracts.run import RunResult
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.transcript import AssistantTurn, TranscriptItem, UserTurn
from holdfast.run import context, escalations, tool_calls, tool_results, transcript, turns
from holdfast.run.delegation.subagents import find_delegation
from holdfast.run.earlier import recorded_results
from holdfast.run.sessions import hiding
from holdfast.run.step import periods, undoing

UNKNOWN_EFFECT = KnownEffect(tool="", digest="", outcome="unknown")
"""What was done by a part that was lost, or of which too much was done to be kept."""


def has_places(result: RunResult) -> bool:
    """Whether some of what a part did is known to be done and some isn't, in whatever order."""
    return any(one.place for one in result.effects)


def has_others(state: RunState, during: Period) -> bool:
    """Whether others did something beside a part, or may have."""
    return periods.count_beside(state.effects.done, during) > 0


def after_result(
    state: RunState,
    part: str,
    result: RunResult,
    during: Period,
    *,
    in_order: bool = True,
    beside: bool = True,
) -> RunState:
    """
    Take over what a part did, what it took back, and which models failed it.

    What it did is taken back in the order of that, and of what others did *beside* it while it
    worked; a run of an earlier release had another one.
    """
    told = (*result.effects, *result.unresolved)
    if in_order:
        told = sorted(told, key=lambda one: one.place)
    attributed = (_attribute_to_part(part, one) for one in told)
    theirs, done = tuple(periods.limit_periods(attributed, during)), state.effects.done
    every = periods.merge_effects(done, theirs, during) if beside else (*done, *theirs)
    state = escalations.record_attempts(
        tool_results.keep_effects(state, every), *result.failures
    ).with_parts(tainted=state.parts.tainted or result.tainted)
    state = undoing.keep_undone(state, *result.undone) if result.undone else state
    if result.compensation is None:
        return state
    together = tool_results.merge_compensations(state.effects.compensation, result.compensation)
    return state.with_effects(compensation=together)


def after_loss(
    state: RunState,
    part: str,
    agent: str,
    why: str = "whose run ended without a result",
    during: Period | None = None,
) -> RunState:
    """Keep that a part has no result, and *why*: nobody knows what it did, or still does."""
    whatever = Effect(
        summary=f"{part}: whatever {agent} did, {why}",
        outcome="unknown",
        part=part,
        during=during,
    )
    return tool_results.keep_effects(state, (*state.effects.done, whatever))


def build_known_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """Return what a part that begins now doesn't do again; what stays in a workspace, it may."""
    lost = state.effects.lost or state.effects.forgotten > 0
    return _add_unresolved_calls(state, _merge_effects(state, state.effects.done, lost=lost))


def build_own_known_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """
    Return what the run itself doesn't do again: what was done before it, or by its parts.

    What couldn't be taken back of an approach that failed is done for the next one, too. Other
    calls of its own it may repeat, but for those of unknown outcome, which it keeps apart.
    """
    settled = tuple(one for one in state.effects.done if one.part or one.reported)
    return _merge_effects(state, settled, lost=state.effects.lost)


def build_session_effects(state: RunState) -> tuple[KnownEffect, ...]:
    """
    Return what the next message of a session doesn't do again: what the ones before it did.

    Of very many that were done the latest are known: a session that asked about each change from
    then on would be of no use. But what nobody knows of nobody knows in later messages either: of
    a part that was lost, and of calls of unknown outcome, however much was done since.
    """
    every, before = build_known_effects(state), state.effects.known
    known = tuple(one for one in every if one != UNKNOWN_EFFECT)
    lost = state.effects.lost or UNKNOWN_EFFECT in before or _has_lost_part(state.effects.done)
    if lost or sum(map(_is_unknown, known)) >= bounds.MAX_KNOWN_EFFECTS - 1:
        return (UNKNOWN_EFFECT, *_keep_latest(known, bounds.MAX_KNOWN_EFFECTS - 1))
    return known


def describe_effects(state: RunState, *, quoted: bool = True) -> str:
    """
    Write what was done, for the goal of a part that begins now; empty where nothing was.

    Calls that may not be *quoted* are named by their tools.
    """
    outside = [one for one in state.effects.done if one.digest and not one.local]
    told = [(one.outcome, one.summary if quoted else _name_effect(one)) for one in outside]
    done = [text for outcome, text in told if outcome == "done"]
    unknown = [text for outcome, text in told if outcome == "unknown"]
    lost = [one.summary for one in state.effects.done if not one.tool]
    return "\n\n".join(
        filter(
            None,
            (
                _render_list("Done already for this goal; the same call is refused:", done),
                _render_list(
                    "Nobody knows whether this happened; the same call is refused:", unknown
                ),
                _render_list(
                    "Nobody knows what was done; a person is asked before any change:", lost
                ),
            ),
        )
    )


def _name_effect(effect: Effect) -> str:
    """Name a call by its tool, and by the part that made it."""
    return ": ".join(filter(None, (effect.part, effect.tool)))


def describe_standing_effects(state: RunState) -> str:
    """Write what couldn't be taken back of approaches that failed; empty where everything was."""
    standing = [one.summary for one in state.effects.done if one.reported]
    if state.effects.lost:
        standing.insert(0, "and more, which nobody can name any more")
    return _render_list("This could not be taken back, and still stands:", standing)


def build_carryover(
    state: RunState,
    begun: tuple[CallState, ...],
    lost_parts: Mapping[str, str],
    now: datetime,
    fork_at: int | None = None,
    *,
    dry: bool = False,
) -> Carryover:
    """
    Return what a run that is over leaves to one that tries it again, or forks it before a turn.

    Of the calls that had *begun* and have no result nobody knows whether they happened, nor what
    its *lost_parts* did, each with its agent. Nothing is left of approvals, nor of what providers
    keep. What was done behind the turn of a fork is known all the same: it stands. A *dry* one
    gets what came of all calls. Raises InvalidInput where there is no such turn any more.
    """
    outcome, stop = state.outcome, state.stop
    state = close_turn(state, begun, now)
    state = _leave_words(state if fork_at is not None else _settle_last_turn(state))
    recorded = _collect_results(state) if dry else ()
    for part, agent in lost_parts.items():
        state = after_loss(state, part, agent)
    told = _tell_effects(state)
    if fork_at is not None:
        state = transcript.cut_before_turn(state, fork_at)
    left = Carryover(
        first_execution_run_id=state.first_execution_run_id,
        outcome=outcome,
        reason=stop.reason if stop else "",
        brief=state.brief,
        budget=state.budget,
        ceiling=state.ceiling,
        known=build_known_effects(state),
        told=told,
        origin=state.conversation.head.digest,
        items=(),
        summary=state.conversation.summary,
        call_marks=state.call_marks,
        recorded=recorded,
        withheld=state.withholds,
        guarded_by=state.agent.answer_guardrails if state.parts.handoffs else frozenset(),
    )
    items, seen, _ = transcript.carry_items(state, bounds.size(left))
    of_project = sum(map(context.is_of_project, items[: seen.summarised_before]))
    return left.with_(
        items=tuple(_leave_plan(one) for one in items if not context.is_of_project(one)),
        summary=seen.summary,
        summarised_before=seen.summarised_before - of_project,
    )


def _leave_words(state: RunState) -> RunState:
    """Put the words that waited behind the others, and hide of all what nobody has let pass."""
    state = hiding.hide_objections(state)
    state = transcript.append_items(state, *state.conversation.steers)
    return hiding.hide_unseen_items(state)


def _collect_results(state: RunState) -> tuple[RecordedResult, ...]:
    """Return what came of calls, be it of approaches that were left."""
    said = state.conversation
    if hiding.was_handed_over(state):
        return recorded_results.collect(context.leave_hidden(said.items, said.hidden))
    return recorded_results.collect(said.items)


def close_turn(state: RunState, begun: tuple[CallState, ...], now: datetime) -> RunState:
    """
    Give each call of an open turn its result; what may have happened is kept as that.

    Whoever ended the run may have closed its turn before; what had begun may happen all the same.
    """
    under_way = tuple(call for call in begun if _may_leave_something(state, call))
    lost = tuple(
        ToolFailure.of(
            call.call,
            "outcome_unknown",
            "aborted",
            "the run ended while it was under way; it may have happened all the same",
            "find out whether it happened before you ask for it again",
        )
        for call in under_way
    )
    if lost:
        state = turns.restore_rulings(state, under_way, lost)
        state = turns.after_tools(state, lost, now, under_way)
    names = {call.call.call_id for call in begun}
    state = state.with_(calls=tuple(_abort_under_way(state, call, names) for call in state.calls))
    return transcript.abort_open_calls(state, "broken off: the run ended before it began")


def _abort_under_way(state: RunState, call: CallState, begun: Collection[str]) -> CallState:
    """Say of a call that it may have begun: it ran, or it is a task that was allowed."""
    delegates = find_delegation(state, call) is not None
    allowed = delegates and isinstance(call.decision, MayRun) and not call.stale
    if call.result is not None or not (allowed or call.call.call_id in begun):
        return call
    why = "broken off: the run ended before its result came"
    return call.with_(result=tool_results.build_abort(call.call, why))


def _may_leave_something(state: RunState, call: CallState) -> bool:
    """Whether what ran for a call, be it its draft, may have changed something that stands."""
    if call.drafting is None:
        return not tool_calls.changes_nothing(state, call)
    return isinstance(call.ruling, Decided) and not call.ruling.repeatable


def _settle_last_turn(state: RunState) -> RunState:
    """Take a turn that a model wasn't done with for words alone: it can't be gone on with."""
    match state.conversation.items:
        case (*before, AssistantTurn() as last) if state.chain.paused:
            said = (last.with_(text=last.words, parts=()),) if last.words else ()
            return state.with_conversation(items=(*before, *said))
        case _:
            return state


def _add_unresolved_calls(
    state: RunState, known: tuple[KnownEffect, ...]
) -> tuple[KnownEffect, ...]:
    """Add the calls of which nobody knows whether they happened, where they aren't among these."""
    names = {one.digest for one in known}
    more = tuple(
        KnownEffect(tool="", digest=digest, outcome="unknown")
        for digest in state.effects.unresolved
        if digest not in names
    )
    if len(known) + len(more) <= bounds.MAX_KNOWN_EFFECTS:
        return (*known, *more)
    return (UNKNOWN_EFFECT, *_keep_latest((*known, *more), bounds.MAX_KNOWN_EFFECTS - 1))


def _tell_effects(state: RunState) -> str:
    """
    Write what was done, and that what lies in the workspace of a run stays there.

    It quotes nothing where something is hidden of a run that was handed over.
    """
    quoted = not (hiding.was_handed_over(state) and state.conversation.hidden)
    local = [
        one.summary if quoted else _name_effect(one) for one in state.effects.done if one.local
    ]
    return "\n\n".join(
        filter(
            None,
            (
                describe_effects(state, quoted=quoted),
                _render_list("Done in another workspace, of which this one has nothing:", local),
            ),
        )
    )


def _leave_plan(item: TranscriptItem) -> TranscriptItem:
    """Return an item that binds nobody: a plan that came to nothing is one of many words."""
    if isinstance(item, UserTurn) and item.origin == "plan":
        return UserTurn(text=item.text, origin="notice")
    return item


def _merge_effects(
    state: RunState, done: tuple[Effect, ...], *, lost: bool
) -> tuple[KnownEffect, ...]:
    """Put these effects behind what was known before; what isn't known stands before all."""
    outside = (
        KnownEffect(tool=one.tool, digest=digest, outcome=one.outcome)
        for one in done
        if not one.local
        for digest in one.digests
    )
    known = undoing.select_settled_effects(state)
    every = dict.fromkeys((*known, *outside))
    lost = lost or not all(one.digest for one in known) or _has_lost_part(done)
    if not lost and len(every) <= bounds.MAX_KNOWN_EFFECTS:
        return tuple(every)
    every.pop(UNKNOWN_EFFECT, None)
    return (UNKNOWN_EFFECT, *_keep_latest(tuple(every), bounds.MAX_KNOWN_EFFECTS - 1))


def _keep_latest(known: tuple[KnownEffect, ...], room: int) -> tuple[KnownEffect, ...]:
    """Keep so many in their order: the latest, and those of unknown outcome before all others."""
    kept = frozenset(sorted(known, key=_is_unknown)[-room:])
    return tuple(one for one in known if one in kept)


def _is_unknown(effect: KnownEffect) -> bool:
    return effect.outcome == "unknown"


def _has_lost_part(done: tuple[Effect, ...]) -> bool:
    """Whether nobody knows of a part what it did."""
    return not all(one.tool for one in done)


def _attribute_to_part(part: str, effect: Effect) -> Effect:
    inner = f"{part}.{effect.part}" if effect.part else part
    return effect.with_(part=inner, summary=f"{part}: {effect.summary}", place=0)


def _render_list(title: str, lines: list[str]) -> str:
    if not lines:
        return ""
    left = len(lines) - MAX_LISTED_EFFECTS
    more = [f"- and {left} more before these"] if left > 0 else []
    return "\n".join((title, *more, *(f"- {line}" for line in lines[-MAX_LISTED_EFFECTS:])))
