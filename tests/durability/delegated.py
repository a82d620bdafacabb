"""An app for the tests that kill processes while agents work for each other, or go on."""

from pathlib import Path

from pydantic import BaseModel

from holdfast import Agent, App, Handoff, HandoffData, Risk, SubAgent, tool
from holdfast.testing import Reply, ScriptTurn, call, calls, say
from tests.durability.stormy import told
from tests.sample import write

TOPICS = ("tides", "winds", "rain")


class Question(BaseModel):
    """Find out what is known about a topic."""

    topic: str
    folder: str


class Findings(BaseModel):
    """What was found out."""

    facts: list[str]


@tool(risk=Risk.READ_ONLY, timeout=600)
async def wait(folder: str, name: str) -> str:
    """Wait until somebody lets this one go on."""
    await told(Path(folder), name)
    return "at last"


@tool(risk=Risk.READ_ONLY, timeout=600)
async def load(goal: str) -> HandoffData:
    """Load what billing has to know, once somebody lets it."""
    await told(Path(goal), "load")
    return HandoffData(architecture="one ledger")


def research(turn: ScriptTurn) -> Reply:
    """Write, wait, write again, and answer."""
    asked = Question.model_validate_json(turn.goal.partition("\n\n")[0])
    log = str(Path(asked.folder) / "written")
    return (
        call("write", log=log, text=f"{asked.topic}-first"),
        call("wait", folder=asked.folder, name=asked.topic),
        call("write", log=log, text=f"{asked.topic}-last"),
        say(f'{{"facts": ["{asked.topic}"]}}'),
    )[turn.number - 1]


def ask(turn: ScriptTurn) -> Reply:
    """Ask about three topics at once; the goal is the folder of the test."""
    if turn.number == 1:
        return calls(
            *(call("delegate_to_researcher", topic=one, folder=turn.goal) for one in TOPICS)
        )
    return say(", ".join(str(result.status) for result in turn.results))


def send_on(turn: ScriptTurn) -> Reply:
    """Write, and hand over."""
    log = str(Path(turn.goal) / "written")
    opened = call("write", log=log, text="opened")
    return opened if turn.number == 1 else call("transfer_to_billing", goal=turn.goal)


def bill(turn: ScriptTurn) -> Reply:
    """Wait, write and answer, as the third to fifth turn of the run."""
    log = str(Path(turn.goal) / "written")
    return (
        call("wait", folder=turn.goal, name="billing"),
        call("write", log=log, text="billed"),
        say("It is charged."),
    )[turn.number - 3]


app = App(
    agents=[
        Agent(
            name="desk",
            instructions="Have others find out.",
            models=["scripted:ask"],
            subagents=[SubAgent("researcher", input=Question, output=Findings)],
        ),
        Agent(
            name="researcher",
            instructions="Find out.",
            models=["scripted:research"],
            tools=[wait, write],
        ),
        Agent(
            name="triage",
            instructions="Hand over.",
            models=["scripted:send_on"],
            tools=[write],
            handoffs=[Handoff("billing", when="always", prepare=load)],
        ),
        Agent(
            name="billing",
            instructions="Charge it.",
            models=["scripted:bill"],
            tools=[wait, write],
        ),
    ],
    scripts={"ask": ask, "research": research, "send_on": send_on, "bill": bill},
)
