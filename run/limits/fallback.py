"""
What follows when a model fails: another try, the next model, a person, or the end.

A failure that says something about the provider or its model moves on to the next model. One that
says something about the request, the account or the settings doesn't: the next model would fail
as well, or answer what should not be answered. A run that stops here leaves the way to whoever
started it: a simpler workflow, if there are tiers.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from holdfast.contracts.budget import Limits
from holdfast.contracts.control import AttemptKind, Fallback, Reaction
from holdfast.contracts.model import DEFAULT_PATIENCE_SECONDS


class DefaultReaction(NamedTuple):
    """What a kind of failure leads to when nobody has said otherwise, and why."""

    reaction: Reaction
    reason: str


DEFAULT_REACTIONS: Mapping[AttemptKind, DefaultReaction] = {
    # Calls that failed, by contracts/errors.py.
    "rate_limited": DefaultReaction("next_model", "this model has no room now, another may"),
    "overloaded": DefaultReaction("next_model", "this model has no room now, another may"),
    "unavailable": DefaultReaction("next_model", "the provider is down, another model may be up"),
    "timeout": DefaultReaction("next_model", "the model is too slow now, another may not be"),
    "stalled": DefaultReaction("next_model", "the model fell silent, another may not"),
    "cut_off": DefaultReaction("next_model", "the model broke off, another may not"),
    "unreadable": DefaultReaction("next_model", "the answer is no reply, another model's may be"),
    "quota": DefaultReaction(
        "next_model", "one account is used up, another provider's may not be"
    ),
    "auth": DefaultReaction(
        "stop", "the key is wrong: going on would hide that, at another's cost"
    ),
    "permission": DefaultReaction(
        "stop", "the account may not: a refusal is not to be walked around"
    ),
    "not_found": DefaultReaction("next_model", "this model is gone or misnamed, another is there"),
    "invalid_request": DefaultReaction("next_model", "what one model can't take another may"),
    "context_overflow": DefaultReaction(
        "stop", "the context is too long: it must shrink, not move on"
    ),
    "content_filtered": DefaultReaction(
        "stop", "the content was judged: nobody shops for a milder judge"
    ),
    "worker_lost": DefaultReaction(
        "stop", "no model failed: what ends workers would end more of them"
    ),
    # Replies that are no answer, by their stop (contracts/model.py).
    "refusal": DefaultReaction("stop", "the model declined: nobody shops for one that doesn't"),
    "content_filter": DefaultReaction(
        "stop", "the content was judged: nobody shops for a milder judge"
    ),
    "max_tokens": DefaultReaction(
        "stop", "the limit on replies is ours: it cuts off the next model too"
    ),
    "other": DefaultReaction("next_model", "nobody knows why it stopped, another may not"),
    "empty": DefaultReaction("next_model", "the model said nothing, another may"),
}
"""The reaction to every kind of failure; "empty" is a reply without words and calls."""


PASSING_FAILURES: frozenset[AttemptKind] = frozenset(
    {"rate_limited", "overloaded", "unavailable", "timeout", "stalled", "cut_off"}
)
"""What is wrong with a provider for a while: nothing about the request would change it."""

FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(minutes=5)
"""Each wait for a provider is twice as long as the one before."""


def find_reaction(kind: AttemptKind, fallback: Fallback) -> Reaction:
    """Say what a failed call, or a reply that is no answer, leads to; an unknown kind stops."""
    default = DEFAULT_REACTIONS.get(kind)
    return fallback.reactions.get(kind, default.reaction if default else "stop")


def find_problems(fallback: Fallback) -> list[str]:
    """Say what can't be meant: a reaction to something that never happens."""
    known = ", ".join(DEFAULT_REACTIONS)
    return [
        f"its fallback reacts to {kind!r}, which is no kind of failure (known: {known})"
        for kind in fallback.reactions
        if kind not in DEFAULT_REACTIONS
    ]


def compute_max_attempts(
    fallback: Fallback, budget: Limits, *, models_left: int, usual: int
) -> int:
    """
    Return how often a model is asked in one turn before its failure counts.

    *models_left* are those behind it in the chain, *usual* what a model without successor gets.
    """
    tries = fallback.attempts if models_left > 0 else usual
    if budget.max_model_retries is None:
        return tries
    return min(tries, budget.max_model_retries + 1)


def compute_max_wait(fallback: Fallback, *, models_left: int) -> float:
    """Return the seconds that a retry may wait: minutes where no other model is left to ask."""
    return (
        fallback.max_wait if models_left > 0 else max(fallback.max_wait, DEFAULT_PATIENCE_SECONDS)
    )
