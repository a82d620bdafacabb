"""The app that is measured: each agent is one kind of work, its goal says how much of it."""

import asyncio
import time

from temporalio import activity

from bench.raw import record
from holdfast import Agent, App, Reply, Risk, ScriptTurn, ask_user, call, say, tool

LOST = 60.0
"""Seconds; an attempt that takes so long is never waited for: its worker is killed meanwhile."""


@tool(risk=Risk.READ_ONLY, timeout=10)
async def read_record(number: int) -> dict[str, str]:
    """Read the record with this number. Returns its text."""
    return {"text": record(number)}


@tool(risk=Risk.READ_ONLY, timeout=10, local=True)
async def read_record_locally(number: int) -> dict[str, str]:
    """Read the record with this number, without a round trip. Returns its text."""
    return {"text": record(number)}


@tool(risk=Risk.READ_ONLY, timeout=2 * LOST)
async def read_slowly() -> str:
    """Read something; the first attempt takes longer than anybody waits."""
    if activity.info().attempt == 1:
        await asyncio.sleep(LOST)
    return "read"


def many_steps(turn: ScriptTurn) -> Reply:
    """Ask for as many records as the goal says, one in each turn."""
    return call("read_record", number=turn.number) if turn.number <= int(turn.goal) else say("ok")


def many_local_steps(turn: ScriptTurn) -> Reply:
    """Do the same with the local tool."""
    wanted = turn.number <= int(turn.goal)
    return call("read_record_locally", number=turn.number) if wanted else say("ok")


def answer_slowly(turn: ScriptTurn) -> Reply:
    """Answer; the first attempt takes longer than anybody waits."""
    if turn.attempt == 1:
        time.sleep(LOST)
    return say("ok")


app = App(
    agents=[
        Agent(name=name, instructions="Read the records.", models=[model], tools=tools)
        for name, model, tools in (
            ("ordinary", "scripted:ordinary", [read_record]),
            ("local", "scripted:local", [read_record_locally]),
            ("asks", "scripted:asks", [ask_user]),
            ("slow tool", "scripted:slow-tool", [read_slowly]),
            ("slow model", "scripted:slow-model", []),
            ("via anthropic", "anthropic:claude-sonnet-5", [read_record]),
            ("via openai", "openai:gpt-5.2", [read_record]),
            ("via openai-chat", "openai-chat:gpt-4.1", [read_record]),
        )
    ],
    scripts={
        "ordinary": many_steps,
        "local": many_local_steps,
        "asks": [call("ask_user", question="Which records?"), say("ok")],
        "slow-tool": [call("read_slowly"), say("ok")],
        "slow-model": answer_slowly,
    },
)
