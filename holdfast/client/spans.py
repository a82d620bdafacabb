"""The spans of a run and of those that did a part of it, from the histories a server keeps."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from temporalio.client import Client, WorkflowHistory
from temporalio.service import RPCError

from holdfast import histories
from holdfast.client.rpc_errors import translate_error
from holdfast.client.run import Run
from holdfast.contracts.errors import HoldfastError
from holdfast.trace.entries import BackgroundTask
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import SpanTree, join_parts
from holdfast.trace.values import Trace


async def read_spans(client: Client, run_id: str, *, reasoning: bool) -> SpanTree:
    """Return one tree of a run; raises HoldfastError where there is none that can be read."""
    trace = parse_trace(run_id, await Run(client, run_id).history())
    return await join_spans(client, trace, reasoning=reasoning)


def parse_trace(run: str, found: Sequence[WorkflowHistory]) -> Trace:
    """Read what a run did from its histories; HoldfastError where they are none of a run."""
    try:
        return read_trace(found)
    except ValueError as error:
        raise HoldfastError(f"{run}: {error}") from None


async def read_with_parts(client: Client, run_id: str) -> tuple[Trace, ...]:
    """Return what a run did, and then what those did that did a part of it."""
    return await _add_parts(client, parse_trace(run_id, await Run(client, run_id).history()))


async def _add_parts(client: Client, trace: Trace) -> tuple[Trace, ...]:
    found = (trace,)
    async for _, part in _read_parts(client, trace):
        found += await _add_parts(client, part)
    return found


async def join_spans(
    client: Client, trace: Trace, *, reasoning: bool, room: histories.Room | None = None
) -> SpanTree:
    """Return one tree of a run that was read already; HistoriesTooLarge without *room* for it."""
    parts: dict[str, SpanTree] = {}
    async for run_id, part in _read_parts(client, trace, room):
        parts[run_id] = await join_spans(client, part, reasoning=reasoning, room=room)
    # Beside the loop: of a flooded run it is megabytes, and a worker that archives has others.
    tree = await asyncio.to_thread(span_tree, trace, reasoning=reasoning)
    return join_parts(tree, parts)


async def _read_parts(
    client: Client, trace: Trace, room: histories.Room | None = None
) -> AsyncGenerator[tuple[str, Trace]]:
    """Read what began as a part of a run, each with the id that the run gave it."""
    for work in trace.background_tasks:
        if work.execution:
            found = await _fetch_part(client, work, room)
            yield work.run_id, await asyncio.to_thread(parse_trace, work.run_id, found)


async def _fetch_part(
    client: Client, work: BackgroundTask, room: histories.Room | None
) -> tuple[WorkflowHistory, ...]:
    try:
        return await histories.fetch_from(client, work.run_id, work.execution, room)
    except RPCError as error:
        raise translate_error(error, client, work.run_id) from None
