"""Asking the permission engine about the calls of a turn: together, or in parts. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from holdfast.contracts.approvals import ApprovalRecord, Review
from holdfast.contracts.bounds import size
from holdfast.contracts.calls import AnyCall
from holdfast.contracts.decisions import (
    AuthorizeCalls,
    Caller,
    Decided,
    Rulings,
    count_fitting,
)
from holdfast.contracts.effects import EffectOutcome, KnownEffect
from holdfast.contracts.run import RunMetadata
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.run import parts
from holdfast.run.transcript import collect_filled_arguments, find_written_calls

MAX_AUTHORIZE_BYTES = 800_000
"""The calls that are decided together, with their approvals and the reviews that release them."""


def build_input(
    state: RunState, calls: tuple[CallState, ...], visible: tuple[str, ...], now: datetime
) -> AuthorizeCalls:
    """
    Ask about calls, of which the *visible* tools are known.

    Words that no rule reads stay out of it: why people approved, and what they were shown.
    """
    written = find_written_calls(state)
    known = parts.build_own_known_effects(state)
    return AuthorizeCalls(
        run_id=state.run_id,
        execution=state.execution,
        app=state.agent.app,
        agent=state.agent.name,
        path=state.brief.path,
        without_tools=state.brief.without_tools,
        without_risks=state.brief.without_risks,
        caller=build_caller(state.brief),
        metadata=state.brief.metadata,
        calls=tuple(written.get(call.call.call_id, call.call) for call in calls),
        filled=collect_filled_arguments(state, calls),
        approvals=tuple(_without_reason(given) for call in calls for given in call.approvals),
        drafts=tuple(
            call.draft.model_copy(update={"summary": "", "data": None})
            for call in calls
            if call.draft is not None
        ),
        reviews=tuple(map(_outline, state.oversight.releases)),
        unresolved=tuple(dict.fromkeys((*state.effects.unresolved, *_digests(known, "unknown")))),
        done=_digests(known, "done"),
        lost=parts.UNKNOWN_EFFECT in known,
        planning=state.planning,
        planned=state.planned,
        visible_tools=visible,
        trust=state.trust,
        loads=_find_loads(state),
        finders=_name_finders(state, calls),
        limits=_list_limits(state, calls),
        now=now,
    )


def build_caller(brief: RunMetadata) -> Caller:
    """Say for whom calls of a run are made."""
    return Caller(
        tenant=brief.tenant,
        actor=brief.actor,
        session=brief.session_id or "",
        domain=brief.domain or "",
        task_kind=brief.task_kind or "",
    )


def _find_loads(state: RunState) -> dict[str, str]:
    """Return the tools that load what the receivers of handoffs need, by what hands over."""
    named = state.agent.delegations
    return {one.tool: one.prepare for one in named if one.prepare is not None}


def _name_finders(state: RunState, calls: tuple[CallState, ...]) -> dict[str, str]:
    """Return the tools that this run would ask what became of calls, whatever another has."""
    known = (state.agent.find_any_tool(one.call.name) for one in calls)
    return {one.name: one.reconcile for one in known if one is not None and one.reconcile}


def _list_limits(state: RunState, calls: tuple[CallState, ...]) -> dict[str, tuple[float, int]]:
    """Return what this run counts with for calls and their drafts, whatever a release has."""
    known = [state.agent.find_any_tool(one.call.name) for one in calls]
    known += [state.agent.find_any_tool(one.draft) for one in known if one is not None]
    return {one.name: (one.timeout, one.max_result_chars) for one in known if one is not None}


def _without_reason(record: ApprovalRecord) -> ApprovalRecord:
    return record.model_copy(update={"reason": None})


def _outline(review: Review) -> Review:
    """Return what says whether a review still counts."""
    given = tuple(map(_without_reason, review.approvals))
    return review.with_(reason="", objections=(), approvals=given, lapsed=())


def _digests(known: tuple[KnownEffect, ...], outcome: EffectOutcome) -> tuple[str, ...]:
    return tuple(one.digest for one in known if one.digest and one.outcome == outcome)


def take_part(asked: AuthorizeCalls) -> AuthorizeCalls:
    """
    Return the first of the calls, with what belongs to them, as many as fit into a payload.

    Each is decided alone, so it makes no difference which others are asked about with it. One is
    asked about at least. Reviews, which are looked at by themselves, come behind the calls.
    """
    if size(asked) <= MAX_AUTHORIZE_BYTES:
        return asked
    room = MAX_AUTHORIZE_BYTES - size(_select(asked, (), ()))
    belonging = Counter[str]()
    for one in (*asked.approvals, *asked.drafts):
        belonging[one.call_id] += size(one) + 1
    for call_id, values in asked.filled.items():
        belonging[call_id] += size({call_id: values})
    needed = [size(call) + belonging[call.call_id] for call in asked.calls]
    count = count_fitting(needed, room) or 1
    if count < len(asked.calls):
        return _select(asked, asked.calls[:count], ())
    left = room - sum(needed) - len(needed)
    looked_at = max(count_fitting(map(size, asked.reviews), left), 0 if asked.calls else 1)
    return _select(asked, asked.calls, asked.reviews[:looked_at])


def select_rest(asked: AuthorizeCalls, part: AuthorizeCalls, answer: Rulings) -> AuthorizeCalls:
    """Return what is left to ask about after an answer about a part, which may have run short."""
    filled = sum(size(one.filled) for one in answer.rulings if isinstance(one, Decided))
    left = _select(asked, asked.calls[len(answer.rulings) :], asked.reviews[len(part.reviews) :])
    return left.with_(filled_bytes=asked.filled_bytes + filled)


def merge(answers: Sequence[Rulings]) -> Rulings | None:
    """Put the answers about all parts together; null where one policy hasn't decided them all."""
    first = answers[0]
    if any((one.policy, one.execution) != (first.policy, first.execution) for one in answers):
        return None
    together = {
        "rulings": tuple(ruling for one in answers for ruling in one.rulings),
        "lapsed": tuple(review for one in answers for review in one.lapsed),
    }
    return first.model_copy(update=together)


def _select(
    asked: AuthorizeCalls, calls: tuple[AnyCall, ...], reviews: tuple[Review, ...]
) -> AuthorizeCalls:
    ids = {call.call_id for call in calls}
    return asked.with_(
        calls=calls,
        filled={call_id: one for call_id, one in asked.filled.items() if call_id in ids},
        approvals=tuple(one for one in asked.approvals if one.call_id in ids),
        drafts=tuple(one for one in asked.drafts if one.call_id in ids),
        reviews=reviews,
    )
