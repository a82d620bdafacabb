"""What is known of OpenAI's families of models by their names; of other names nothing is."""

from holdfast.contracts.model import Effort
from holdfast.contracts.patterns import Pattern

_PLACE = Pattern(r"^(ft:|openai\.)")
"""What fine-tuning and clouds put before a name; what ends with a slash goes too."""

_ENCRYPTS = Pattern(r"gpt-([5-9]|\d\d)|o\d|codex-")
_CHATS = Pattern(r"gpt-\d+-chat")
_PLAIN = Pattern(r"gpt-3\.5|gpt-4|gpt-5-chat|chatgpt-")
_LEAST: tuple[tuple[Pattern, Effort], ...] = (
    (Pattern(r"gpt-5-pro"), "high"),
    (Pattern(r"gpt-5(-mini|-nano)?(-20\d\d|$)"), "minimal"),
    (Pattern(r"gpt-5-codex|codex-|o\d"), "low"),
)
"""The least that models from before gpt-5.1 can be asked for; none of them can be silenced."""


def encrypts_reasoning(model: str) -> bool:
    """Whether a model's reasoning can be had encrypted, to be sent back to it."""
    name = _name(model)
    return _ENCRYPTS.beginning(name) > 0 and not _CHATS.beginning(name)


def never_reasons(model: str) -> bool:
    """Whether a model is known to refuse settings of its reasoning."""
    return _PLAIN.beginning(_name(model)) > 0


def least_effort(model: str) -> Effort:
    """Return what to ask a model for that is to reason as little as it can."""
    for name, effort in _LEAST:
        if name.beginning(_name(model)):
            return effort
    return "none"


def _name(model: str) -> str:
    return _PLACE.sub("", model.rpartition("/")[2].lower())
