"""Whoever starts workflows gives them large memos, which all who list runs are sent."""

import ast
from pathlib import Path

import pytest
from temporalio.client import (
    Client,
    Interceptor,
    ListWorkflowsInput,
    OutboundInterceptor,
    WorkflowExecutionAsyncIterator,
)
from temporalio.service import RPCError, RPCStatusCode

from holdfast.client import Holdfast
from holdfast.dev_server import MAX_MEMO_BYTES
from holdfast.testing import say
from tests.running import Runs
from tests.sample import scripted
from tests.shape.tree import product_nodes

MAX_ANSWER_BYTES = 128 * 2**20
"""What the SDK takes of an answer; beyond it, it asks for a while and then raises."""

LARGEST_MEMO_BYTES = 2 * 2**20
"""What a server takes unless it is told otherwise."""


class LargestMemos(Interceptor, OutboundInterceptor):
    """A server on which each workflow has as large a memo as there is."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        OutboundInterceptor.__init__(self, next)
        return self

    def list_workflows(self, input: ListWorkflowsInput) -> WorkflowExecutionAsyncIterator:
        if input.page_size * LARGEST_MEMO_BYTES >= MAX_ANSWER_BYTES:
            raise RPCError("size limit exceeded", RPCStatusCode.RESOURCE_EXHAUSTED, b"")
        return super().list_workflows(input)


async def test_what_runs_and_waits_is_found_among_large_memos(runs: Runs) -> None:
    """Pages are as small as the largest memos want them, or nobody would be told of any run."""
    config = runs.client.config()
    config["interceptors"] = [LargestMemos()]
    async with runs.working(scripted([say("hi")])):
        run = await runs.start("it")
        await run.result()
        holdfast = Holdfast(Client(**config))
        listed = [one.run_id for one in await holdfast.runs()]
        await holdfast.sessions()
        waiting = [one async for one in holdfast.pending(tenant=runs.queue)]

    assert run.handle.id in listed
    assert waiting == []


def test_one_place_lists_executions() -> None:
    """What else of a worker or a client looks for workflows has its pages from there."""
    found = {
        path
        for path, node in product_nodes()
        if isinstance(node, ast.Attribute) and node.attr == "list_workflows"
    }

    assert found == {Path("activities/statuses.py")}


async def test_our_servers_take_no_large_memos(runs: Runs) -> None:
    """Whoever looks for workflows holds those of fifty at once."""
    with pytest.raises(RPCError, match=r"[Mm]emo"):
        await runs.client.start_workflow(
            "AgentRun",
            {"agent": "it", "input": "go"},
            id=f"{runs.queue}-large",
            task_queue=f"{runs.queue}-nobody",
            memo={"it": "x" * MAX_MEMO_BYTES},
        )
