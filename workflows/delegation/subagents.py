"""Tasks for other agents, worked on beside each other and beside the other calls of a turn."""

import asyncio
from collections.abc import Awaitable, Callable

from holdfast.contracts.calls import ToolFailure, ToolResult
from holdfast.contracts.state import CallState
from holdfast.run import parts
from holdfast.run.delegation.subagents import (
    DelegatedTask,
    build_result,
    build_task,
    find_delegation,
    find_handoff,
)
from holdfast.run.disagreements import NotBegun
from holdfast.workflows.children import ChildTask, name_child, run_children
from holdfast.workflows.delegation.handoffs import prepare_handoff
from holdfast.workflows.run_context import RunContext


async def run_beside(
    run: RunContext,
    batch: tuple[CallState, ...],
    run_tool: Callable[[CallState], Awaitable[ToolResult | NotBegun]],
) -> list[ToolResult | NotBegun]:
    """Run calls beside each other, those that give tasks to other agents too; in their order."""
    if all(find_handoff(run.state, call) for call in batch):
        return [*await prepare_handoff(run, batch)]
    tasks = [call for call in batch if find_delegation(run.state, call) is not None]
    if not tasks:
        return await asyncio.gather(*map(run_tool, batch))
    others = [call for call in batch if call not in tasks]
    delegated, results = await asyncio.gather(
        _run_subagents(run, tasks), asyncio.gather(*map(run_tool, others))
    )
    found = dict(zip((one.call.call_id for one in others), results, strict=True))
    return [(delegated | found)[call.call.call_id] for call in batch]


async def _run_subagents(run: RunContext, calls: list[CallState]) -> dict[str, ToolResult]:
    """Have other agents work on these calls, each in a run of its own; none of them raises."""
    first, told = run.state.delegated + 1, parts.describe_effects(run.state)
    run.state = run.state.with_(delegated=run.state.delegated + len(calls))
    numbered = list(enumerate(calls, start=first))
    tasks = {
        call.call.call_id: task
        for number, call in numbered
        if (task := build_task(run.state, call, number, told)) is not None
    }
    children = [_build_child(task) for task in tasks.values()]
    ended = dict(zip(tasks, await run_children(run, children), strict=True))
    results: dict[str, ToolResult] = {}
    for call in calls:
        name, contract = call.call.call_id, run.state.agent.find_tool(call.call.name)
        if contract is None or name not in tasks:
            reason = "the call was allowed, but this run has no such tool"
            results[name] = ToolFailure.of(call.call, "error", "internal_error", reason)
        else:
            run_id = name_child(run, tasks[name].part)
            results[name] = build_result(call, contract, run_id, ended[name])
    return results


def _build_child(task: DelegatedTask) -> ChildTask:
    return ChildTask(task.part, task.agent, task.goal, task.share, task.output_schema)
