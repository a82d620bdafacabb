"""What a start in the name of one tenant is told of the runs of another one."""

import pytest
from pydantic import JsonValue
from temporalio.client import (
    Client,
    Interceptor,
    OutboundInterceptor,
    QueryWorkflowInput,
    WorkflowQueryFailedError,
)
from temporalio.exceptions import ApplicationError

from holdfast.activities.runs import TemporalEarlierRuns
from holdfast.contracts.control import RetryOf
from tests.holdfast.unreadable import start_too_deep
from tests.running import Runs
from tests.sample import scripted
from tests.silence import Silent
from tests.workflows.test_retries import BROKEN, refusal

NONE = "there is no run '{name}' of tenant 'other' that a worker answers for"


async def ask_for(runs: Runs, run_id: str) -> str:
    """Say what a start that tries a run again is refused with at its first look."""
    with pytest.raises(ApplicationError) as refused:
        await TemporalEarlierRuns(runs.client).read(RetryOf(run_id=run_id), "other")
    return refused.value.message


@pytest.mark.parametrize("of", [{}, {"turn": 1}, {"turn": 99}, {"turn": 99, "dry": True}])
async def test_who_tries_a_run_of_another_tenant_learns_nothing_of_it(
    runs: Runs, of: dict[str, JsonValue]
) -> None:
    """Neither that there is one, nor how many turns it took, nor which run it tries again."""
    # BY-20
    async with runs.working(scripted([BROKEN])):
        theirs = await runs.start("it", tenant="acme")
        await theirs.result()
        lineage: dict[str, JsonValue] = {"run_id": theirs.handle.id, "turn": 99}
        behind = await runs.start_with({"agent": "it", "tenant": "acme", "retry_of": lineage})
        await refusal(behind)
        told = {
            name: await refusal(
                await runs.start_with(
                    {"agent": "it", "tenant": "other", "retry_of": {"run_id": name, **of}}
                )
            )
            for name in (theirs.handle.id, behind.handle.id, "nobody")
        }

    assert told == {name: NONE.format(name=name) for name in told}


class _Busy(Interceptor, OutboundInterceptor):
    """Has a worker that is too busy be asked how a run stands."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Stand before what asks the server."""
        OutboundInterceptor.__init__(self, next)
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> object:
        """Ask, or be told what the SDK says of such a worker."""
        if input.query == "status":
            raise WorkflowQueryFailedError("[TMPRL1101] Potential deadlock detected")
        return await super().query_workflow(input)


async def test_who_asks_a_worker_that_is_busy_learns_nothing_of_a_run(runs: Runs) -> None:
    """Whose it is isn't said then, and it might say the rest a moment later."""
    # BY-20
    asking = Client(runs.client.service_client, interceptors=[_Busy()])
    async with runs.working(scripted([BROKEN])):
        theirs = await runs.start("it", tenant="acme")
        await theirs.result()
        with pytest.raises(ApplicationError) as told:
            await TemporalEarlierRuns(asking).read(
                RetryOf(run_id=theirs.handle.id, turn=99), "other"
            )

    assert told.value.message == NONE.format(name=theirs.handle.id)
    assert not told.value.non_retryable  # it may be theirs who ask


async def test_who_tries_a_run_that_nobody_works_for_learns_nothing_of_it(runs: Runs) -> None:
    """No worker says whose it is: the words are those for a run that nobody has."""
    # BY-20
    theirs = await runs.start("it", tenant="acme")
    told = await ask_for(runs, theirs.handle.id)
    await theirs.handle.terminate()

    assert told == NONE.format(name=theirs.handle.id)
    assert await ask_for(runs, "nobody") == NONE.format(name="nobody")


async def test_a_run_that_nobody_works_for_is_not_waited_for(runs: Runs) -> None:
    """Starts that try such runs again, however many, keep no places of a worker's meanwhile."""
    waiting = Silent()
    asking = Client(runs.client.service_client, interceptors=[waiting])
    theirs = await runs.start("it", tenant="acme")
    with pytest.raises(ApplicationError, match="that a worker answers for"):
        await TemporalEarlierRuns(asking).read(RetryOf(run_id=theirs.handle.id), "acme")
    await theirs.handle.terminate()

    assert waiting.asked == []


async def test_a_run_that_nobody_can_read_is_not_waited_for(runs: Runs) -> None:
    """Its start is as deep as a client can write it: that there is one isn't told either."""
    name = f"deep-{runs.queue}"
    await start_too_deep(runs.client, name, "AgentRun", runs.queue)
    told = await ask_for(runs, name)
    await runs.client.get_workflow_handle(name).terminate()

    assert told == NONE.format(name=name)
