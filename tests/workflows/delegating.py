"""Runs whose agent gives tasks to others, seen from outside."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel, field_validator

from holdfast import Agent, App, Budget, Risk, SubAgent, Tool, tool
from holdfast.guardrails import Guardrail
from holdfast.testing import Reply, Script, ScriptTurn, call, calls, say
from tests.sample import IMPATIENT, TOOLS, note


class Question(BaseModel):
    """Find out what is known about a topic."""

    topic: str
    depth: int = 1


class Findings(BaseModel):
    """What was found out."""

    facts: list[str]

    @field_validator("facts")
    @classmethod
    def _require_facts(cls, facts: list[str]) -> list[str]:
        if "nothing" in facts:
            raise ValueError("a fact says something")
        return facts


RESEARCHER = SubAgent("researcher", input=Question, output=Findings, budget_share=0.3)

FOUND = say('{"facts": ["it is so"]}')


def ask(*topics: str, **more: int) -> Reply:
    """Give the researcher a task for each topic, all in one turn."""
    made = [call("delegate_to_researcher", topic=topic, **more) for topic in topics]
    return made[0] if len(made) == 1 else calls(*made)


def holding(log: Path) -> Script:
    """Wait in a tool until the file `log.go` is there, and then answer."""

    def script(turn: ScriptTurn) -> Reply:
        return call("hold", log=str(log)) if turn.number == 1 else FOUND

    return script


@tool(risk=Risk.WRITE_INTERNAL)
async def scrap(log: str, record: str) -> str:
    """Take a record away that was created."""
    note(log, f"scrapped {record}")
    return "scrapped"


@tool(risk=Risk.WRITE_INTERNAL, undo="scrap", rollback="scrap it")
async def create(log: str, record: str) -> str:
    """Create a record."""
    note(log, f"created {record}")
    return "created"


def desk(
    script: Script,
    researcher: Script = (FOUND,),
    *,
    subagents: Sequence[SubAgent] = (RESEARCHER,),
    budget: Budget | None = None,
    tools: Sequence[Tool] = TOOLS,
    theirs: Sequence[Tool] = TOOLS,
    guardrails: Sequence[Guardrail] = (),
    reviews: Sequence[Guardrail] = (),
    policy: Path | None = None,
) -> App:
    """An app whose agent `desk` has a researcher work for it, whose answer *reviews* look at."""
    return App(
        agents=[
            Agent(
                name="desk",
                instructions="Answer, and have others find out what you need.",
                models=["scripted:desk"],
                settings=IMPATIENT,
                tools=tools,
                subagents=subagents,
                budget=budget or Budget(max_steps=20),
                guardrails=guardrails,
            ),
            Agent(
                name="researcher",
                instructions="Find out what you are asked.",
                models=["scripted:researcher"],
                settings=IMPATIENT,
                tools=theirs,
                guardrails=reviews,
                max_output_retries=0 if reviews else 2,
            ),
        ],
        scripts={"desk": script, "researcher": researcher},
        policy=policy,
    )


def asking_desk(log: Path) -> App:
    """A desk whose researcher asks people before it sends something."""
    return desk([ask("tides"), say("So.")], [call("send", log=str(log), text="x"), FOUND])
