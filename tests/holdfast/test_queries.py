"""What the command line does when a worker can't answer a query."""

from types import SimpleNamespace
from typing import cast

import pytest
from pydantic import RootModel
from temporalio.client import (
    Client,
    DescribeWorkflowInput,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    WorkflowExecutionDescription,
    WorkflowQueryFailedError,
)
from temporalio.common import RawValue
from temporalio.converter import PayloadConverter

from holdfast.client import NoWorker, Run
from holdfast.client.rpc_errors import QUERY_ATTEMPTS


class Words(RootModel[str]):
    """An answer in words."""


class Failing(Interceptor, OutboundInterceptor):
    """Answers "it is there" to every query, after so many failures."""

    def __init__(self, message: str, failures: int) -> None:
        self.message, self.failures, self.queries = message, failures, 0

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> RawValue:
        self.queries += 1
        if self.queries <= self.failures:
            raise WorkflowQueryFailedError(self.message)
        return RawValue(PayloadConverter.default.to_payload("it is there"))

    async def describe_workflow(
        self, input: DescribeWorkflowInput
    ) -> WorkflowExecutionDescription:
        nothing = SimpleNamespace(pending_activities=())
        described = SimpleNamespace(workflow_type="AgentRun", raw_description=nothing)
        return cast("WorkflowExecutionDescription", described)


def a_run(client: Client, failing: Failing) -> Run:
    return Run(Client(client.service_client, interceptors=[failing]), "run")


@pytest.mark.parametrize(
    "message",
    [
        "[TMPRL1100] Nondeterminism error: Activity machine does not handle this event",
        "[TMPRL1101] Potential deadlock detected: workflow didn't yield within 2 second(s)",
    ],
    ids=["an execution that ends", "a busy worker"],
)
async def test_a_replay_that_failed_is_tried_again(client: Client, message: str) -> None:
    """It says nothing of the run: the next answer does."""
    failing = Failing(message, failures=QUERY_ATTEMPTS - 1)

    assert await a_run(client, failing).query("status", Words) == Words("it is there")


async def test_a_replay_isnt_tried_for_ever(client: Client) -> None:
    """Somebody waits at the terminal."""
    failing = Failing("[TMPRL1100] Nondeterminism error", failures=99)

    with pytest.raises(NoWorker):
        await a_run(client, failing).query("status", Words)
    assert failing.queries == QUERY_ATTEMPTS


async def test_what_a_run_says_itself_is_final(client: Client) -> None:
    """A run that has only just begun can't be asked yet."""
    failing = Failing("the run has not begun", failures=99)

    with pytest.raises(NoWorker):
        await a_run(client, failing).query("status", Words)
    assert failing.queries == 1
