"""How hard a model is to think, in Anthropic's words."""

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.adapters.anthropic.capabilities import Family
from holdfast.contracts.base import JsonObject
from holdfast.contracts.model import Effort, ModelSettings

_MIN_BUDGET_TOKENS = 1024
_MIN_ANSWER_TOKENS = 1024
_EFFORT_ORDER: tuple[Effort, ...] = ("minimal", "low", "medium", "high", "xhigh", "max")
_BUDGETS: Mapping[Effort, int] = {
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 30_720,
}
"""Tokens to think with, for models that count them, where an agent says only how hard."""


class Reasoning(NamedTuple):
    """The fields of a request about thinking; what is null is left out."""

    thinking: JsonObject | None = None
    effort: Effort | None = None
    notes: tuple[str, ...] = ()

    @property
    def by_budget(self) -> bool:
        """Whether thinking has a budget: then the API allows no forced call and no late start."""
        return self.thinking is not None and self.thinking["type"] == "enabled"


def reasoning(model: str, family: Family, settings: ModelSettings, max_tokens: int) -> Reasoning:
    """Return what to ask for; the notes say where the model can't do as the agent wants."""
    if settings.reasoning is None and settings.reasoning_tokens is None:
        return Reasoning()
    if settings.reasoning == "none":
        return _disable_thinking(model, family)
    effort, notes = _effort(model, family, settings.reasoning)
    budget = settings.reasoning_tokens
    if family.budgets and (budget or not family.adaptive):
        return _with_budget(budget or _BUDGETS[settings.reasoning or "high"], max_tokens)._replace(
            effort=effort
        )
    if not family.adaptive:
        return Reasoning(notes=(f"{model} can't be asked to think",))
    if budget:
        notes = (*notes, f"{model} decides itself how many tokens it thinks with")
    return Reasoning({"type": "adaptive"}, effort, notes)


def _disable_thinking(model: str, family: Family) -> Reasoning:
    match family.silence:
        case "unsaid":
            return Reasoning()
        case "said":
            return Reasoning({"type": "disabled"})
        case "never":
            return Reasoning(None, "low", (f"{model} always thinks: it is asked for little",))


def _effort(
    model: str, family: Family, wanted: Effort | None
) -> tuple[Effort | None, tuple[str, ...]]:
    """Return the nearest effort that a model knows; where it knows none, its budget tells."""
    if wanted is None or not family.efforts:
        return None, ()
    if wanted in family.efforts:
        return wanted, ()
    height = _EFFORT_ORDER.index
    below: list[Effort] = [known for known in family.efforts if height(known) < height(wanted)]
    nearest: Effort = below[-1] if below else family.efforts[0]
    return nearest, (f"{model} has no effort {wanted!r}: it is asked for {nearest!r}",)


def _with_budget(wanted: int, max_tokens: int) -> Reasoning:
    budget = max(min(wanted, max_tokens - _MIN_ANSWER_TOKENS), _MIN_BUDGET_TOKENS)
    if budget >= max_tokens:
        return Reasoning(notes=(f"no thinking: {max_tokens} tokens leave no room for it",))
    notes = () if budget == wanted else (f"thinking takes {budget} tokens instead of {wanted}",)
    return Reasoning({"type": "enabled", "budget_tokens": budget}, notes=notes)
