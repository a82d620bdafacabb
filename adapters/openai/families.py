"""What is known of OpenAI's families of models by their names; of other names nothing is."""

import re

_PLACE = re.compile(r"^(ft:|openai\.)")
"""What fine-tuning and clouds put before a name; what ends with a slash goes too."""

_ENCRYPTS = re.compile(r"gpt-([5-9]|\d\d)(?!-chat)|o\d|codex-")
_PLAIN = re.compile(r"gpt-3\.5|gpt-4|gpt-5-chat|chatgpt-")


def encrypts_reasoning(model: str) -> bool:
    """Whether a model's reasoning can be had encrypted, to be sent back to it."""
    return _ENCRYPTS.match(_name(model)) is not None


def never_reasons(model: str) -> bool:
    """Whether a model is known to refuse settings of its reasoning."""
    return _PLAIN.match(_name(model)) is not None


def _name(model: str) -> str:
    return _PLACE.sub("", model.rpartition("/")[2].lower())
