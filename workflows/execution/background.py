"""What goes on beside the steps of a run."""

import asyncio
from collections.abc import Callable, Coroutine

from temporalio import workflow

from holdfast.workflows.delegation.relaying import report_requests, report_suspensions
from holdfast.workflows.execution.full_history import MARKS, watch_history
from holdfast.workflows.execution.time_limit import watch_time
from holdfast.workflows.notifications import notify
from holdfast.workflows.run_context import RunContext


def begin_beside(
    run: RunContext, is_going_on: Callable[[], bool]
) -> tuple[asyncio.Task[None], ...]:
    """
    Begin what goes on beside the steps, for agents that have it; it ends with the execution.

    It isn't cancelled: a timer that is started and cancelled around a local activity can't be
    replayed where a query has divided the workflow task. It knows whether the run *is going on* in
    a new execution now.
    """
    agent = run.state.agent
    begun: list[Coroutine[None, None, None]] = []
    if agent.triggers.expected_time is not None and run.state.session is None:
        begun.append(watch_time(run))
    if agent.notifies:
        begun.append(notify(run))
    if (parent := workflow.info().parent) is not None:
        begun += (report_suspensions(run, parent), report_requests(run, parent))
    begun += (watch_history(run, mark, is_going_on) for mark in MARKS)
    return tuple(map(asyncio.create_task, begun))
