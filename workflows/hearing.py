"""Hearing what people say to a run: what may take effect does, the rest is refused and kept."""

from collections.abc import Sequence

from temporalio import workflow

from activities.policy import PolicyActivities
from contracts.approvals import (
    Disposition,
    EmptySignal,
    Hearing,
    ResolutionSignal,
    SteerSignal,
    Verdicts,
)
from contracts.budget import Means
from contracts.run import AuditEvent
from contracts.state import RunState
from contracts.transcript import UserTurn
from workflows import messages, open_requests, options, requests, steps, summaries
from workflows.inbox import Letter
from workflows.live import LiveRun

# What later releases do otherwise than histories of earlier ones, which must replay.
HEARINGS = "hearings-are-activities"


class Ear:
    """Hears for one run."""

    def __init__(self, run: LiveRun) -> None:
        self._run = run

    async def hear(self, letters: Sequence[Letter]) -> None:
        """Read messages and let them take effect, or refuse them."""
        judged: list[tuple[Letter, summaries.Message]] = []
        refused: list[str] = []
        for letter in letters:
            match messages.read(letter.signal, letter.payloads):
                case messages.Garbage(reason):
                    refused.append(self._refuse(letter, reason))
                case SteerSignal() if not open_requests.hears(self._run.state):
                    deaf = "the run is over, or has heard too much"
                    refused.append(self._refuse(letter, deaf))
                case SteerSignal(text=text):
                    words = UserTurn(text=text, origin="steer")
                    self._accept(
                        letter, open_requests.said(self._run.state, words, workflow.now())
                    )
                case EmptySignal():
                    on = letter.signal == "suspend"
                    self._accept(letter, steps.suspended(self._run.state, on=on))
                case message:
                    judged.append((letter, message))
        if refused:
            await self._record_refusals(refused)
        if judged:
            await self._judge(judged)

    async def _judge(self, heard: Sequence[tuple[Letter, summaries.Message]]) -> None:
        """Judge messages in their order; what the first of them changes counts for the next."""
        state, said = self._run.state, tuple(message for _, message in heard)
        answer = await self._judged(
            Hearing(
                run_id=state.run_id,
                agent=state.agent.name,
                requester=state.brief.actor,
                messages=said,
                requests=state.requests,
                closed=state.closed,
                now=workflow.now(),
                means=_means(state) if any(map(_extends, said)) else None,
            ),
            summaries.messages_line(said),
        )
        now = workflow.now()
        for (letter, message), verdict in zip(heard, answer.verdicts, strict=True):
            self._run.state, letter.disposition = requests.after_verdict(
                self._run.state, message, verdict, now
            )
        self._run.state = steps.settled(self._run.state, now)

    async def _judged(self, hearing: Hearing, summary: str) -> Verdicts:
        if workflow.patched(HEARINGS):
            return await workflow.execute_activity_method(
                PolicyActivities.judge, hearing, **options.hearing(summary)
            )
        return await workflow.execute_local_activity_method(
            PolicyActivities.judge, hearing, **options.decision(summary)
        )

    async def _record_refusals(self, reasons: list[str]) -> None:
        line = summaries.refusals_line(reasons)
        if not workflow.patched(HEARINGS):
            return await self._run.record("message refused", line)
        await workflow.execute_activity_method(
            PolicyActivities.record,
            AuditEvent(run_id=self._run.state.run_id, event="message refused", text=line),
            **options.hearing(summaries.shortened(f"message refused: {line}", summaries.LIMIT)),
        )
        return None

    def _accept(self, letter: Letter, state: RunState) -> None:
        letter.disposition = Disposition(accepted=True, request_id="", reason="accepted")
        self._run.state = state

    def _refuse(self, letter: Letter, reason: str) -> str:
        refusal = Disposition(accepted=False, request_id="", reason=reason, code="unreadable")
        letter.disposition = refusal
        self._run.state = requests.refused(self._run.state, letter.signal, refusal, workflow.now())
        return reason


def _extends(message: summaries.Message) -> bool:
    return isinstance(message, ResolutionSignal) and message.action == "extend"


def _means(state: RunState) -> Means:
    return Means(
        limits=state.agent.budget,
        ceiling=state.ceiling,
        ledger=state.ledger,
        started_at=state.started_at,
    )
