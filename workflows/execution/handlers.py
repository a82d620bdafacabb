"""What the workflows of runs take and answer, whatever they are: signals, updates, queries."""

from collections.abc import Sequence

from pydantic import JsonValue
from temporalio import workflow
from temporalio.common import RawValue

from holdfast.contracts.approvals import PendingPage, Request
from holdfast.contracts.budget import UsageReport
from holdfast.contracts.delegation.carryover import Carryover
from holdfast.contracts.model import Prefix
from holdfast.contracts.run import StatusReport
from holdfast.contracts.sessions.messages import MessageReceipt
from holdfast.contracts.signals import MessageOutcome
from holdfast.contracts.state.late_calls import LateCall
from holdfast.contracts.transcript import TranscriptPage
from holdfast.run import parts
from holdfast.run.sessions.messages import build_receipt
from holdfast.workflows import views
from holdfast.workflows.execution import late_calls
from holdfast.workflows.execution.loop import StepLoop
from holdfast.workflows.inbound import messages
from holdfast.workflows.inbound.inbox import InboundMessage, Inbox
from holdfast.workflows.inbound.signals import SignalHandler
from holdfast.workflows.run_context import RunContext

# A run that ends by itself waits for what it was told; one that is cancelled needs no more words.
ABANDON = workflow.HandlerUnfinishedPolicy.ABANDON


class RunHandlers:
    """A run as it is talked to: the workflow that it is has its main path beside these."""

    def __init__(self) -> None:
        self._run = RunContext()
        self._inbox = Inbox(SignalHandler(self._run).handle)
        self._loop = StepLoop(self._run, self._inbox)

    @property
    def names_ids_only(self) -> bool:
        """Whether the run is about data that a law protects, as far as it is known by now."""
        return self._run.names_ids_only

    @workflow.signal(dynamic=True, unfinished_policy=ABANDON)
    async def receive(self, name: str, payloads: Sequence[RawValue]) -> None:
        """
        Take any signal.

        One handler for all names: a handler of its own drops what it can't decode without a trace,
        and a wrong number of arguments fails the workflow task, for ever.
        """
        await self._inbox.submit(InboundMessage(name, payloads))

    @workflow.update(dynamic=True, unfinished_policy=ABANDON)
    async def decide(
        self, name: str, payloads: Sequence[RawValue]
    ) -> MessageOutcome | MessageReceipt:
        """
        Take the update `decide`: the signal `approval`, with an answer to what became of it.

        In a session `send` is the signal `message`, with an answer that it was taken.
        """
        signal = messages.UPDATES.get(name, name)
        answer = await self._inbox.submit_and_wait(InboundMessage(signal, payloads))
        if signal == "message" and isinstance(answer, MessageOutcome):
            return build_receipt(answer)
        return answer

    @workflow.query
    def status(self) -> StatusReport:
        """Say where the run stands."""
        run = self._run
        relayed = run.requests[len(run.state.oversight.requests) :]
        return views.status(run.state, run.in_flight, run.longest_wait, relayed)

    @workflow.query
    def pending(self, *page: JsonValue) -> tuple[Request, ...] | PendingPage:
        """Return the requests that wait for a person: a list, or a page of them."""
        waiting = self._run.requests
        if views.is_without_argument(page):
            return views.pending(waiting)
        return views.pending_page(waiting, views.read_query("pending", views.PageQuery, page))

    @workflow.query
    def usage(self) -> UsageReport:
        """Say what the run has used."""
        return views.usage(self._run.state)

    @workflow.query
    def transcript(self, *page: JsonValue) -> TranscriptPage:
        """Return a part of the transcript, of less than 1 MB."""
        asked = views.read_query("transcript", views.PageQuery, page)
        return views.transcript_page(self._run.state, asked)

    @workflow.query
    def context(self, *page: JsonValue) -> TranscriptPage:
        """Return what the call of the model under way was shown, to whoever has its input."""
        asked = views.read_query("context", views.ContextQuery, page)
        return views.context_page(self._run.state, asked)

    @workflow.query
    def late_call(self, *given: JsonValue) -> LateCall:
        """Say whether a call that waited in its queue may begin, to whoever has its input."""
        asked = views.read_query("late_call", views.LateCallQuery, given)
        return late_calls.answer(self._run, self._inbox, asked)

    @workflow.query
    def carryover(self, *given: JsonValue) -> Carryover:
        """Return what this run leaves to one that tries it again, once it is over."""
        run, asked = self._run, views.read_query("carryover", views.CarryoverQuery, given)
        begun = tuple(run.begun.values())
        left = parts.build_carryover(
            run.state, begun, run.begun_parts, workflow.now(), asked.turn, dry=asked.dry
        )
        return views.carryover(run.state, asked, left)

    @workflow.query
    def prefix(self) -> Prefix:
        """Return instructions and tool schemas, as this run began with them."""
        return self._run.state.agent.prefix
