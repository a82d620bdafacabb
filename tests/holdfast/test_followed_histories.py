"""A history that is followed while its server goes away, and comes back."""

from contextlib import aclosing
from dataclasses import replace

import pytest
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import (
    Client,
    FetchWorkflowHistoryEventsInput,
    Interceptor,
    OutboundInterceptor,
    WorkflowHistoryEventAsyncIterator,
)
from temporalio.service import RPCError, RPCStatusCode

from holdfast import histories
from holdfast.histories import follow
from tests.running import Runs


class Outage(Interceptor):
    """Has the server say so, once, when a history has been read as far as it was said."""

    def __init__(self, behind: int, status: RPCStatusCode) -> None:
        self.left = behind
        self.status = status
        self.client: Client | None = None

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _Server(next, self)


class _Server(OutboundInterceptor):
    def __init__(self, next: OutboundInterceptor, outage: Outage) -> None:
        super().__init__(next)
        self._outage = outage

    def fetch_workflow_history_events(
        self, input: FetchWorkflowHistoryEventsInput
    ) -> WorkflowHistoryEventAsyncIterator:
        assert self._outage.client is not None
        return _Events(self._outage.client, replace(input, page_size=1), self._outage)


class _Events(WorkflowHistoryEventAsyncIterator):
    def __init__(
        self, client: Client, input: FetchWorkflowHistoryEventsInput, outage: Outage
    ) -> None:
        super().__init__(client, input)
        self._outage = outage

    async def __anext__(self) -> HistoryEvent:
        self._outage.left -= 1
        if self._outage.left == -1:
            raise RPCError("gone", self._outage.status, b"")
        return await super().__anext__()


async def test_who_follows_is_told_each_event_once(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that went away is asked again, and what it had told before isn't told twice."""
    monkeypatch.setattr(histories, "RECONNECT_SECONDS", 0.0)
    name, execution = await ended(runs)
    client = interrupted(runs.client, Outage(2, RPCStatusCode.UNAVAILABLE))
    told = [one.event.event_id async for one in follow(client, name, execution)]

    assert told == [1, 2, 3, 4]


async def test_who_may_not_follow_is_told_so(runs: Runs) -> None:
    """Whatever else a server says is the end of it: nobody asks for ever."""
    name, execution = await ended(runs)
    client = interrupted(runs.client, Outage(2, RPCStatusCode.PERMISSION_DENIED))
    async with aclosing(follow(client, name, execution)) as events:
        told = [(await anext(events)).event.event_id for _ in "12"]
        with pytest.raises(RPCError, match="gone"):
            await anext(events)

    assert told == [1, 2]


async def ended(runs: Runs) -> tuple[str, str]:
    """Give a run that nobody took, with four events: its start, a task, a word, its end."""
    run = await runs.start("it")
    await run.signal("steer", {"text": "hello"})
    execution = await run.execution()
    assert execution is not None
    await run.handle.terminate()
    return run.handle.id, execution


def interrupted(client: Client, outage: Outage) -> Client:
    config = client.config()
    config["interceptors"] = [outage]
    outage.client = Client(**config)
    return outage.client
