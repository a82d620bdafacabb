"""What waits is found whatever becomes of runs meanwhile, and however many nobody works for."""

from contextlib import suppress
from uuid import uuid4

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, Interceptor, OutboundInterceptor, QueryWorkflowInput
from temporalio.service import RPCError

from holdfast.client import Holdfast, NoWorker
from holdfast.client.holdfast import MAX_CONCURRENT_OF_QUEUE
from tests.holdfast.test_client import asked, working
from tests.silence import Silent

pytestmark = pytest.mark.usefixtures("command_line")


class Deleting(Interceptor, OutboundInterceptor):
    """Somebody who deletes each run that is asked, just before."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.deleted = set[str]()

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        OutboundInterceptor.__init__(self, next)
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> object:
        if input.id.startswith("deleted-") and input.id not in self.deleted:
            self.deleted.add(input.id)
            await delete(self._client, input.id)
        return await super().query_workflow(input)


async def delete(client: Client, run_id: str) -> None:
    """Delete a run, and wait until the server knows it no more."""
    handle = client.get_workflow_handle(run_id)
    await client.workflow_service.delete_workflow_execution(
        DeleteWorkflowExecutionRequest(
            namespace=client.namespace, workflow_execution=WorkflowExecution(workflow_id=run_id)
        )
    )
    with suppress(RPCError):
        while True:
            await handle.describe()


async def test_a_run_that_is_deleted_meanwhile_waits_for_nobody(client: Client) -> None:
    """What waits in the others is found, and it is not among those that nobody answered for."""
    tenant, gone = f"t-{uuid4().hex[:8]}", f"deleted-{uuid4().hex[:8]}"
    deleting = Deleting(client)
    asking = Holdfast(Client(client.service_client, interceptors=[deleting]))
    async with working(client) as (holdfast, queue):
        runs = [
            await holdfast.start("sender", "go", queue=queue, tenant=tenant, id=name)
            for name in (gone, None)
        ]
        for run in runs:
            await asked(run)
        waiting, silent = list[str](), ""
        while not (waiting and deleting.deleted):  # visibility comes behind
            waiting, silent = list[str](), ""
            try:
                async for one in asking.pending(tenant=tenant):
                    waiting.append(one.run.id)
            except NoWorker as error:  # other tests have left theirs behind
                silent = str(error)
        await runs[1].cancel()

    assert deleting.deleted == {gone}
    assert waiting == [runs[1].id]
    assert gone not in silent


@pytest.mark.parametrize(
    ("works", "asked_of"),
    [
        pytest.param(False, 0, id="nobody works for them"),
        pytest.param(True, MAX_CONCURRENT_OF_QUEUE, id="who works for them has no time"),
    ],
)
async def test_many_silent_runs_are_not_waited_for_one_behind_the_other(
    client: Client, monkeypatch: pytest.MonkeyPatch, *, works: bool, asked_of: int
) -> None:
    """The wait for all has an end, each of them is named, and what waits elsewhere is found."""
    monkeypatch.setattr("holdfast.client.holdfast.SILENCE_SECONDS", 0)
    tenant, nobodys = f"t-{uuid4().hex[:8]}", f"nobody-{uuid4().hex[:8]}"
    silent = Silent("silent-")
    asking = Holdfast(Client(client.service_client, interceptors=[silent]))
    names = [f"silent-{number}-{tenant}" for number in range(60)]
    waiting: list[str] = []
    told = ""
    async with working(client) as (holdfast, queue):
        of_silent = queue if works else nobodys
        for name in names:
            await holdfast.start("sender", "go", queue=of_silent, tenant=tenant, id=name)
        run = await holdfast.start("sender", "go", queue=queue, tenant=tenant)
        await asked(run)
        while not (waiting and all(name in told for name in names)):  # visibility comes behind
            waiting, silent.asked = [], []
            try:
                async for one in asking.pending(tenant=tenant):
                    waiting.append(one.run.id)
            except NoWorker as error:
                told = str(error)
    for name in (*names, run.id):
        await client.get_workflow_handle(name).terminate()

    assert waiting == [run.id]
    assert len(silent.asked) in {asked_of, max(asked_of - 1, 0)}
