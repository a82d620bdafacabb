"""What is known of OpenAI's families of models by their names; of other names nothing is."""

import re

from contracts.model import Effort

_PLACE = re.compile(r"^(ft:|openai\.)")
"""What fine-tuning and clouds put before a name; what ends with a slash goes too."""

_ENCRYPTS = re.compile(r"gpt-([5-9]|\d\d)(?!-chat)|o\d|codex-")
_PLAIN = re.compile(r"gpt-3\.5|gpt-4|gpt-5-chat|chatgpt-")
_LEAST: tuple[tuple[re.Pattern[str], Effort], ...] = (
    (re.compile(r"gpt-5-pro"), "high"),
    (re.compile(r"gpt-5(-mini|-nano)?(-20\d\d|$)"), "minimal"),
    (re.compile(r"gpt-5-codex|codex-|o\d"), "low"),
)
"""The least that models from before gpt-5.1 can be asked for; none of them can be silenced."""


def encrypts_reasoning(model: str) -> bool:
    """Whether a model's reasoning can be had encrypted, to be sent back to it."""
    return _ENCRYPTS.match(_name(model)) is not None


def never_reasons(model: str) -> bool:
    """Whether a model is known to refuse settings of its reasoning."""
    return _PLAIN.match(_name(model)) is not None


def least_effort(model: str) -> Effort:
    """Return what to ask a model for that is to reason as little as it can."""
    for name, effort in _LEAST:
        if name.match(_name(model)):
            return effort
    return "none"


def _name(model: str) -> str:
    return _PLACE.sub("", model.rpartition("/")[2].lower())
