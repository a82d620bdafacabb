"""An app whose agent answers with all that people said."""

from holdfast.contracts.transcript import UserTurn
from holdfast.testing import Reply, ScriptTurn, say
from tests.sample import scripted


def echo(turn: ScriptTurn) -> Reply:
    """Answer with all that people said so far."""
    said = [item.text for item in turn.transcript if isinstance(item, UserTurn)]
    return say(" + ".join(said))


app = scripted(echo)
