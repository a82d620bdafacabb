"""Agents that do a part of a run, each in a run of its own, within what this one may still use."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import (
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import MAX_ANCESTORS, MAX_GOAL_BYTES, MAX_GOAL_CHARS, size
from holdfast.contracts.budget import Budget, Ledger
from holdfast.contracts.effects import Period
from holdfast.contracts.guardrails import checks_answers
from holdfast.contracts.run import WORKFLOW_TYPE, RunInput, RunResult
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop
from holdfast.run import parts, turns, verdicts
from holdfast.run.delegation import ceilings
from holdfast.run.delegation.part_ids import build_run_id
from holdfast.run.delegation.subagents import MAX_PARALLEL_CHILDREN, TIME_IS_UP, WHOLE_IS_FULL
from holdfast.run.disagreements import TOO_OLD, NotBegun
from holdfast.run.limits import budgets, reservations, triggers
from holdfast.run.limits.table import build_worst_case_ledger
from holdfast.run.summaries import summarise_run
from holdfast.run.tiers import is_too_large
from holdfast.workflows import failures
from holdfast.workflows.delegation.room import find_full_execution
from holdfast.workflows.execution.search_attributes import APP, SUMMARY
from holdfast.workflows.inbound.inbox import hear_before_more
from holdfast.workflows.run_context import (
    RunContext,
    is_cancellation,
    wait_for_people,
)

LATE_TASKS = "late-tasks"
"""The patch by which a run counts what was loaded for other tasks before one begins."""

LATE_LOADS = "late-loads"
"""The patch by which a handoff is decided anew for which something was loaded for long."""


PARTS_IN_ORDER, PARTS_BESIDE = "parts-in-order", "parts-beside"
"""The patches by which what a part did is in its order, also among what others did beside it."""


class ChildTask(NamedTuple):
    """
    What a child is to do. `part` names it in the id of its run, apart from all others of this run.

    `ceiling` is all that it may use. What was done before it knows from when it begins. Its answer
    has the shape of `output_schema`, where one is given; after `timeout_seconds` it is stopped.
    Where it was ruled on it begins within seconds of `ruled_at`, in seconds after the run began;
    of `loaded_at` in an earlier release. Its goal may quote what a tool `loaded`.
    """

    part: str
    agent: str
    goal: str
    ceiling: Budget
    output_schema: JsonObject | None = None
    timeout_seconds: float | None = None
    ruled_at: float | None = None
    loaded_at: float | None = None
    loaded: bool = False


class _SharedBudget(NamedTuple):
    """
    Children that share what is left, from so many seconds after the run began.

    Those that work now have `reserved` all that each of them may use. The run itself has so many
    `calls` that are decided and not counted.
    """

    began: float
    free: asyncio.Semaphore
    reserved: dict[str, Ledger]
    calls: int

    def ceiling(self, run: RunContext, task: ChildTask) -> Budget | Stop:
        """Return what a child that begins now may use: its share, but no more than is left."""
        held = reservations.add_reservations(run.state)
        ledger = budgets.add_child_usage(held, *self.reserved.values())
        ledger = ledger.with_(tool_calls=ledger.tool_calls + self.calls)
        # Of the time each has its own share: whether others worked or waited isn't known yet.
        left = budgets.remaining(run.state.agent.budget, ledger, self.began)
        if isinstance(left, Stop):
            return left
        return ceilings.lower_limits(
            budgets.cap_limits(task.ceiling, left), run.state.agent.ceiling
        )


class _ChildResult(NamedTuple):
    """How a child ended, and for how many seconds it worked; waiting for people is no work."""

    result: RunResult | str | NotBegun
    worked: float


async def run_child(run: RunContext, task: ChildTask) -> RunResult | str:
    """Run an agent as a part of this run: its result, or why it has none, on one line."""
    (result,) = await run_children(run, (task,))
    return result.reason if isinstance(result, NotBegun) else result


async def run_children(
    run: RunContext, tasks: Sequence[ChildTask], *, calls: int = 0
) -> tuple[RunResult | str | NotBegun, ...]:
    """
    Run several agents, at most MAX_PARALLEL_CHILDREN at once; the results are in their order.

    All of them end, whatever becomes of one, and none begins where nothing is left. What they used
    is in the ledger of this run, and of the time only what they can have worked: the rest they
    waited for people. What so many *calls* of this run will use isn't there for them.
    """
    began = workflow.now()
    free = asyncio.Semaphore(MAX_PARALLEL_CHILDREN)
    together = _SharedBudget(run.elapsed_seconds(), free, {}, calls)
    ended = await asyncio.gather(
        *(_run_when_free(run, task, together) for task in tasks), return_exceptions=True
    )
    results: list[_ChildResult] = []
    for end in ended:
        if isinstance(end, BaseException):
            raise end
        results.append(end)
    now = workflow.now()
    took, age = (now - began).total_seconds(), (now - run.state.started_at).total_seconds()
    waited = max(0.0, took - sum(end.worked for end in results))
    # Other children may have waited at the same time; nothing waits for longer than it exists.
    uncounted = max(0.0, min(waited, age - run.state.ledger.waited))
    run.state = turns.add_waiting_time(run.state, timedelta(seconds=uncounted))
    return tuple(end.result for end in results)


async def _run_when_free(
    run: RunContext, task: ChildTask, together: _SharedBudget
) -> _ChildResult:
    if is_too_large(task.goal):
        return _ChildResult(
            f"its goal has more than {MAX_GOAL_CHARS:,} characters or {MAX_GOAL_BYTES:,} bytes", 0
        )
    if len(run.state.brief.path) >= MAX_ANCESTORS:
        return _ChildResult(f"not begun: {MAX_ANCESTORS} agents, one above the other, are most", 0)
    if overflow := ceilings.find_overflow(run.state.agent, run.state.brief):
        return _ChildResult(f"not begun: {overflow}", 0)
    async with together.free:
        await hear_before_more()
        await _wait_to_begin(run)
        if run.state.is_over:
            return _ChildResult("the run is over", 0)
        if _comes_too_late(run, task, together):
            return _ChildResult(TOO_OLD, 0)
        if full := find_full_execution(run):
            return _ChildResult(f"not begun: {full}", 0)
        ceiling = together.ceiling(run, task)
        if isinstance(ceiling, Stop):
            return _ChildResult(f"not begun: {ceiling.reason}", 0)
        together.reserved[task.part] = build_worst_case_ledger(ceiling)
        try:
            return await _run_and_charge(run, task._replace(ceiling=ceiling))
        finally:
            del together.reserved[task.part]


def _comes_too_late(run: RunContext, task: ChildTask, together: _SharedBudget) -> bool:
    """Whether it was ruled on too long ago; an earlier release counted from when all may begin."""
    if task.ruled_at is None or not run.is_late(task.ruled_at):
        return False
    if task.loaded_at is not None and not run.is_late(task.loaded_at):
        return workflow.patched(LATE_LOADS)
    return run.is_late(together.began) or workflow.patched(LATE_TASKS)


async def _run_and_charge(run: RunContext, task: ChildTask) -> _ChildResult:
    began = workflow.now()
    run.begun_parts[task.part] = task.agent
    try:
        result = await _execute_child(run, task)
    except (ChildWorkflowError, WorkflowAlreadyStartedError) as error:
        if is_cancellation(error):
            raise
        run.end_part(task.part)
        return await _after_child_failure(run, task, error, began)
    run.end_part(task.part)
    used = result.ledger or build_worst_case_ledger(task.ceiling)
    _charge(run, used)
    in_order = not parts.has_places(result) or workflow.patched(PARTS_IN_ORDER)
    during = _period_since(began)
    beside = parts.has_others(run.state, during) and workflow.patched(PARTS_BESIDE)
    run.state = parts.after_result(
        run.state, task.part, result, during, in_order=in_order, beside=beside
    )
    took = (workflow.now() - began).total_seconds()
    return _ChildResult(result, max(0.0, took - used.waited))


def _period_since(began: datetime) -> Period:
    return began.timestamp(), workflow.now().timestamp()


async def _wait_to_begin(run: RunContext) -> None:
    """Wait until nothing holds this run, or it is over; what nobody decides in time expires."""

    def is_over() -> bool:
        return _can_begin(run) or run.state.is_ending

    while not is_over():
        waiting = run.state.oversight.requests
        if not waiting:
            await workflow.wait_condition(lambda: is_over() or bool(run.state.oversight.requests))
            continue
        until = min(map(verdicts.next_deadline, waiting))
        await wait_for_people(
            run, until, lambda seen=waiting: is_over() or run.state.oversight.requests != seen
        )


def _can_begin(run: RunContext) -> bool:
    """Whether nothing holds this run: what holds it holds its parts too."""
    return not run.state.suspended and not run.state.oversight.requests


async def _execute_child(run: RunContext, task: ChildTask) -> RunResult:
    summary, given = _describe_child(run, task), _build_input(run, task)
    run.parts_bytes += size(given)
    child = await workflow.start_child_workflow(
        WORKFLOW_TYPE,
        given,
        id=build_run_id(run.state, task.part),
        result_type=RunResult,
        task_timeout=workflow.info().task_timeout,
        parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
        cancellation_type=ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
        static_summary=summary,
        memo=_build_memo(run, summary),
    )
    run.parts[child.id] = False
    run.executions[child.id] = child.first_execution_run_id or ""
    alike = asyncio.create_task(_mirror_suspension(run, child))
    if task.timeout_seconds is not None:
        run.timers.append(asyncio.create_task(_stop_in_time(run, child, task.timeout_seconds)))
    try:
        result = await child
        run.parts_bytes += size(result)
        return result
    finally:
        alike.cancel()
        del run.parts[child.id], run.executions[child.id]


def _describe_child(run: RunContext, task: ChildTask) -> str:
    """Say what a child is for; its goal may be an answer that nobody else may read yet."""
    hidden = run.state.withholds or run.state.brief.regulated
    told = build_run_id(run.state, task.part) if hidden else task.goal
    return summarise_run(task.agent, told)


def _build_memo(run: RunContext, summary: str) -> dict[str, str]:
    """
    Say what a child is, and of which app; apps without a name can't be told apart.

    A worker of a release that knows nothing of the app would refuse an input that names it.
    """
    app = run.state.agent.app
    return {SUMMARY: summary, APP: app} if app else {SUMMARY: summary}


def _build_input(run: RunContext, task: ChildTask) -> JsonObject:
    """Build the input of a child: it works for whom this run works, under the limits given."""
    brief = run.state.brief
    given = RunInput(
        agent=task.agent,
        input=task.goal,
        tenant=brief.tenant,
        actor=brief.actor,
        earlier_actors=brief.earlier_actors,
        session_id=brief.session_id,
        task_kind=brief.task_kind,
        domain=brief.domain,
        metadata=brief.metadata,
        ceiling=task.ceiling,
        known=parts.build_known_effects(run.state),
        path=(*brief.path, run.state.agent.name),
        withheld=run.state.withholds,
        words_watched=brief.words_watched or run.state.agent.watches_words,
        sensitive_domains=triggers.select_domains_to_hand_on(run.state.agent.triggers, brief),
        stream=_choose_stream(run.state),
        regulated=brief.regulated,
    )
    if run.state.trust == "untrusted" or task.loaded:
        given = given.copy_with({"tainted": True})
    if run.state.planning:
        given = given.copy_with({"mode": "plan"})
    if run.state.agent.review != Requirement():
        given = given.copy_with({"review": run.state.agent.review})
    if task.output_schema is not None:
        given = given.copy_with({"output_schema": task.output_schema})
    given = ceilings.bind_brief(given, ceilings.find_ceiling(run.state.agent, brief))
    return given.model_dump(mode="json", exclude_unset=True)


def _choose_stream(state: RunState) -> bool | None:
    """Say whether a part has its words told: not those of an answer that is looked at first."""
    looked_at = checks_answers(state.agent.guardrails) and not state.withholds
    return False if looked_at and not state.streams_text else state.brief.stream


async def _mirror_suspension(
    run: RunContext, child: workflow.ChildWorkflowHandle[object, RunResult]
) -> None:
    """
    Suspend, resume and stop a child with this run; cancel it where it can't be told.

    It is told of each suspension, as it answers each: one workflow task may end one and begin the
    next.
    """
    told = 0
    try:
        while True:
            await workflow.wait_condition(
                lambda told=told: run.state.is_over or run.suspension != told
            )
            if (stopping := run.state.outside_stop) is not None:
                by = stopping.ended_by or WHOLE_IS_FULL
                await child.signal("stop", {"reason": stopping.detail, "by": by})
                return
            if run.state.is_over:
                child.cancel()
                return
            told = run.suspension
            await child.signal("suspend" if told else "resume", {})
    except FailureError:
        # It has ended meanwhile, or a flood of signals left no room for this one. A cancellation
        # is no signal: what can't be held is ended.
        child.cancel()


async def _stop_in_time(
    run: RunContext, child: workflow.ChildWorkflowHandle[object, RunResult], seconds: float
) -> None:
    """Stop a child whose time is up; its end is awaited all the same, so it does nothing later."""
    # Not cancelled where the child ends before: around a local activity that can't be replayed.
    await workflow.sleep(seconds, summary=f"stops {child.id}, which was given so long")
    if child.id not in run.parts:
        return
    run.late_parts.add(child.id)
    try:
        await child.signal("stop", {"reason": f"{seconds:g} s are over", "by": TIME_IS_UP})
    except FailureError:
        child.cancel()


async def _after_child_failure(
    run: RunContext, task: ChildTask, error: FailureError, began: datetime
) -> _ChildResult:
    """
    Say why a child has no result.

    One that never began used nothing. Of any other nobody knows what it used, so all that it might
    have used counts as used. Another run in its place is a stranger's, or works on since before
    this workflow was reset: nobody knows what that does.
    """
    took, during = (workflow.now() - began).total_seconds(), _period_since(began)
    if isinstance(error, WorkflowAlreadyStartedError):
        run.state = parts.after_loss(
            run.state, task.part, task.agent, "as which another run works", during
        )
        name = build_run_id(run.state, task.part)
        return _ChildResult(f"another run is {name!r}, from before a reset or a stranger's", 0)
    cause = error.cause if isinstance(error.cause, FailureError) else error
    reason = "it was cancelled" if is_cancelled_exception(error) else failures.message(cause)
    if failures.is_start_refusal(error.cause):
        return _ChildResult(reason, 0)
    _charge(run, build_worst_case_ledger(task.ceiling))
    run.state = parts.after_loss(run.state, task.part, task.agent, during=during)
    await run.record(
        "part failed", f"{task.part} ({task.agent}): {reason}; its whole share counts as used"
    )
    return _ChildResult(reason, took)


def _charge(run: RunContext, used: Ledger) -> None:
    """Bill this run with what a child used; time is counted for all children together."""
    apart = used.with_(waited=0.0)
    ledger = budgets.add_child_usage(run.state.ledger, apart)
    run.state = run.state.with_(ledger=ledger)
