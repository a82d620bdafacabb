"""What parts of a run ask of people, as those who watch the run hear of it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from temporalio.api.common.v1 import Payload, Payloads
from temporalio.api.enums.v1 import EventType as HistoryEventType
from temporalio.api.history.v1 import HistoryEvent, WorkflowExecutionSignaledEventAttributes

from holdfast import histories
from holdfast.client.cursor import Cursor, shorten_execution
from holdfast.client.fold import Folds
from holdfast.client.run_reader import Known, Sources, Watched
from holdfast.client.stream import EventStream
from holdfast.contracts.delegation.relayed import RequestsSignal
from tests.builders import a_request
from tests.holdfast.test_events import Stored

PARTS = "delegation"


class WithAnOpenPart:
    """A run up to where its first part is under way, which then asks, and nothing else happens."""

    def __init__(self) -> None:
        chains = Stored(PARTS).chains
        self.run_id, ((self.execution, history), *_) = next(iter(chains.items()))
        started = HistoryEventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED
        place = next(i for i, one in enumerate(history.events) if one.event_type == started)
        self.events = history.events[: place + 1]
        child = self.events[-1].child_workflow_execution_started_event_attributes
        self.part = child.workflow_execution.workflow_id
        self.asks = asyncio.Event()

    async def follow(
        self, run_id: str, execution: str, *, wait: bool
    ) -> AsyncGenerator[histories.Recorded]:
        assert (wait, bool(execution)) == (True, True)
        if run_id == self.run_id:
            for event in self.events:
                yield histories.Recorded(self.execution, event)
            await self.asks.wait()
            yield histories.Recorded(self.execution, self._build_signal())
        await asyncio.Event().wait()

    def _build_signal(self) -> HistoryEvent:
        said = RequestsSignal(run_id=self.part, requests=(a_request("req-1"),))
        payload = Payload(
            metadata={"encoding": b"json/plain"}, data=said.model_dump_json().encode()
        )
        last = self.events[-1]
        return HistoryEvent(
            event_id=last.event_id + 1,
            event_time=last.event_time,
            event_type=HistoryEventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
            workflow_execution_signaled_event_attributes=WorkflowExecutionSignaledEventAttributes(
                signal_name="requests", input=Payloads(payloads=[payload])
            ),
        )


async def test_who_reads_along_hears_of_what_a_part_asks() -> None:
    """No event of the run tells of it, and whoever shows what waits must look at it anew."""
    source = WithAnOpenPart()
    run = Watched(source.run_id, source.execution, shorten_execution(source.execution))
    known = Known(source.execution, source.events[-1].event_id)
    stream = EventStream(Sources(source, Folds()), run, Cursor(), known)

    async with aclosing(stream.steps()) as steps:
        async for step in steps:
            if step is None:
                source.asks.set()
            if stream.trace.relayed_requests:
                break

    assert stream.trace.relayed_requests == (f"{source.part.rpartition('.')[2]}/req-1",)
