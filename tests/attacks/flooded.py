"""An app for a worker of its own: one call that waits for a person while a flood comes in."""

from holdfast.testing import Reply, ScriptTurn, call
from tests.sample import scripted, told


def sending(turn: ScriptTurn) -> Reply:
    """Ask to send something to the file that the goal names, and tell what came of it."""
    return told(turn) if turn.results else call("send", log=turn.goal, text="hi")


app = scripted(sending)
