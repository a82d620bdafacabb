"""Lines of the worker's log that come from workflow code; a replay repeats none of them."""

from collections.abc import Iterable, Mapping, Sequence

from temporalio import workflow

from holdfast.contracts.approvals import (
    ControlVerdict,
    Request,
    Verdict,
)
from holdfast.contracts.signals import Message
from holdfast.contracts.state.run import RunState
from holdfast.run.limits.regulation import label_request
from holdfast.run.summaries import find_decision, find_sender
from holdfast.run.texts.requests import describe

FIELDS = "fields"
"""Where a record of `logging` has them, its event among them."""

MAX_LOGGED_REQUESTS = 50
"""So many requests a line of the log names."""

_QUOTING = {"why", "reason"}
"""Fields that may quote anybody: those of a regulated run stand in no log."""


def log_event(event: str, state: RunState, **fields: str | float | None) -> None:
    """Log an event of a run. No word of a model or a person stands in it, but for names."""
    workflow.logger.info(event, extra=_build_fields(event, state, fields))


def log_warning(event: str, state: RunState, **fields: str | float | None) -> None:
    """Log what somebody should look at, in the same way."""
    workflow.logger.warning(event, extra=_build_fields(event, state, fields))


def _build_fields(
    event: str, state: RunState, fields: Mapping[str, str | float | None]
) -> dict[str, object]:
    turn = state.turns_taken
    known = {"event": event, "run_id": state.run_id, **({"turn": turn} if turn else {})}
    unsaid = _QUOTING if state.brief.regulated else ()
    given = {
        name: value for name, value in fields.items() if value is not None and name not in unsaid
    }
    return {FIELDS: {**known, **given}}


def log_start(state: RunState) -> None:
    """Log that a run begins, or that it goes on in a new execution."""
    goes_on = workflow.info().continued_run_id is not None
    log_event("run.continued" if goes_on else "run.started", state, agent=state.agent.name)


def log_verdicts(state: RunState, judged: Iterable[tuple[Message, Verdict]]) -> None:
    """Log each message that counts, and of those that don't the first: they may be thousands."""
    refused: list[tuple[Message, Verdict]] = []
    for message, verdict in judged:
        if verdict.accepted:
            log_event(
                "message.accepted",
                state,
                request_id=message.request_id,
                decision=find_decision(message),
                by=verdict.approver or find_sender(message) or None,
                strength="strong" if verdict.proof else "plain",
            )
        else:
            refused.append((message, verdict))
    if refused:
        message, verdict = refused[0]
        log_event(
            "message.refused",
            state,
            request_id=message.request_id,
            decision=find_decision(message),
            code=verdict.code,
            says=find_sender(message) or None,
            at_once=len(refused) if len(refused) > 1 else None,
        )


def log_control(state: RunState, verdict: ControlVerdict) -> None:
    """Log what became of a signal about no request."""
    if verdict.accepted:
        strength = "strong" if verdict.proof else "plain"
        by = verdict.approver or None
        log_event("message.accepted", state, signal=verdict.signal, by=by, strength=strength)
    else:
        log_event("message.refused", state, signal=verdict.signal, code=verdict.code)


def describe_wait(state: RunState) -> str:
    """Say what a run at rest waits for."""
    waiting = state.oversight.requests
    told = waiting[:MAX_LOGGED_REQUESTS]
    waits = list(map(label_request, told)) if state.brief.regulated else _describe_requests(told)
    if (left := len(waiting) - MAX_LOGGED_REQUESTS) > 0:
        waits.append(f"{left:,} more")
    return ", ".join([*waits, "resume"] if state.suspended else waits)


def _describe_requests(requests: Sequence[Request]) -> list[str]:
    return [f"{request.request_id}: {describe(request).wait}" for request in requests]
