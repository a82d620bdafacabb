"""The spans of a run and of those that did a part of it, from the histories a server keeps."""

from temporalio.client import Client

from holdfast.client.run import Run
from holdfast.contracts.errors import HoldfastError
from holdfast.trace.reader import read_trace
from holdfast.trace.spans.forms import join_parts
from holdfast.trace.spans.tree import span_tree
from holdfast.trace.spans.values import SpanTree
from holdfast.trace.values import Trace


async def read_spans(client: Client, run_id: str, *, reasoning: bool) -> SpanTree:
    """Return one tree of a run; raises HoldfastError where there is none that can be read."""
    found = await Run(client, run_id).history()
    try:
        trace = read_trace(found)
    except ValueError as error:
        raise HoldfastError(f"{run_id}: {error}") from None
    return await join_spans(client, trace, reasoning=reasoning)


async def join_spans(client: Client, trace: Trace, *, reasoning: bool) -> SpanTree:
    """Return one tree of a run that was read already."""
    parts: dict[str, SpanTree] = {}
    for work in trace.background_tasks:
        if work.kind == "child" and work.run_id and work.started_at is not None:
            parts[work.run_id] = await read_spans(client, work.run_id, reasoning=reasoning)
    return join_parts(span_tree(trace, reasoning=reasoning), parts)
