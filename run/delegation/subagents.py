"""Tasks that a model gives to other agents, and the results that their runs come to. Pure."""

import json
from typing import NamedTuple

from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_RESULT_SUMMARY_CHARS, MAX_TIER_FAILURE_CHARS
from holdfast.contracts.budget import Budget
from holdfast.contracts.calls import ToolFailure, ToolResult, ToolSuccess
from holdfast.contracts.control import Delegation
from holdfast.contracts.effects import Effect
from holdfast.contracts.patterns import Pattern
from holdfast.contracts.run import RunResult
from holdfast.contracts.state.calls import CallState
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.contracts.tools import ToolContract
from holdfast.run.delegation.part_ids import name_part
from holdfast.run.limits import budgets

MAX_PART_NAME_CHARS = 40

MAX_PARALLEL_CHILDREN = 4
"""So many children of one run work beside each other; more would only wait for its worker."""

TIME_IS_UP = "the time that it was given"
"""Who ended a run that didn't come back in time."""

WHOLE_IS_FULL = "the full history of the run that it works for"
"""What ended a run that works for one which can't go on: nobody, though it is told as a stop."""

_NO_PART_CHARS = Pattern(r"[^A-Za-z0-9]+")


class Briefing(NamedTuple):
    """The words with which an agent begins whose answer comes back, *loaded* ones among them."""

    words: str
    loaded: bool


class DelegatedTask(NamedTuple):
    """A task for another agent: the name of the part, and what its run begins with."""

    part: str
    agent: str
    goal: str
    share: Budget
    output_schema: JsonObject | None
    timeout_seconds: float | None = None
    loaded: bool = False


def find_delegation(state: RunState, call: CallState) -> Delegation | None:
    """Return how a call gives a task to another agent, if it does."""
    found = _find(state, call)
    return None if found is None or found.handoff else found


def find_handoff(state: RunState, call: CallState) -> Delegation | None:
    """Return how a call hands the run to another agent, if it does."""
    found = _find(state, call)
    return found if found is not None and found.handoff else None


def _find(state: RunState, call: CallState) -> Delegation | None:
    return next((one for one in state.agent.delegations if one.tool == call.call.name), None)


def build_task(
    state: RunState, call: CallState, number: int, told: str, briefing: Briefing | None = None
) -> DelegatedTask | None:
    """
    Build what the run of another agent is to do; null where this run has no such tool any more.

    It is told the arguments, or the *briefing* of a handoff, and what was done: nothing else of
    this run.
    """
    contract, delegation = state.agent.find_tool(call.call.name), find_delegation(state, call)
    if contract is None or contract.receiver is None or delegation is None:
        return None
    name = _NO_PART_CHARS.sub("-", contract.receiver).strip("-")[:MAX_PART_NAME_CHARS]
    goal = briefing.words if briefing else json.dumps(call.arguments, ensure_ascii=False, indent=2)
    return DelegatedTask(
        part=name_part(number, name),
        agent=contract.receiver,
        goal="\n\n".join(filter(None, (goal, told))),
        share=budgets.take_share(state.agent.budget, delegation.budget_share),
        output_schema=None if delegation.returns else contract.output_schema,
        timeout_seconds=delegation.timeout_seconds,
        loaded=briefing is not None and briefing.loaded,
    )


def build_result(
    call: CallState,
    contract: ToolContract,
    run_id: str,
    result: RunResult | str,
    delegation: Delegation,
    *,
    late: bool = False,
) -> ToolResult:
    """
    Build the result of a call from that of its run, or from why that has none.

    One is *late* that this run has stopped, and not whoever else says that its time is up.
    """
    if isinstance(result, str):
        return _build_failure(call, f"{contract.receiver} has no result: {result}")
    if result.status == "completed" and isinstance(result.output, dict):
        return _build_success(call, contract, run_id, result.output)
    if result.status == "completed" and delegation.returns:
        return _build_success(call, contract, run_id, {"answer": result.answer})
    stop = result.stop
    if late and stop is not None and stop.ended_by == TIME_IS_UP:
        return _build_timeout(call, contract, result, delegation)
    by_person = stop is not None and bool(stop.ended_by)
    why = f": {stop.describe_to_whole()}" if stop is not None else ""
    if stop is not None and stop.detail and not by_person:
        why = f"{why} ({shorten(stop.detail, MAX_TIER_FAILURE_CHARS)})"
    did = _describe_effects((*result.effects, *result.unresolved))
    reason = f"{contract.receiver} {result.status} without a result{why}{did}"
    return _build_failure(call, reason, by_person=by_person)


def _build_success(
    call: CallState, contract: ToolContract, run_id: str, output: JsonObject
) -> ToolSuccess:
    written = json.dumps(output, ensure_ascii=False)
    cut = len(written) > contract.max_result_chars
    summary = shorten(written, MAX_RESULT_SUMMARY_CHARS)
    if cut:
        summary = f"the first of {len(written):,} characters; run {run_id} has them all"
    return ToolSuccess(
        call_id=call.call.call_id,
        name=call.call.name,
        summary=summary,
        data=written[: contract.max_result_chars] if cut else output,
        cut=cut,
        by_agent=True,
    )


def _build_failure(call: CallState, reason: str, *, by_person: bool = False) -> ToolFailure:
    if by_person:
        return ToolFailure.of(call.call, "aborted", "aborted", reason, "go on without it")
    actions = ("go on without it", "do it yourself, or give a smaller task")
    return ToolFailure.of(call.call, "error", "subagent_failed", reason, *actions)


def _build_timeout(
    call: CallState, contract: ToolContract, result: RunResult, delegation: Delegation
) -> ToolFailure:
    """Say that it was stopped when its time was up, and what it did, or may have, by then."""
    did = _describe_effects((*result.effects, *result.unresolved))
    reason = (
        f"{contract.receiver} didn't come back within {delegation.timeout_seconds:g} s and was "
        f"stopped{did}"
    )
    status = "outcome_unknown" if result.unresolved else "error"
    return ToolFailure.of(call.call, status, "timeout", reason, "go on without it")


def _describe_effects(effects: tuple[Effect, ...]) -> str:
    """Say what was done before, which stands."""
    did = "; ".join(effect.summary for effect in effects)
    return f"; what it did stands: {shorten(did, MAX_TIER_FAILURE_CHARS)}" if did else ""
