"""What is known of OpenAI's families of models by their names; of other names nothing is."""

from holdfast.contracts.model import Effort
from holdfast.contracts.patterns import Pattern

_PLACE = Pattern(r"^(ft:|openai\.)")
"""What fine-tuning and clouds put before a name; what ends with a slash goes too."""

_ENCRYPTS = Pattern(r"gpt-([5-9]|\d\d)|o\d|codex-")
_CHATS = Pattern(r"gpt-\d+-chat")
_PLAIN = Pattern(r"gpt-3\.5|gpt-4|gpt-5-chat|chatgpt-")
_DRAWS_UNREASONING = Pattern(r"gpt-5\.[1-9]")
_NEVER_DRAWS = Pattern(r"gpt-5\.\d+-(codex|pro|chat)")
_UNREASONING = {"temperature", "top_p"}
"""What those take that are told not to reason, and only then."""

_LEAST: tuple[tuple[Pattern, Effort], ...] = (
    (Pattern(r"gpt-5-pro"), "high"),
    (Pattern(r"gpt-5(-mini|-nano)?(-20\d\d|$)"), "minimal"),
    (Pattern(r"gpt-5-codex|codex-|o\d"), "low"),
)
"""The least that models from before gpt-5.1 can be asked for; none of them can be silenced."""


def find_sampling_flaw(model: str, setting: str, reasoning: Effort | None) -> str | None:
    """Say why a model doesn't take a setting of how words are drawn; null if it may well do."""
    name = _name(model)
    if not _ENCRYPTS.beginning(name) or _PLAIN.beginning(name):
        return None
    draws = _DRAWS_UNREASONING.beginning(name) and not _NEVER_DRAWS.beginning(name)
    if not draws or setting not in _UNREASONING:
        return f"{model} reasons, and takes no {setting}"
    if reasoning == "none":
        return None
    return f"{model} takes it only with reasoning='none'"


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
