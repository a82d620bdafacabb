"""What messages come to; large ones are judged beside the loop of all runs."""

from functools import partial

from temporalio.exceptions import ApplicationError

from holdfast.contracts.approvals import JudgeInput, Verdict
from holdfast.contracts.bounds import MAX_REFUSAL_REASONS, size
from holdfast.contracts.decisions import DEFAULT_TENANT
from holdfast.policy.approvals import judge
from holdfast.policy.trust import Trust
from holdfast.run.limits import budget_extension
from holdfast.tools.fair_threads import TENANT, FairThreads
from holdfast.tools.large_json import MAX_INLINE_BYTES
from holdfast.tools.sharing.quota import TenantQuota
from holdfast.tools.values.answers import after_answers

# More would only divide the same time, of one interpreter.
_JUDGES = FairThreads(2, "judge")

_PLACES = TenantQuota(20)
"""Local activities that wait for their turn there, of the hundred in which all is decided."""


async def judge_messages(hearing: JudgeInput, trust: Trust) -> tuple[Verdict, ...]:
    """
    Say which messages count, and why the others don't.

    Strangers send them, and to hold one answer against its schema takes a tenth of a second.
    Raises ApplicationError where many large ones of the tenant wait already.
    """
    look = partial(_judge, hearing, trust)
    if size(hearing.messages) <= MAX_INLINE_BYTES:
        return look()
    tenant = hearing.tenant or DEFAULT_TENANT
    TENANT.set(tenant)
    with _PLACES.take(tenant) as free:
        if not free:
            raise ApplicationError("this worker judges many large messages of this tenant already")
        return await _JUDGES.run(hearing.run_id, look)


def _judge(hearing: JudgeInput, trust: Trust) -> tuple[Verdict, ...]:
    verdicts = budget_extension.after_extensions(hearing, judge(hearing, trust))
    return _limit_reasons(after_answers(hearing, verdicts))


def _limit_reasons(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """Leave out why, where so many are refused at once that nobody would read it."""
    spelled, kept = 0, list[Verdict]()
    for verdict in verdicts:
        spelled += not verdict.accepted
        many = not verdict.accepted and spelled > MAX_REFUSAL_REASONS
        reason = f"refused: {verdict.code}" if many else verdict.reason
        kept.append(verdict.model_copy(update={"reason": reason}))
    return tuple(kept)
