"""Agents that do a part of a run, each in a run of its own, within what this one may still use."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import cycle
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import (
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from contracts.base import JsonObject
from contracts.budget import Budget, Ledger
from contracts.run import WORKFLOW_TYPE, RunInput, RunResult
from contracts.usage import CallUsage
from policy import budgets
from workflows import failures, steps, summaries
from workflows.live import LiveRun

AT_ONCE = 4
"""So many children of one run work beside each other; more would only wait for its worker."""

LONGEST_GOAL = 200_000
"""Characters that the input of a run may have (`contracts.run.RunInput`)."""


class Errand(NamedTuple):
    """
    What a child is to do. `part` names it in the id of its run, apart from all others of this run.

    `ceiling` is all that it may use.
    """

    part: str
    agent: str
    goal: str
    ceiling: Budget


class _Ended(NamedTuple):
    """How a child ended, and for how many seconds it worked; waiting for people is no work."""

    result: RunResult | str
    worked: float


async def run_child(
    run: LiveRun, part: str, agent: str, goal: str, ceiling: Budget
) -> RunResult | str:
    """Run an agent as a part of this run: its result, or why it has none, on one line."""
    (result,) = await run_children(run, (Errand(part, agent, goal, ceiling),))
    return result


async def run_children(run: LiveRun, errands: Sequence[Errand]) -> tuple[RunResult | str, ...]:
    """
    Run several agents, at most `AT_ONCE` beside each other; the results are in their order.

    All of them end, whatever becomes of one. What they used is in the ledger of this run, and of
    the time only what they can have worked: the rest they waited for people.
    """
    began, free = workflow.now(), asyncio.Semaphore(AT_ONCE)
    ended = await asyncio.gather(
        *(_in_turn(run, errand, free) for errand in errands), return_exceptions=True
    )
    results: list[_Ended] = []
    for end in ended:
        if isinstance(end, BaseException):
            raise end
        results.append(end)
    now = workflow.now()
    took, age = (now - began).total_seconds(), (now - run.state.started_at).total_seconds()
    waited = max(0.0, took - sum(end.worked for end in results))
    # Other children may have waited at the same time; nothing waits for longer than it exists.
    uncounted = max(0.0, min(waited, age - run.state.ledger.waited))
    run.state = steps.waited(run.state, timedelta(seconds=uncounted))
    return tuple(end.result for end in results)


def spent(ceiling: Budget) -> Ledger:
    """Return what a run has used that can't be known: all that it may use, where that ends."""
    tokens_in, tokens_out = ceiling.max_input_tokens or 0, ceiling.max_output_tokens or 0
    usage = CallUsage(
        input_tokens=max(tokens_in, (ceiling.max_tokens or 0) - tokens_out),
        output_tokens=tokens_out,
        estimated_cost=None if ceiling.max_cost is None else Decimal(ceiling.max_cost),
    )
    return Ledger(
        steps=ceiling.max_steps,
        tool_calls=ceiling.max_tool_calls or 0,
        usage=usage,
        failed_usage=usage,
        result_chars=ceiling.max_result_chars or 0,
    )


async def _in_turn(run: LiveRun, errand: Errand, free: asyncio.Semaphore) -> _Ended:
    if len(errand.goal) > LONGEST_GOAL:
        return _Ended(f"its goal has more than {LONGEST_GOAL} characters", 0)
    async with free:
        await workflow.wait_condition(lambda: _may_begin(run) or run.state.outcome is not None)
        if run.state.outcome is not None:
            return _Ended("the run is over", 0)
        began = workflow.now()
        try:
            result = await _ran(run, errand)
        except (ChildWorkflowError, WorkflowAlreadyStartedError) as error:
            if is_cancelled_exception(error) and _is_ours():
                raise
            return await _fell(run, errand, error, (workflow.now() - began).total_seconds())
        used = result.ledger or _known(result, errand.ceiling)
        _absorb(run, used)
        took = (workflow.now() - began).total_seconds()
        return _Ended(result, max(0.0, took - used.waited))


def _may_begin(run: LiveRun) -> bool:
    """Whether nothing holds this run: what holds it holds its parts too."""
    return not run.state.suspended and not run.state.requests


async def _ran(run: LiveRun, errand: Errand) -> RunResult:
    child = await workflow.start_child_workflow(
        WORKFLOW_TYPE,
        _input(run, errand),
        id=f"{run.state.run_id}.{errand.part}",
        result_type=RunResult,
        task_timeout=workflow.info().task_timeout,
        parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
        cancellation_type=ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        static_summary=summaries.shortened(f"{errand.agent}: {errand.goal}", summaries.LIMIT),
    )
    alike = asyncio.create_task(_alike(run, child))
    try:
        return await child
    finally:
        alike.cancel()


def _input(run: LiveRun, errand: Errand) -> JsonObject:
    """Build the input of a child: it works for whom this run works, under the limits given."""
    brief = run.state.brief
    given = RunInput(
        agent=errand.agent,
        input=errand.goal,
        tenant=brief.tenant,
        actor=brief.actor,
        task_kind=brief.task_kind,
        domain=brief.domain,
        metadata=brief.metadata,
        ceiling=errand.ceiling,
    )
    return given.model_dump(mode="json", exclude_unset=True)


async def _alike(run: LiveRun, child: workflow.ChildWorkflowHandle[object, RunResult]) -> None:
    """Suspend and resume a child with this run, and cancel it when a person ends this one."""
    try:
        for told in cycle(("suspend", "resume")):
            await _changed(run, suspended=told == "suspend")
            if run.state.outcome is not None:
                child.cancel()
                return
            await child.signal(told, {})
    except FailureError:
        return  # it has ended meanwhile


async def _changed(run: LiveRun, *, suspended: bool) -> None:
    await workflow.wait_condition(
        lambda: run.state.outcome is not None or run.state.suspended is suspended
    )


async def _fell(run: LiveRun, errand: Errand, error: FailureError, took: float) -> _Ended:
    """
    Say why a child has no result.

    One that never began used nothing. Of any other nobody knows what it used, so all that it might
    have used counts as used.
    """
    cause = error.cause if isinstance(error.cause, FailureError) else error
    reason = "it was cancelled" if is_cancelled_exception(error) else failures.message(cause)
    if isinstance(error, WorkflowAlreadyStartedError) or failures.is_refusal(cause):
        return _Ended(reason, 0)
    _absorb(run, spent(errand.ceiling))
    await run.record(
        "part failed", f"{errand.part} ({errand.agent}): {reason}; its whole share counts as used"
    )
    return _Ended(reason, took)


def _known(result: RunResult, ceiling: Budget) -> Ledger:
    """Return what a run has used whose worker is of a release that kept its ledger to itself."""
    return spent(ceiling).model_copy(
        update={
            "steps": result.steps,
            "usage": CallUsage.of(result.usage),
            "failed_usage": CallUsage(),
        }
    )


def _absorb(run: LiveRun, used: Ledger) -> None:
    """Bill this run with what a child used; time is counted for all children together."""
    apart = used.model_copy(update={"waited": 0.0})
    ledger = budgets.absorbed(run.state.ledger, apart)
    run.state = run.state.model_copy(update={"ledger": ledger})


def _is_ours() -> bool:
    """Whether this run is being cancelled, and not its child alone."""
    task = asyncio.current_task()
    inner = task is not None and task.cancelling() > 0
    return inner or workflow.cancellation_reason() is not None
