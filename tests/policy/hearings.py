"""Messages about requests, as they come before the one who judges them."""

from collections.abc import Sequence

from holdfast.contracts.approvals import (
    Approvable,
    ApprovalRecord,
    JudgeInput,
    Proof,
    Request,
    Verdict,
)
from holdfast.contracts.errors import OutcomeCode
from holdfast.contracts.signals import (
    AnswerSignal,
    ApprovalSignal,
    ResolutionSignal,
)
from holdfast.policy.approvals import judge
from holdfast.policy.trust import Trust
from holdfast.run.limits.budget_extension import after_extensions
from tests.builders import (
    EXECUTION,
    NOW,
    a_request,
    an_approval,
)
from tests.tokens import a_provider, a_signer, claims_about, people

Message = ApprovalSignal | AnswerSignal | ResolutionSignal

ALICE = a_signer()
BOB = a_signer(kid="bob-1", subject="bob")
EVE = a_signer(kid="eve-1", subject="eve")
IDP = a_signer("ES256", kid="idp-1")
GROUPS = {"finance": frozenset({"alice", "bob"}), "leads": frozenset({"bob", "carol"})}
TRUST = Trust(groups=GROUPS, issuers=(people(ALICE, BOB, EVE), a_provider(IDP)))

STRONG = a_request(tool="issue_refund", risk="financial", strength="strong", challenge="c" * 64)


def a_hearing(
    messages: Sequence[Message], requests: Sequence[Request], **changes: object
) -> JudgeInput:
    fields: dict[str, object] = {
        "run_id": "run-1",
        "agent": "support",
        "requester": "eve",
        "messages": tuple(messages),
        "requests": tuple(requests),
        "digests": {one.request_id: one.digest for one in requests},
        "closed": (),
        "now": NOW,
        "execution": EXECUTION,
    }
    return JudgeInput.model_validate({**fields, **changes})


def judged(
    message: Message, request: Request | None, trust: Trust = TRUST, **changes: object
) -> Verdict:
    hearing = a_hearing([message], [request] if request else [], **changes)
    (verdict,) = after_extensions(hearing, judge(hearing, trust))
    return verdict


def signed(request: Approvable = STRONG, /, **changes: str) -> ApprovalSignal:
    """Alice's approval with her token; what the message says of the approver is a lie."""
    token = ALICE.token(claims_about(request, **changes))
    return an_approval(request.request_id, approver="the ceo", token=token)


def a_record(approver: str, proof: Proof | None = None) -> ApprovalRecord:
    return ApprovalRecord(
        request_id="req-1",
        call_id="c1",
        arguments_digest=STRONG.arguments_digest,
        approver=approver,
        strength="strong" if proof else "plain",
        reason=None,
        requested_at=NOW,
        at=NOW,
        proof=proof,
    )


def codes(verdicts: tuple[Verdict, ...]) -> list[OutcomeCode]:
    return [verdict.code for verdict in verdicts]
