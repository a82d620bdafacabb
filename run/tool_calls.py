"""The calls of a turn: what is ruled of them, which are decided next and which run. Pure."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.contracts import bounds
from holdfast.contracts.approvals import ApprovalRequest, Question
from holdfast.contracts.calls import ToolCall, ToolFailure
from holdfast.contracts.decisions import (
    Allow,
    ApprovalRequired,
    AskUser,
    Decided,
    MayRun,
    Ruling,
    Rulings,
    RunAsDraftOnly,
    RunInSandbox,
    decision_of,
    fill_arguments,
)
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.tools import Risk
from holdfast.run import approvals, disagreements, requests, tool_results
from holdfast.run.delegation.subagents import (
    MAX_PARALLEL_CHILDREN,
    find_delegation,
    find_handoff,
)
from holdfast.run.limits import plans
from holdfast.run.step.drafts import is_draft

MAX_RULING_AGE = timedelta(seconds=5)
"""So long after it was decided a call may begin: what it was decided by may be gone."""

MAX_RULED_AT_ONCE = 8
"""
Calls that are decided anew together whenever one of them ran, so that people are asked about all
of them at once. Of 200 writes that would be 20,000 rulings in one history.
"""


def wants_approval(ruling: Ruling) -> bool:
    """Whether the latest decision about a call was that somebody must approve it."""
    return isinstance(decision_of(ruling), ApprovalRequired)


def is_notable(ruling: Ruling) -> bool:
    """Whether an auditor should find it without opening an event: it doesn't just run."""
    undo = ruling.undo if isinstance(ruling, Decided) else None
    for_good = undo is not None and undo.verdict != "allow"
    return for_good or not isinstance(decision_of(ruling), Allow | RunInSandbox)


def after_rulings(state: RunState, answer: Rulings, now: datetime) -> RunState:
    """Take the rulings: what may not run gets its result, what people decide gets a request."""
    ruled = {ruling.call_id: ruling for ruling in answer.rulings}
    if answer.signed != state.agent.signed:
        state = state.with_(agent=state.agent.with_(signed=answer.signed))
    state = _withdraw_releases(state, (*answer.lapsed, *_select_outdated_releases(state, ruled)))
    decisions = tuple(map(decision_of, answer.rulings))
    drafting = any(isinstance(decision, RunAsDraftOnly) for decision in decisions)
    for call in state.calls:
        ruling = ruled.get(call.call.call_id)
        if ruling is None or call.result is not None:
            continue
        if drafting and isinstance(decision_of(ruling), ApprovalRequired | AskUser):
            # Asked again when the drafts are there, so that people see the whole turn at once.
            state = requests.replace_call(state, call.with_(ruling=None))
            continue
        asked, refusal = fill_arguments(call.call, ruling), _build_refusal(state, call, ruling)
        fresh = _require_same_reading(
            call.with_(call=asked, ruling=ruling, result=refusal, stale=False)
        )
        if wants_approval(ruling):
            # Whatever was approved before, it was not enough for this decision.
            fresh = fresh.with_(approvals=())
        state = requests.replace_call(state, fresh)
        request = None if refusal else _build_request(state, fresh, ruling, answer.policy, now)
        if request is not None and requests.is_too_large_to_show(request):
            failure = tool_results.build_too_large_denial(fresh.call, "what it would do")
            state = requests.replace_call(state, fresh.with_(result=failure))
        elif request is not None:
            state = requests.open_request(state, request)
    return state


def _require_same_reading(call: CallState) -> CallState:
    """Have guardrails look anew where a call would run otherwise than they looked at it."""
    if not call.guarded or call.guarded == call.reading or call.result is not None:
        return call
    fresh = call.with_(guarded="")
    if not isinstance(call.decision, MayRun):
        return fresh
    # Arguments that are read otherwise each time would be looked at for ever.
    return disagreements.send_back_call(fresh, disagreements.READ_OTHERWISE)


def _select_outdated_releases(state: RunState, ruled: dict[str, Ruling]) -> Iterator[str]:
    """Return the reviews whose calls say more by now than people read: a release added to them."""
    changed = {
        call.call.call_id
        for call in state.calls
        if (ruling := ruled.get(call.call.call_id)) is not None
        and fill_arguments(call.call, ruling) != call.call
    }
    return (one.request_id for one in state.oversight.releases if changed.intersection(one.calls))


def _withdraw_releases(state: RunState, lapsed: tuple[str, ...]) -> RunState:
    """Have people asked anew where the approvals of a review count no more."""
    gone = tuple(one for one in state.oversight.releases if one.request_id in lapsed)
    if not gone:
        return state
    objections = {objection for one in gone for objection in one.objections}
    about = {one.call_id for one in gone}
    calls = tuple(
        call.with_(guarded="") if call.call.call_id in about else call for call in state.calls
    )
    return state.with_(calls=calls).with_oversight(
        reviewed=tuple(one for one in state.oversight.reviewed if one not in objections),
        releases=tuple(one for one in state.oversight.releases if one not in gone),
    )


def invalidate(state: RunState, *, in_turn: bool) -> RunState:
    """
    Have calls decided again that were allowed before a wait, or before another call ran.

    Each is when it is the next to run (*in turn*), or all are at once. What guardrails have said
    of them stands as long as what they looked at does.
    """
    calls = tuple(
        (call.with_(stale=True) if in_turn else call.with_(ruling=None, stale=False))
        if _may_begin(call)
        else call
        for call in state.calls
    )
    return state.with_(calls=calls)


def allows_many(state: RunState) -> bool:
    """Whether so many calls are allowed that each is decided anew when it is next."""
    return sum(map(_may_begin, state.calls)) > MAX_RULED_AT_ONCE


def _may_begin(call: CallState) -> bool:
    return call.result is None and isinstance(call.decision, MayRun)


def select_stale(batch: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """Return the calls that are to be decided anew before they run."""
    return tuple(call for call in batch if call.stale)


def drop_lapsed_approvals(
    state: RunState, batch: tuple[CallState, ...], now: datetime
) -> RunState:
    """Have those calls decided again of which an approval has lapsed since they were."""
    for call in batch:
        good = tuple(one for one in call.approvals if not one.is_past_expiry(now))
        if good != call.approvals:
            fresh = call.with_(approvals=good, ruling=None)
            state = requests.replace_call(state, fresh)
    return state


def select_recent(batch: tuple[CallState, ...], now: datetime) -> tuple[CallState, ...]:
    """
    Return the calls that were decided just now: what was waited for since may have changed.

    One that is dated as far ahead was decided by a clock that was set.
    """
    return tuple(
        call
        for call in batch
        if isinstance(call.ruling, Decided) and abs(now - call.ruling.at) <= MAX_RULING_AGE
    )


def _build_refusal(state: RunState, call: CallState, ruling: Ruling) -> ToolFailure | None:
    """Return the result of a call that doesn't run, or asks where no words are taken."""
    if state.brief.words_watched and isinstance(decision_of(ruling), AskUser):
        return tool_results.build_question_denial(call.call)
    return tool_results.build_refusal(ruling)


def _build_request(
    state: RunState, call: CallState, ruling: Ruling, policy: str, now: datetime
) -> ApprovalRequest | Question | None:
    """Build the request that a ruling asks for."""
    match ruling:
        case Decided(decision=AskUser() as decision):
            return _build_question(state, call, decision, now)
        case Decided(decision=ApprovalRequired()):
            return approvals.build_request(state, call, ruling, policy, now)
        case _:
            return None


def _build_question(
    state: RunState, call: CallState, decision: AskUser, now: datetime
) -> Question:
    """Ask a person, who sees every argument of the call: what they don't see isn't asked."""
    contract = state.agent.find_tool(call.call.name)
    asks = contract is not None and contract.permission == "ask_user"
    asked = (contract.question or "question") if contract is not None and asks else None
    arguments = call.call.arguments if isinstance(call.call, ToolCall) else {}
    return Question(
        request_id=state.oversight.next_request_id,
        reason=decision.reason,
        requested_at=now,
        expires_at=requests.expiry(state, now),
        call_id=call.call.call_id,
        question=decision.question,
        tool=call.call.name,
        arguments={name: value for name, value in arguments.items() if name != asked},
        answer_schema=contract.answer_schema if contract is not None else None,
    )


def select_for_authorization(state: RunState) -> tuple[CallState, ...]:
    """Return the calls to rule upon: never ruled upon, or approved since."""
    return tuple(call for call in state.calls if _needs_ruling(call))


def _needs_ruling(call: CallState) -> bool:
    """Whether a call was never ruled upon, or was approved since: then it is decided again."""
    if call.result is not None:
        return False
    return call.ruling is None or bool(call.approvals and wants_approval(call.ruling))


def select_next(state: RunState) -> tuple[CallState, ...]:
    """
    Open calls that change nothing, together; then drafts, then the others, one by one.

    Last are those that hand the run to another agent: the rest of the turn is done by then.
    """
    unsettled = tuple(call for call in state.calls if call.result is None)
    waiting = tuple(call for call in unsettled if find_handoff(state, call) is None)
    if not waiting:
        return unsettled
    harmless = [call for call in waiting if changes_nothing(state, call)]
    beside = _select_parallel(state, _limit_delegations(state, harmless))
    beside = plans.lead_with_plan(state, beside, harmless)
    return beside or select_drafts(state)[:1] or waiting[:1]


def _limit_delegations(state: RunState, calls: list[CallState]) -> tuple[CallState, ...]:
    """
    Leave of the tasks for others as many as may be worked on at once, by each of them and by all.

    One that waited for the end of another would begin long after it was decided.
    """
    at_work, kept = Counter[str](), list[CallState]()
    for call in calls:
        name, delegation = call.call.name, find_delegation(state, call)
        if delegation is not None:
            if at_work[name] >= delegation.at_once or at_work.total() >= MAX_PARALLEL_CHILDREN:
                continue
            at_work[name] += 1
        kept.append(call)
    return tuple(kept)


def select_drafts(state: RunState) -> tuple[CallState, ...]:
    """Return the calls that are drafted next: people are asked when all drafts are there."""
    return tuple(call for call in state.calls if call.result is None and call.drafting is not None)


def changes_nothing(state: RunState, call: CallState) -> bool:
    """Whether a call, or its draft, may run beside others, by its contract then and now."""
    tool = state.agent.find_tool(call.call.name)
    if tool is None or not isinstance(call.ruling, Decided) or is_draft(call):
        return False
    return tool.changes_nothing and tool.with_risk(call.ruling.risk).changes_nothing


def drafts_at_most(state: RunState, call: CallState) -> bool:
    """Whether a call changes nothing but what it writes down to be looked at."""
    tool = state.agent.find_tool(call.call.name)
    if tool is None or not isinstance(call.ruling, Decided):
        return False
    both = tool, tool.with_risk(call.ruling.risk)
    return all(one.changes_nothing or one.risk is Risk.DRAFT_ONLY for one in both)


def may_be_broken_off(state: RunState, call: CallState) -> bool:
    """Whether a call may be ended halfway: it changes nothing, and runs outside workflow tasks."""
    delegates = find_delegation(state, call) or find_handoff(state, call)
    return changes_nothing(state, call) and not _is_local(state, call) and not delegates


def count_open(state: RunState) -> int:
    """Return how many calls of the turn may still run; what is drafted first runs twice."""
    waiting = tuple(call for call in state.calls if call.result is None)
    drafts = sum(
        call.draft is None
        and (tool := state.agent.find_tool(call.call.name)) is not None
        and tool.draft is not None
        for call in waiting
    )
    return len(waiting) + drafts


def is_over_result_limit(state: RunState) -> bool:
    """Whether calls of a turn, and drafts, have brought so much that no other may bring more."""
    brought = (bounds.size(call.result) for call in state.calls if call.result is not None)
    drafted = sum(call.drafted_bytes for call in state.calls)
    return sum(brought) + drafted > bounds.MAX_RAW_RESULTS_BYTES


def has_more(state: RunState, batch: tuple[CallState, ...]) -> bool:
    """Whether calls ran inside the workflow task, and more of them are left than fit into it."""
    ran = any(_is_local(state, call) for call in batch)
    return ran and any(_is_local(state, call) for call in select_next(state))


def _is_local(state: RunState, call: CallState) -> bool:
    tool = state.agent.find_tool(call.call.name)
    return tool is not None and tool.local


def _select_parallel(state: RunState, calls: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """
    Return the first of the calls, as many as may run beside each other whatever they answer.

    What runs inside the workflow task is sent with its end, in one message; history has all.
    """
    room, local = bounds.MAX_CONCURRENT_RESULTS_BYTES, bounds.MAX_LOCAL_RESULTS_BYTES
    for count, call in enumerate(calls):
        most = _max_result_bytes(state, call)
        room -= most
        local -= most if _is_local(state, call) else 0
        if count and min(room, local) < 0:
            return calls[:count]
    return calls


def _max_result_bytes(state: RunState, call: CallState) -> int:
    """Return how many bytes the result of a call may have; a character has four at most."""
    tool = state.agent.find_tool(call.call.name)
    most = (
        bounds.MAX_RESULT_BYTES
        if tool is None
        else min(4 * tool.max_result_chars, bounds.MAX_RESULT_BYTES)
    )
    return most + bounds.MAX_FAILURE_BYTES
