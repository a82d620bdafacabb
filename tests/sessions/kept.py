"""An app for the test that kills processes: a session that is cut after each message, and kept."""

from pathlib import Path

from holdfast import Agent, App
from holdfast.contracts.transcript import UserTurn
from holdfast.settings import Settings
from holdfast.testing import Reply, ScriptTurn, call
from tests.sample import TOOLS, told

HOME = Settings.load().home


def obey(turn: ScriptTurn) -> Reply:
    """Do what the message says, as in 'write m-1' and 'hold', and tell what became of it."""
    last = turn.transcript[-1]
    if not isinstance(last, UserTurn):
        return told(turn)
    log = str(HOME / "log")
    tool, _, text = last.text.partition(" ")
    return call(tool, log=log, text=text) if text else call(tool, log=log)


app = App(
    agents=[
        Agent(
            name="it",
            instructions="Do as you are told.",
            models=["scripted:it"],
            tools=TOOLS,
            max_history_events=1,
        )
    ],
    scripts={"it": obey},
    archive=f"file:{Path(HOME) / 'archive'}",
)
