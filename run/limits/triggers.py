"""
When a run waits for a person although nothing has failed.

Somebody who lets a run go on has waved a trigger through: its name goes to `acknowledged`, and
says from where on it is worth asking again.

    retries:4         counted from there: after more than `max_retries` further retries
    time:31           counted from there: after three times the expected time of further work
    tokens:100000     for this budget never again, for a larger one at its share
    confidence:0.55   for an answer that is worse than that
    domain:payments   is `reviewed`, not acknowledged: never again in this run

The names are `Trigger.name`; for a review that is the `subject` too.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

from holdfast.contracts.bounds import MAX_SENSITIVE_DOMAINS
from holdfast.contracts.budget import Ledger, Limits
from holdfast.contracts.control import Triggers
from holdfast.contracts.run import MAX_DOMAIN_CHARS, RunMetadata
from holdfast.contracts.texts import normalize_domain
from holdfast.run.limits.confidence import Score, is_below

Action: TypeAlias = Literal["pause_and_escalate", "require_approval"]


TriggerKind: TypeAlias = Literal["retries", "tokens", "time", "confidence", "domain"]


SLOW_FACTOR = 3


TIMER_MARGIN_SECONDS = 0.001
"""Seconds by which a timer is later than a limit, so that the limit is passed when it fires."""


class TriggerResponse(NamedTuple):
    """What a trigger asks of a person, and why."""

    action: Action
    reason: str


TRIGGER_RESPONSES: Mapping[TriggerKind, TriggerResponse] = {
    "retries": TriggerResponse(
        "pause_and_escalate", "Multiple failures indicate unclear requirements"
    ),
    "tokens": TriggerResponse("pause_and_escalate", "Approaching token budget limit"),
    "time": TriggerResponse("pause_and_escalate", "Task taking much longer than expected"),
    "confidence": TriggerResponse("pause_and_escalate", "Low confidence score"),
    "domain": TriggerResponse("require_approval", "Sensitive domain requires human review"),
}


class Trigger(NamedTuple):
    """Why a run waits. The `name` is what a person who lets it go on acknowledges."""

    name: str
    action: Action
    reason: str
    detail: str


class _Facts(NamedTuple):
    triggers: Triggers
    budget: Limits
    ledger: Ledger
    worked: float
    acknowledged: Sequence[str]


def find_trigger(
    triggers: Triggers,
    budget: Limits,
    ledger: Ledger,
    worked_seconds: float,
    acknowledged: Sequence[str],
) -> Trigger | None:
    """Say why the run waits before it goes on, if it does, from what was counted so far."""
    facts = _Facts(triggers, budget, ledger, worked_seconds, acknowledged)
    return next(filter(None, (check(facts) for check in _CHECKS)), None)


def collect_sensitive_domains(triggers: Triggers, brief: RunMetadata) -> tuple[str, ...]:
    """Return where a run does nothing unapproved: by its own word, and by that of its whole."""
    named = map(normalize_domain, (*triggers.sensitive_domains, *brief.sensitive_domains))
    return tuple(dict.fromkeys(named))


def select_domains_to_hand_on(triggers: Triggers, brief: RunMetadata) -> tuple[str, ...]:
    """
    Return the sensitive domains as who works for a run, or goes on with it, is given them.

    Those that fit: its own, where it is one, is never left out, and nobody behind it has another.
    """
    named = collect_sensitive_domains(triggers, brief)
    fitting = tuple(one for one in named if len(one) <= MAX_DOMAIN_CHARS)[:MAX_SENSITIVE_DOMAINS]
    own = brief.domain or ""
    if normalize_domain(own) in fitting or normalize_domain(own) not in named:
        return fitting
    return (own, *fitting[: MAX_SENSITIVE_DOMAINS - 1])


def check_domain(
    triggers: Triggers, brief: RunMetadata, reviewed: Sequence[str]
) -> Trigger | None:
    """Say whether a person must approve before the run's first side effect."""
    known = normalize_domain(brief.domain or "")
    name = f"domain:{known}"
    if name in reviewed or known not in collect_sensitive_domains(triggers, brief):
        return None
    return _build_trigger("domain", known, f"the run works in the domain {known!r}")


def check_confidence(
    triggers: Triggers, score: Score, acknowledged: Sequence[str]
) -> Trigger | None:
    """Say whether a person must look at an answer before it counts."""
    least = triggers.min_confidence
    if least is None or not is_below(score.value, least):
        return None
    waved_through = _parse_marks("confidence", acknowledged)
    if waved_through and not is_below(score.value, min(waved_through)):
        return None
    return _build_trigger(
        "confidence",
        f"{score.value:g}",
        f"Low confidence in solution quality: {score.line} is below {least:g}",
    )


def seconds_until_slow(
    triggers: Triggers, worked_seconds: float, acknowledged: Sequence[str]
) -> float | None:
    """Return the seconds of work until the run takes too long, for a timer; null for never."""
    limit = _compute_time_limit(triggers, acknowledged)
    return None if limit is None else max(0.0, limit - worked_seconds + TIMER_MARGIN_SECONDS)


def _check_retries(facts: _Facts) -> Trigger | None:
    most, retries = facts.triggers.max_retries, facts.ledger.retries
    if most is None or retries - _find_latest_mark("retries", facts.acknowledged) <= most:
        return None
    return _build_trigger("retries", str(retries), f"{retries} retries, and {most} may be")


def _check_tokens(facts: _Facts) -> Trigger | None:
    share, most = facts.triggers.token_share, facts.budget.max_tokens
    if share is None or most is None or f"tokens:{most}" in facts.acknowledged:
        return None
    used = facts.ledger.usage.total_tokens
    if used <= Decimal(str(share)) * most:
        return None
    return _build_trigger(
        "tokens", str(most), f"{used} of {most} tokens, more than {share:g} of them"
    )


def _check_time(facts: _Facts) -> Trigger | None:
    limit = _compute_time_limit(facts.triggers, facts.acknowledged)
    if limit is None or facts.worked <= limit:
        return None
    return _build_trigger(
        "time",
        str(math.ceil(facts.worked)),
        f"{facts.worked:.0f} s of work, {facts.triggers.expected_time:g} s were expected",
    )


_CHECKS: tuple[Callable[[_Facts], Trigger | None], ...] = (
    _check_retries,
    _check_tokens,
    _check_time,
)


def _compute_time_limit(triggers: Triggers, acknowledged: Sequence[str]) -> float | None:
    expected = triggers.expected_time
    if expected is None:
        return None
    return _find_latest_mark("time", acknowledged) + SLOW_FACTOR * expected


def _build_trigger(subject: TriggerKind, mark: str, detail: str) -> Trigger:
    asking = TRIGGER_RESPONSES[subject]
    return Trigger(f"{subject}:{mark}", asking.action, asking.reason, detail)


def _find_latest_mark(subject: TriggerKind, acknowledged: Sequence[str]) -> float:
    return max(_parse_marks(subject, acknowledged), default=0)


def _parse_marks(subject: TriggerKind, acknowledged: Sequence[str]) -> list[float]:
    """Return the numbers of the triggers of one kind that were waved through."""
    named = (name.partition(":") for name in acknowledged)
    return [float(mark) for kind, _, mark in named if kind == subject]
