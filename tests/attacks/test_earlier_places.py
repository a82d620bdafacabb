"""Who tries many runs again, or opens many sessions, keeps few places where others decide."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from temporalio.client import Client, Interceptor, OutboundInterceptor, QueryWorkflowInput
from temporalio.exceptions import ApplicationError
from temporalio.workflow import LocalActivityConfig

from holdfast.activities.callers import NOT_HERE, Execution
from holdfast.activities.opening import MAX_EARLIER_RUNS
from holdfast.activities.sessions.keeping import MAX_OPENING, SessionActivities
from holdfast.contracts.sessions.archive import ArchivedSession, LoadedSession, LoadSession
from holdfast.testing import say
from holdfast.workflows import options
from tests.asking import in_run
from tests.running import Runs
from tests.sample import scripted
from tests.workflows.test_retries import BROKEN, first_then, retried


class Held(Interceptor, OutboundInterceptor):
    """Has the answers to a worker's queries wait, and knows which runs it asks meanwhile."""

    def __init__(self) -> None:
        self.asking = list[str]()
        self.go, self.news = asyncio.Event(), asyncio.Condition()
        self.go.set()

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        """Stand before what asks the server."""
        OutboundInterceptor.__init__(self, next)
        return self

    async def query_workflow(self, input: QueryWorkflowInput) -> object:
        """Ask the server once that may answer."""
        self.asking.append(input.id)
        async with self.news:
            self.news.notify_all()
        await self.go.wait()
        self.asking.remove(input.id)
        return await super().query_workflow(input)

    async def asks(self, run_id: str, times: int) -> None:
        """Return when so many ask a run."""
        async with self.news:
            await self.news.wait_for(lambda: self.asking.count(run_id) >= times)


async def test_who_tries_many_runs_again_keeps_few_places(runs: Runs) -> None:
    """The rest wait without one until it is their turn; another tenant's doesn't wait for them."""
    # BY-64
    held = Held()
    working = Client(
        runs.client.service_client, data_converter=runs.client.data_converter, interceptors=[held]
    )
    app = scripted(first_then([BROKEN], lambda _: say("done")))
    async with runs.working(app, client=working):
        broken = {name: await runs.start("it", tenant=name) for name in ("acme", "globex")}
        for run in broken.values():
            await run.result()
        held.go.clear()
        many = [
            await retried(runs, broken["acme"], tenant="acme") for _ in range(MAX_EARLIER_RUNS + 5)
        ]
        await held.asks(broken["acme"].handle.id, MAX_EARLIER_RUNS)
        other = await retried(runs, broken["globex"], tenant="globex")
        await held.asks(broken["globex"].handle.id, 1)
        asking = held.asking.count(broken["acme"].handle.id)
        held.go.set()
        ends = [(await one.result()).status for one in (*many, other)]
        await many[-1].story()

    assert asking == MAX_EARLIER_RUNS
    assert set(ends) == {"completed"}


class Slow:
    """Executions that take long to say how a session was left."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def find(
        self, session_id: str, own: str, archived: ArchivedSession | None
    ) -> tuple[Execution, ...]:
        assert session_id
        assert own
        assert archived is None
        await self.go.wait()
        return ()

    async def read(self, execution: Execution) -> ArchivedSession | None:
        raise AssertionError(execution)


async def test_beyond_its_share_a_tenants_sessions_open_later() -> None:
    """Another tenant has a share of its own; one that is open makes room."""
    slow = Slow()
    sessions = SessionActivities(None, slow)

    def load(tenant: str) -> asyncio.Task[LoadedSession]:
        asked = LoadSession(session_id="s", tenant=tenant, agent="it")
        return asyncio.create_task(in_run("s").run(sessions.load_session, asked))

    acme = [load("acme") for _ in range(MAX_OPENING + 1)]
    globex = load("globex")
    for _ in range(10):
        await asyncio.sleep(0)
    slow.go.set()
    ends = await asyncio.gather(*acme, return_exceptions=True)

    assert [one.type for one in ends if isinstance(one, ApplicationError)] == [NOT_HERE]
    assert await globex == await load("acme") == LoadedSession()


@pytest.mark.parametrize(
    "asking", [options.record, options.read_earlier_run, options.load_session]
)
def test_no_pause_before_another_look_is_within_a_workflow_task(
    asking: Callable[[str], LocalActivityConfig],
) -> None:
    """There are a hundred; who tries a hundred runs again that nobody has took all of them."""
    threshold = asking("it").get("local_retry_threshold")

    assert threshold is not None
    assert threshold < timedelta(seconds=1)
