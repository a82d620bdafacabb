"""The models of a run without a provider's key: each fails if the goal says so."""

from holdfast import ModelUnavailable
from holdfast.testing import Reply, Script, ScriptTurn, fail, say


def played(name: str) -> Script:
    """Return a model that answers, unless the goal says "NAME is rate-limited" or "is down"."""

    def reply(turn: ScriptTurn) -> Reply:
        if f"{name} is rate-limited" in turn.goal:
            return fail(ModelUnavailable(f"{name} takes no more calls", kind="rate_limited"))
        if f"{name} is down" in turn.goal:
            return fail(ModelUnavailable(f"{name} can't be reached", kind="unavailable"))
        return say(f"This is {name}.")

    return reply
