"""Hearing what people say to a run: what may take effect does, the rest is refused and kept."""

import itertools
from collections.abc import Sequence

from temporalio import workflow
from temporalio.common import RawValue
from temporalio.exceptions import ActivityError

from holdfast.contracts.approvals import (
    JudgeInput,
    outline,
)
from holdfast.contracts.budget import BudgetStatus
from holdfast.contracts.delegation.relayed import ForwardedSignal, RequestsSignal, VerdictSignal
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.journal import MessageRefused, UnsignedSignal
from holdfast.contracts.sessions.messages import MessageSignal
from holdfast.contracts.signals import (
    CONTROL_NAMES,
    ApprovalSignal,
    Control,
    ControlMessage,
    ControlSignal,
    HeldSignal,
    MessageOutcome,
    ResolutionSignal,
    SignedSignal,
    SteerSignal,
    StopSignal,
    SuspensionSignal,
)
from holdfast.contracts.state.run import RunState
from holdfast.contracts.texts import shorten
from holdfast.run import requests, summaries, turns, verdicts
from holdfast.run.inbound import controls
from holdfast.run.sessions import messages as sessions
from holdfast.workflows import authorizing, options, resets, run_context
from holdfast.workflows.delegation.relaying import RequestRelay
from holdfast.workflows.inbound import messages
from holdfast.workflows.inbound.inbox import InboundMessage, is_behind_local_activity
from holdfast.workflows.log import log_control, log_verdicts
from holdfast.workflows.run_context import RunContext, is_cancellation

GRADERS_STOP = "graders-stop"
"""The patch by which a person may stop those that look at a run which is over."""

SUSPENSION_SIGNALS = {"suspend", "resume", "held"}
"""The signals that change where a run stands as soon as they come."""


class SignalHandler:
    """Hears for one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._relay = RequestRelay(run)
        self._may_record = True

    async def handle(
        self, batch: Sequence[InboundMessage], *, may_record: bool, more: bool
    ) -> None:
        """Read messages and let them take effect, or refuse them."""
        self._may_record = may_record
        judged: list[tuple[InboundMessage, summaries.Message]] = []
        controls: list[tuple[InboundMessage, Control]] = []
        refused: list[str] = []
        for inbound in batch:
            behind = any(isinstance(control, SuspensionSignal) for _, control in controls)
            match self._apply_or_refuse(inbound, behind=behind):
                case None:
                    pass
                case str(reason):
                    refused.append(reason)
                case ControlSignal() as control:
                    controls.append((inbound, control))
                case message:
                    judged.append((inbound, message))
        self._publish_suspension(batch)
        if refused and may_record:
            await self._run.record("message refused", summaries.refusals_line(refused))
            await end_workflow_task(self._run.state.run_id)
        elif more and not (judged or controls):
            await end_workflow_task(self._run.state.run_id)
        if controls:
            await self._judge_controls(controls)
            self._publish_suspension([inbound for inbound, _ in controls])
        while judged:
            about = [message.request_id for _, message in judged]
            together = requests.count_judged_together(self._run.state, about)
            await self._judge(judged[:together])
            judged = judged[together:]
        for inbound in batch:
            self._relay.report(inbound)

    def _publish_suspension(self, batch: Sequence[InboundMessage]) -> None:
        """Tell where the run stands, if that has changed; one at rest is woken and does so."""
        if not self._run.resting and any(
            inbound.signal in SUSPENSION_SIGNALS for inbound in batch
        ):
            run_context.publish_status(self._run)

    def _apply_or_refuse(
        self, inbound: InboundMessage, *, behind: bool
    ) -> summaries.Message | Control | str | None:
        """
        Let a message take effect, or say why not; return one that has to be judged.

        So has one that suspends or resumes *behind* another that has: the last of them counts.
        """
        is_session = self._run.state.session is not None
        known = messages.SESSION_SIGNALS if is_session else messages.SIGNALS
        match messages.read(inbound.signal, inbound.payloads, known):
            case messages.UnreadableMessage(reason):
                return self._refuse(inbound, reason)
            case ResolutionSignal(by=by) as message if messages.has_guidance(message) and (
                deaf := _find_part_refusal()
            ):
                return self._refuse(inbound, *deaf, sender=by or "")
            case ControlSignal() as control:
                in_turn = behind and isinstance(control, SuspensionSignal)
                if in_turn or self._wants_judgement(inbound.signal, control):
                    return control
                return self._apply_control(inbound, control)
            case MessageSignal() as message:
                return self._take_message(inbound, message)
            case HeldSignal() | RequestsSignal() | ForwardedSignal() | VerdictSignal() as told:
                return self._hear_relative(inbound, told, behind=behind)
            case message if "/" in message.request_id:
                refusal = self._relay.forward(inbound, message)
                sender = summaries.find_sender(message)
                return refusal and self._refuse(inbound, *refusal, sender=sender)
            case message:
                return message

    def _hear_relative(
        self,
        inbound: InboundMessage,
        told: HeldSignal | RequestsSignal | ForwardedSignal | VerdictSignal,
        *,
        behind: bool,
    ) -> summaries.Message | Control | str | None:
        """Hear what parts of the run say, and what comes through the run that it works for."""
        match told:
            case HeldSignal(run_id=part):
                self._run.confirm_suspension(part)
            case RequestsSignal(run_id=part):
                if not self._relay.show(told):
                    why = f"no run {shorten(part)!r} works for this one"
                    return self._refuse_relative(inbound, "requests", why)
            case VerdictSignal(forward_id=name):
                if not self._relay.settle(told):
                    why = f"no message {name!r} is on its way to a part"
                    return self._refuse_relative(inbound, "verdict", why)
            case ForwardedSignal():
                if workflow.info().parent is None:
                    return self._refuse(inbound, messages.FOR_NO_OTHER)
                inbound.signal, payload = messages.unwrap(told)
                inbound.payloads = (RawValue(payload),)
                inbound.forward_id = told.forward_id
                return self._apply_or_refuse(inbound, behind=behind)
        return self._accept(inbound, self._run.state)

    def _refuse_relative(self, inbound: InboundMessage, signal: UnsignedSignal, why: str) -> str:
        self._tell_refusal(inbound, signal, why, "unreadable")
        return self._refuse(inbound, why)

    def _take_message(self, inbound: InboundMessage, message: MessageSignal) -> str | None:
        """Take a message of a session, or say why not."""
        now = workflow.now()
        self._run.state, receipt = sessions.accept_message(self._run.state, message, now)
        inbound.disposition = receipt
        if receipt.state == "refused":
            self._tell_refusal(inbound, "message", receipt.reason, receipt.code)
        return receipt.reason or None

    def _wants_judgement(self, signal: str, control: Control) -> bool:
        signed, is_part = self._run.state.agent.signed, workflow.info().parent is not None
        return controls.wants_judgement(control, signal, signed, is_part=is_part)

    def _apply_control(self, inbound: InboundMessage, control: Control) -> str | None:
        """Let a signal about no request take effect, or say why not."""
        if isinstance(control, SteerSignal) and (deaf := _find_part_refusal()) is not None:
            return self._refuse_control(inbound, control, *deaf)
        graded = self._run.state.has_graders
        if isinstance(control, StopSignal) and graded and workflow.patched(GRADERS_STOP):
            return self._accept(inbound, controls.stop_graders(self._run.state, control))
        after = controls.after_control(self._run.state, inbound.signal, control, workflow.now())
        if isinstance(after, controls.Refusal):
            return self._refuse_control(inbound, control, after.reason, after.code)
        if isinstance(control, SuspensionSignal):
            self._run.parts = dict.fromkeys(self._run.parts, False)
            self._run.suspensions += after.suspended
        if isinstance(control, SteerSignal):
            self._run.hurried += control.now
        return self._accept(inbound, after)

    def _refuse_control(
        self, inbound: InboundMessage, control: Control, reason: str, code: OutcomeCode
    ) -> str:
        """Refuse a signal about no request that no verdict is about, or that one accepted."""
        self._tell_refusal(inbound, CONTROL_NAMES[inbound.signal], reason, code)
        return self._refuse(inbound, reason, code, control.by or "")

    def _tell_refusal(
        self,
        inbound: InboundMessage,
        signal: SignedSignal | UnsignedSignal,
        reason: str,
        code: OutcomeCode,
    ) -> None:
        """Have the journal tell of it; where the run goes on anew, the next execution does."""
        sent = messages.digest_sent(inbound.payloads)
        told = MessageRefused(signal=signal, digest=sent, reason=reason, code=code)
        self._run.state = verdicts.tell_refusal(self._run.state, told)

    async def _judge_controls(self, heard: Sequence[tuple[InboundMessage, Control]]) -> None:
        """Judge signals about no request; leave a line where one may be sent and came too late."""
        late: list[str] = []
        state = self._run.state
        answer = await authorizing.judge(
            JudgeInput(
                run_id=state.run_id,
                tenant=state.brief.tenant,
                execution=state.execution,
                app=state.agent.app,
                agent=state.agent.name,
                requester=state.brief.actor,
                messages=(),
                requests=(),
                closed=(),
                now=workflow.now(),
                controls=tuple(itertools.starmap(_build_control_message, heard)),
                used=state.oversight.used_tokens,
                signed=state.agent.signed,
                first_execution_run_id=state.first_execution_run_id,
                reset_at=state.oversight.reset_at,
            )
        )
        await end_workflow_task(state.run_id, summaries.controls_line(answer.controls))
        await resets.handle_reset(self._run, answer.execution)
        for (inbound, control), verdict in zip(heard, answer.controls, strict=True):
            log_control(self._run.state, verdict)
            if not verdict.accepted:
                self._refuse(inbound, verdict.reason, verdict.code, control.by or "")
                continue
            refusal = self._apply_control(inbound, control.with_sender(verdict.approver))
            if refusal is not None:
                late.append(refusal)
            elif verdict.proof is not None:
                self._run.state = verdicts.keep_token(
                    self._run.state, verdict.proof, workflow.now()
                )
        if late and self._may_record:
            await self._run.record("message refused", summaries.refusals_line(late))
            await end_workflow_task(self._run.state.run_id)

    async def _judge(self, heard: Sequence[tuple[InboundMessage, summaries.Message]]) -> None:
        """Judge messages in their order; what the first of them changes counts for the next."""
        state, said = self._run.state, tuple(message for _, message in heard)
        about = {message.request_id for message in said}
        named = [request for request in state.oversight.requests if request.request_id in about]
        sent = _digest_messages(heard)
        answer = await authorizing.judge(
            JudgeInput(
                run_id=state.run_id,
                tenant=state.brief.tenant,
                execution=state.execution,
                app=state.agent.app,
                agent=state.agent.name,
                path=state.brief.path,
                requester=state.brief.actor,
                earlier_actors=state.brief.earlier_actors,
                messages=said,
                sent=sent,
                first_execution_run_id=state.first_execution_run_id if sent else "",
                requests=tuple(map(outline, named)),
                closed=state.oversight.closed,
                now=workflow.now(),
                means=_build_budget_status(state) if any(map(_is_extension, said)) else None,
                digests={request.request_id: request.digest for request in named},
            )
        )
        await end_workflow_task(state.run_id, summaries.verdicts_line(said, answer.verdicts))
        await resets.handle_reset(self._run, answer.execution)
        now = workflow.now()
        self._run.state, outcomes = verdicts.after_verdicts(
            self._run.state, zip(said, answer.verdicts, strict=True), now
        )
        for (inbound, _), outcome in zip(heard, outcomes, strict=True):
            inbound.disposition = outcome
        log_verdicts(self._run.state, zip(said, answer.verdicts, strict=True))
        self._run.state = turns.close_turn_if_complete(self._run.state, now)

    def _accept(self, inbound: InboundMessage, state: RunState) -> None:
        inbound.disposition = MessageOutcome(accepted=True, request_id="", reason="accepted")
        self._run.state = state

    def _refuse(
        self,
        inbound: InboundMessage,
        reason: str,
        code: OutcomeCode = "unreadable",
        sender: str = "",
    ) -> str:
        refusal = MessageOutcome(accepted=False, request_id="", reason=reason, code=code)
        inbound.disposition = refusal
        self._run.state = verdicts.record_refusal(
            self._run.state, inbound.signal, refusal, workflow.now(), sender=sender
        )
        return reason


def _build_control_message(inbound: InboundMessage, control: Control) -> ControlMessage:
    return ControlMessage(
        signal=CONTROL_NAMES[inbound.signal],
        by=control.by or "",
        digest=messages.digest_sent(inbound.payloads),
        token=control.token,
    )


def _digest_messages(heard: Sequence[tuple[InboundMessage, summaries.Message]]) -> tuple[str, ...]:
    """Return what the tokens of messages have to name, if one of them has a token for that."""
    if all(isinstance(said, ApprovalSignal) or said.token is None for _, said in heard):
        return ()
    return tuple(
        "" if isinstance(said, ApprovalSignal) else messages.digest_sent(inbound.payloads)
        for inbound, said in heard
    )


def _find_part_refusal() -> tuple[str, OutcomeCode] | None:
    """
    Say who else words for a model are for, where this is a part of a run.

    The guardrails of the whole look at words; those of a part needn't.
    """
    whole = workflow.info().parent
    if whole is None:
        return None
    return messages.refer_to_whole(whole.workflow_id), "unreadable"


async def end_workflow_task(run_id: str, summary: str = "messages judged") -> None:
    """
    End a hearing with an event among those of the messages, and the workflow task with it.

    When a local activity ended is not so exact, and which messages are judged together next
    depends on what has come by then. What reads thousands in one task looks as if it hung. A
    timer would do for both, but a server fires it within a second.
    """
    try:
        # Nobody reads what it came to: anybody may have said that, or that it failed.
        await workflow.execute_activity(
            "mark_judged", run_id, result_type=RawValue, **options.mark(summary)
        )
    except ActivityError as error:
        if is_cancellation(error):
            raise


async def hear_what_waits(run_id: str) -> None:
    """
    End the workflow task where a local activity has just ended.

    What came while it was under way is heard by then. Another one may have ended meanwhile.
    """
    if is_behind_local_activity():
        await end_workflow_task(run_id)


def _is_extension(message: summaries.Message) -> bool:
    return isinstance(message, ResolutionSignal) and message.action == "extend"


def _build_budget_status(state: RunState) -> BudgetStatus:
    return BudgetStatus(
        limits=state.agent.budget,
        ceiling=state.ceiling,
        ledger=state.ledger,
        started_at=state.started_at,
    )
