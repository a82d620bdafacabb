"""What messages come to; large ones are judged beside the loop of all runs."""

from functools import partial

from temporalio.exceptions import ApplicationError

from holdfast.contracts.approvals import JudgeInput, Verdict, Verdicts
from holdfast.contracts.bounds import MAX_REFUSAL_REASONS, size
from holdfast.contracts.signals import Message
from holdfast.policy.approvals import judge
from holdfast.policy.signed_signals import judge_controls
from holdfast.policy.trust import Trust
from holdfast.run.limits import budget_extension
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.sharing.quota import TenantQuota
from holdfast.tools.values.answers import after_answers

# More would only divide the same time, of one interpreter.
JUDGES = FairThreads(2, "judge")

_PLACES = TenantQuota(20)
"""Local activities that wait for their turn there, of the hundred in which all is decided."""


async def judge_in_turn(hearing: JudgeInput, trust: Trust, execution: str) -> Verdicts:
    """
    Say in an execution which messages count, and why the others don't.

    Strangers send them: to hold one answer against its schema takes a tenth of a second, and to
    verify two hundred signatures as long. Raises ApplicationError where many large ones of the
    tenant wait already.
    """
    look = partial(_judge, hearing, trust, execution)
    if size((hearing.messages, hearing.controls)) <= MAX_INLINE_BYTES:
        return look()
    TENANT.set(hearing.tenant)
    with _PLACES.take(hearing.tenant) as free:
        if not free:
            raise ApplicationError("this worker judges many large messages of this tenant already")
        return await JUDGES.run(hearing.run_id, look)


def _judge(hearing: JudgeInput, trust: Trust, execution: str) -> Verdicts:
    controls = judge_controls(hearing, trust)
    if hearing.execution != execution:
        verdicts = tuple(map(_reject_after_reset, hearing.messages))
    else:
        found = budget_extension.after_extensions(hearing, judge(hearing, trust))
        verdicts = _limit_reasons(after_answers(hearing, found))
    return Verdicts(verdicts=verdicts, controls=controls, execution=execution)


def _reject_after_reset(message: Message) -> Verdict:
    return Verdict(
        accepted=False,
        request_id=message.request_id,
        reason="the workflow was reset: look at what it asks now, and decide about that",
        code="reset",
    )


def _limit_reasons(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Leave out why, where so many are refused at once that nobody would read it."""
    spelled, kept = 0, list[Verdict]()
    for verdict in verdicts:
        spelled += not verdict.accepted
        many = not verdict.accepted and spelled > MAX_REFUSAL_REASONS
        reason = f"refused: {verdict.code}" if many else verdict.reason
        kept.append(verdict.model_copy(update={"reason": reason}))
    return tuple(kept)
