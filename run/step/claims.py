"""What a run holds of resources, so that others find it by them: for calls that run. Pure."""

from collections.abc import Iterable
from datetime import datetime

from holdfast.contracts.calls import ToolResult
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.guardrails.detectors import resource_claims
from holdfast.run.gates import GuardrailCheck


def take(state: RunState, checks: Iterable[GuardrailCheck], now: datetime) -> RunState:
    """Hold what calls want that guardrails are about to look at, until they are refused."""
    held, claimed = state.guarding.held, state.guarding.claimed
    wanted = [
        (subject.call_id, name)
        for check in checks
        if check.spec.holds is not None
        for subject in check.subjects
        if (name := resource_claims.name_resource(check.spec.holds, subject.data)) is not None
    ]
    fresh = dict.fromkeys(name for _, name in wanted if name not in held)
    unused = {name for _, name in claimed}.union(fresh)
    more = (one for one in wanted if one[1] in unused)
    return state.with_guarding(
        held=(*held, *resource_claims.build_entries(fresh, now)),
        claimed=tuple(dict.fromkeys((*claimed, *more))),
    )


def settle(state: RunState, batch: Iterable[CallState], results: Iterable[ToolResult]) -> RunState:
    """Hold to the end what calls have run by, whatever becomes of others that want the same."""
    ran = {one.call_id for one in results if one.status != "denied"}
    users = {
        call.call.call_id for call in batch if call.call.call_id in ran and _takes(state, call)
    }
    used = {name for call_id, name in state.guarding.claimed if call_id in users}
    claimed = tuple(one for one in state.guarding.claimed if one[1] not in used)
    return state.with_guarding(claimed=claimed) if used else state


def _takes(state: RunState, call: CallState) -> bool:
    """Whether what ran for a call holds anything: its draft alone may be nothing of the kind."""
    if (drafting := call.drafting) is None:
        return True
    return any(
        spec.holds is not None and (not spec.tools or drafting.draft in spec.tools)
        for spec in state.agent.guardrails
    )


def release(state: RunState) -> RunState:
    """Hold no more what was taken for calls alone that were refused, by whomever."""
    waiting = {call.call.call_id for call in state.calls if call.result is None}
    before = state.guarding.claimed
    claimed = tuple(one for one in before if one[0] in waiting)
    if claimed == before:
        return state
    gone = {name for _, name in before} - {name for _, name in claimed}
    held = resource_claims.drop_entries(state.guarding.held, gone)
    return state.with_guarding(held=held, claimed=claimed)
