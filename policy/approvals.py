"""Whether what a person says about a request counts."""

from contracts.approvals import (
    AnswerSignal,
    ApprovalRequest,
    ApprovalSignal,
    Disposition,
    Escalation,
    Judgement,
    Question,
    Request,
    ResolutionSignal,
)


def judge(judgement: Judgement) -> Disposition:
    """Accept a message or refuse it with the reason. Pure: the time comes with the input."""
    reason = _objection(judgement)
    return Disposition(
        accepted=reason is None,
        request_id=judgement.message.request_id,
        reason=reason or "accepted",
    )


def _objection(judgement: Judgement) -> str | None:
    message, request = judgement.message, judgement.request
    if request is None:
        closed = judgement.closed
        if closed is None:
            return f"no request {message.request_id!r} in this run"
        return f"request {message.request_id!r} is already {closed.outcome}"
    if judgement.now >= request.expires_at:
        return f"request {message.request_id!r} has expired"
    match message, request:
        case ApprovalSignal(), ApprovalRequest():
            return _objection_to_approval(message, request)
        case (AnswerSignal(), Question()) | (ResolutionSignal(), Escalation()):
            return None
        case _:
            return f"request {message.request_id!r} waits for {_wanted(request)}"


def _objection_to_approval(message: ApprovalSignal, request: ApprovalRequest) -> str | None:
    if message.decision == "reject":
        return None
    if message.token is not None:
        return "this release can't verify signed approvals; send the approval without a token"
    if request.strength == "strong":
        return (
            f"{request.tool!r} ({request.risk}) needs strong authentication, "
            "which this release can't verify; reject it or let it expire"
        )
    return None


def _wanted(request: Request) -> str:
    match request:
        case ApprovalRequest():
            return "an approval (signal 'approval')"
        case Question():
            return "an answer in words (signal 'answer')"
        case Escalation():
            return "a resolution (signal 'resolution')"
