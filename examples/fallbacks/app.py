"""The app: `holdfast dev examples.fallbacks.app:app`."""

import os

from examples.fallbacks.chains import CHAINS, MODELS, chain
from examples.fallbacks.script import played
from holdfast import Agent, App


def models() -> dict[str, str]:
    """Choose by the key in the environment; without one scripts play the models."""
    if os.environ.get("ANTHROPIC_API_KEY"):
        return dict(MODELS)
    return {name: f"scripted:{name}" for name in MODELS}


app = App(
    agents=[
        Agent(
            name=wanted,
            instructions="Do what you are asked, and say which model you are.",
            models=chain(wanted, models()),
            escalates=True,
        )
        for wanted in CHAINS
    ],
    scripts={name: played(name) for name in MODELS},
)
