"""Tasks for other agents, worked on beside each other and beside the other calls of a turn."""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import workflow

from holdfast.contracts.calls import ToolFailure, ToolResult
from holdfast.contracts.state.calls import CallState
from holdfast.run import parts, tool_calls
from holdfast.run.delegation.handoffs import withdraw_returns
from holdfast.run.delegation.part_ids import build_run_id
from holdfast.run.delegation.subagents import (
    Briefing,
    DelegatedTask,
    build_result,
    build_task,
    find_delegation,
    find_handoff,
)
from holdfast.run.disagreements import TOO_OLD, NotBegun
from holdfast.workflows.children import LATE_LOADS, LATE_TASKS, ChildTask, run_children
from holdfast.workflows.delegation.handoffs import prepare_handoff, prepare_return, withdraw_late
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


async def _run_subagents(
    run: RunContext, calls: list[CallState]
) -> dict[str, ToolResult | NotBegun]:
    """
    Have other agents work on these calls, each in a run of its own; none of them raises.

    Each begins within seconds after it was decided, what was loaded for it included; where that
    took longer it is decided anew, and what was loaded stays there for it.
    """
    ruled_at = run.elapsed_seconds()
    first, told = run.state.parts.delegated + 1, parts.describe_effects(run.state)
    run.state = run.state.with_parts(delegated=run.state.parts.delegated + len(calls))
    briefings, results = await _prepare_returns(run, calls)
    numbered = list(enumerate(calls, start=first))
    tasks = {
        call.call.call_id: task
        for number, call in numbered
        if call.call.call_id not in results
        and (task := build_task(run.state, call, number, told, briefings.get(call.call.call_id)))
    }
    loaded_at = run.elapsed_seconds()
    children = [
        _build_child(task, ruled_at, loaded_at if name in briefings else None)
        for name, task in tasks.items()
    ]
    waiting = tool_calls.count_open(run.state)
    ended = dict(zip(tasks, await run_children(run, children, calls=waiting), strict=True))
    withdraw_late(run, [name for name in briefings if isinstance(ended.get(name), NotBegun)])
    for call in calls:
        name, contract = call.call.call_id, run.state.agent.find_tool(call.call.name)
        delegation = find_delegation(run.state, call)
        if name in results:
            continue
        if contract is None or delegation is None or name not in tasks:
            reason = "the call was allowed, but this run has no such tool"
            results[name] = ToolFailure.of(call.call, "error", "internal_error", reason)
        else:
            run_id, end = build_run_id(run.state, tasks[name].part), ended[name]
            results[name] = (
                end
                if isinstance(end, NotBegun)
                else build_result(
                    call, contract, run_id, end, delegation, late=run_id in run.late_parts
                )
            )
    return results


async def _prepare_returns(
    run: RunContext, calls: list[CallState]
) -> tuple[dict[str, Briefing], dict[str, ToolResult | NotBegun]]:
    """Prepare the handoffs whose answers come back: the words of each, or why it has none."""
    briefings, refused = dict[str, Briefing](), dict[str, ToolResult | NotBegun]()
    ruled_at = run.elapsed_seconds()
    for call in calls:
        delegation, contract = (
            find_delegation(run.state, call),
            run.state.agent.find_tool(call.call.name),
        )
        if (
            delegation is None
            or not delegation.returns
            or contract is None
            or contract.receiver is None
        ):
            continue
        held = run.state.suspended or run.state.is_ending
        # Runs of an earlier release loaded all the same.
        if (held or run.is_late(ruled_at)) and workflow.patched(LATE_TASKS):
            refused[call.call.call_id] = TOO_OLD  # another one was loaded for until now
            continue
        prepared = await prepare_return(run, call, delegation, contract.receiver)
        if isinstance(prepared, Briefing):
            briefings[call.call.call_id] = prepared
        else:
            refused[call.call.call_id] = prepared
    if briefings and run.is_late(ruled_at) and workflow.patched(LATE_LOADS):
        run.state = withdraw_returns(run.state, briefings)
        return {}, refused | dict.fromkeys(briefings, TOO_OLD)
    if briefings:
        await run.write_journal()
    return briefings, refused


def _build_child(task: DelegatedTask, ruled_at: float, loaded_at: float | None) -> ChildTask:
    return ChildTask(
        task.part,
        task.agent,
        task.goal,
        task.share,
        task.output_schema,
        task.timeout_seconds,
        ruled_at=ruled_at,
        loaded_at=loaded_at,
        loaded=task.loaded,
    )
