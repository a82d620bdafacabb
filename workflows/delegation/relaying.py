"""Requests of the runs that work for this one: shown by it, and decided through it."""

import asyncio
import json
from collections import defaultdict, deque
from typing import NamedTuple

from temporalio import workflow
from temporalio.exceptions import FailureError

from holdfast.contracts.approvals import Request
from holdfast.contracts.base import JsonObject
from holdfast.contracts.bounds import size
from holdfast.contracts.delegation.relayed import RequestsSignal, VerdictSignal
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.signals import Message, MessageOutcome
from holdfast.run import verdicts
from holdfast.run.delegation.part_ids import build_run_id
from holdfast.run.delegation.relayed import (
    find_forwarding_refusal,
    find_room,
    qualify,
    select_shown,
)
from holdfast.run.summaries import find_sender
from holdfast.workflows.inbound.inbox import InboundMessage
from holdfast.workflows.run_context import RunContext

VERDICT_SECONDS = 5.0
"""So long an update waits for what a part says; then its answer is that it was forwarded."""

MAX_FORWARDED = 50
"""Messages on their way to parts at once: a flood for them waits where it is cheap."""


class _Forwarded(NamedTuple):
    inbound: InboundMessage
    said: Message


class RequestRelay:
    """Between one run and those that work for it, and between it and the one that it works for."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._forwarded: dict[str, _Forwarded] = {}
        self._answered: deque[str] = deque(maxlen=MAX_FORWARDED)
        self._in_turn = defaultdict[str, asyncio.Lock](asyncio.Lock)

    def show(self, told: RequestsSignal) -> bool:
        """Show what a part waits for; false for a run that doesn't work for this one now."""
        part = self._find_part(told.run_id)
        if part is not None:
            self._run.asked_bytes += size(told)
            execution = self._run.executions.get(told.run_id, "")
            self._run.relayed[part] = tuple(
                qualify(one, part, told.run_id, execution) for one in told.requests
            )
        return part is not None

    def forward(self, inbound: InboundMessage, said: Message) -> tuple[str, OutcomeCode] | None:
        """Send what was said about the request of a part to it, which judges; or say why not."""
        part, _, name = said.request_id.partition("/")
        waiting = self._run.relayed.get(part, ())
        request = next((one for one in waiting if one.request_id == said.request_id), None)
        if request is None:
            return f"no request {said.request_id!r} in this run or its parts", "unknown_request"
        if len(self._forwarded) >= MAX_FORWARDED:
            return f"{MAX_FORWARDED} messages are on their way to parts: send it later", "full"
        if refusal := find_forwarding_refusal(request, said):
            return refusal
        content: JsonObject = json.loads(inbound.payloads[0].payload.data)
        content["request_id"] = name
        if said.digest is None:
            # What the part asks somebody else may have shown otherwise, as no token tells.
            content["digest"] = request.digest
        forward_id = str(workflow.uuid4())
        inbound.verdict = asyncio.Event()
        self._forwarded[forward_id] = _Forwarded(inbound, said)
        message: JsonObject = {
            "forward_id": forward_id,
            "signal": inbound.signal,
            "message": content,
        }
        inbound.forwarding = asyncio.create_task(
            self._send(build_run_id(self._run.state, part), forward_id, message)
        )
        return None

    def settle(self, told: VerdictSignal) -> bool:
        """Take what a part says of a message; false where none like that was forwarded lately."""
        if told.forward_id in self._answered:
            return True
        return self._settle(told.forward_id, told.outcome)

    def report(self, inbound: InboundMessage) -> None:
        """Tell the run that forwarded a message what became of it."""
        parent, outcome = workflow.info().parent, inbound.disposition
        if parent is None or not inbound.forward_id or not isinstance(outcome, MessageOutcome):
            return
        verdict: JsonObject = {
            "forward_id": inbound.forward_id,
            "outcome": outcome.model_dump(mode="json"),
        }
        inbound.forwarding = asyncio.create_task(tell_parent(parent, "verdict", verdict))

    def _find_part(self, run_id: str) -> str | None:
        parts = self._run.begun_parts
        return next(
            (part for part in parts if build_run_id(self._run.state, part) == run_id), None
        )

    async def _send(self, child: str, forward_id: str, message: JsonObject) -> None:
        try:
            async with self._in_turn[child]:  # a server delivers several at once in its own order
                await workflow.get_external_workflow_handle(child).signal("forwarded", message)
        except FailureError:
            over = MessageOutcome(
                accepted=False, request_id="", reason=f"run {child} is over", code="over"
            )
            self._settle(forward_id, over)
            return
        await workflow.sleep(VERDICT_SECONDS, summary="a part judges what was forwarded to it")
        on_its_way = MessageOutcome(
            accepted=True, request_id="", reason=f"forwarded to run {child}", code="forwarded"
        )
        self._settle(forward_id, on_its_way)

    def _settle(self, forward_id: str, outcome: MessageOutcome) -> bool:
        found = self._forwarded.pop(forward_id, None)
        if found is None:
            return False
        self._answered.append(forward_id)
        inbound, said = found
        outcome = outcome.with_(request_id=said.request_id)
        if not outcome.accepted:
            self._run.state = verdicts.record_refusal(
                self._run.state, inbound.signal, outcome, workflow.now(), sender=find_sender(said)
            )
        inbound.disposition = outcome
        if inbound.verdict is not None:
            inbound.verdict.set()
        self.report(inbound)
        return True


async def report_requests(run: RunContext, parent: workflow.ParentInfo) -> None:
    """
    Tell the run that this one works for what waits here.

    It does so each time that this changes, of ever less: that one may hear it a thousand times.
    """
    told: tuple[Request, ...] | None = () if workflow.info().continued_run_id is None else None
    while True:
        await workflow.wait_condition(
            lambda told=told: run.state.outcome is None and run.requests != told
        )
        told, oversight, name = run.requests, run.state.oversight, run.state.run_id
        shown = select_shown(told, name, find_room(oversight.relayed))
        message = RequestsSignal(run_id=name, requests=shown)
        run.state = run.state.with_oversight(relayed=oversight.relayed + size(message))
        if not await tell_parent(parent, "requests", message.model_dump(mode="json")):
            return


async def report_suspensions(run: RunContext, parent: workflow.ParentInfo) -> None:
    """Tell the run that this one works for, of each suspension, when this one is at rest."""
    told = 0
    while True:
        await workflow.wait_condition(
            lambda told=told: run.suspension not in {0, told} and not run.in_flight
        )
        told = run.suspension
        if not await tell_parent(parent, "held", {"run_id": run.state.run_id}):
            return


async def tell_parent(parent: workflow.ParentInfo, name: str, message: JsonObject) -> bool:
    """Signal the run that this one works for; false where it has ended meanwhile."""
    above = workflow.get_external_workflow_handle(parent.workflow_id, run_id=parent.run_id)
    try:
        await above.signal(name, message)
    except FailureError:
        return False
    return True
