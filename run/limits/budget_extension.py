"""Whether what a person calls an extension of a run's limits is one. Pure."""

from collections.abc import Iterable
from decimal import Decimal

from holdfast.contracts.approvals import (
    JudgeInput,
    Verdict,
)
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.signals import (
    Message,
    ResolutionSignal,
)
from holdfast.run.limits import budgets


def extend(limits: Limits, change: Budget, ceiling: Budget | None) -> Limits:
    """Return the limits as a change leaves them; none is higher than the ceiling, if any."""
    changed = limits.with_changes(change)
    return changed if ceiling is None else budgets.cap_limits(changed, ceiling)


def after_extensions(hearing: JudgeInput, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Refuse those messages, of those that were accepted, which extend nothing."""
    return tuple(
        _after_extension(message, hearing, verdict)
        for message, verdict in zip(hearing.messages, verdicts, strict=True)
    )


def _after_extension(message: Message, hearing: JudgeInput, verdict: Verdict) -> Verdict:
    means = hearing.means
    if not verdict.accepted or means is None or not isinstance(message, ResolutionSignal):
        return verdict
    if message.action != "extend" or message.budget is None:
        return verdict
    request = next(one for one in hearing.requests if one.request_id == message.request_id)
    # The wait for this very message isn't in the ledger yet, and is no work.
    elapsed = (request.requested_at - means.started_at).total_seconds()
    reason = find_objection(message.budget, means.limits, means.ceiling, means.ledger, elapsed)
    if reason is None:
        return verdict
    return Verdict(accepted=False, request_id=message.request_id, reason=reason, code="unreadable")


def find_objection(
    change: Budget, limits: Limits, ceiling: Budget | None, ledger: Ledger, elapsed: float
) -> str | None:
    """
    Say why a change of *limits* is no extension, or why the run would end under it.

    *elapsed* is in seconds since the run began.
    """
    for name in Limits.model_fields:
        if name in change.model_fields_set and (lower := _describe_lowering(change, limits, name)):
            return f"{lower}: extend raises limits"
    if stop := budgets.check_limits(extend(limits, change, ceiling), ledger, elapsed):
        return f"the run would stop at once: {stop.reason}, {stop.detail}"
    most, used = change.max_tool_calls, ledger.all_calls
    if most is not None and most <= used:
        return f"max_tool_calls {most} is not above the {used} that are used"
    return None


def _describe_lowering(change: Budget, limits: Limits, name: str) -> str | None:
    now: float | Decimal | None = getattr(limits, name)
    then: float | Decimal | None = getattr(change, name)
    if then is None:
        return None
    if now is None:
        return f"{name} {_render_limit(then)} would be a limit where there is none"
    return (
        f"{name} {_render_limit(then)} is less than {_render_limit(now)}" if then < now else None
    )


def _render_limit(limit: float | Decimal) -> str:
    return str(limit).removesuffix(".0")
