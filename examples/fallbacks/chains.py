"""Which models are asked when one fails, by the one that was wanted."""

from collections.abc import Mapping

MODELS: Mapping[str, str] = {
    "opus": "anthropic:claude-opus-5-5",
    "sonnet": "anthropic:claude-sonnet-5-5",
    "haiku": "anthropic:claude-haiku-5-5",
}

CHAINS: Mapping[str, tuple[str, ...]] = {
    "opus": ("sonnet", "haiku"),
    "sonnet": ("haiku", "opus"),
    "haiku": ("sonnet",),  # a task for a small model never becomes one for the dearest
}


def chain(wanted: str, models: Mapping[str, str]) -> list[str]:
    """Return the names of models in the order in which they are asked, the wanted one first."""
    return [models[name] for name in (wanted, *CHAINS[wanted])]
