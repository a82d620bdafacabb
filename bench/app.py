"""The app that is measured: each agent is one kind of work, its goal says how much of it."""

import asyncio
import time

from pydantic import BaseModel
from temporalio import activity

from bench.raw import record
from holdfast import Agent, App, Budget, Handoff, Risk, SubAgent, tool
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    injection_detection,
    passed,
    secret_detection,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn, call, say
from holdfast.tools import ask_user

LONGEST_CALL = 1_000

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


@tool(risk=Risk.WRITE_INTERNAL, timeout=10, rollback="delete it by hand")
async def post(text: str) -> str:
    """Post a text, which somebody must approve."""
    return f"posted {len(text)} characters"


@guardrail(layer="pre_execution", local=True)
async def small_numbers(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at every call, quickly."""
    return passed() if len(subject.text) < LONGEST_CALL else tripped("the call is too long")


GUARDRAILS = (injection_detection(watches=("goal", "results")), small_numbers, secret_detection())
"""One on everything that the model reads, one on every call, one on the answer."""


def many_steps(turn: ScriptTurn) -> Reply:
    """Ask for as many records as the goal says, one in each turn."""
    return call("read_record", number=turn.number) if turn.number <= int(turn.goal) else say("ok")


def many_local_steps(turn: ScriptTurn) -> Reply:
    """Do the same with the local tool."""
    wanted = turn.number <= int(turn.goal)
    return call("read_record_locally", number=turn.number) if wanted else say("ok")


class Record(BaseModel):
    """Read the record with this number."""

    number: int


class Answer(BaseModel):
    """What was read."""

    text: str


def many_tasks(turn: ScriptTurn) -> Reply:
    """Have another agent read as many records as the goal says, one after the other."""
    wanted = turn.number <= int(turn.goal)
    return call("delegate_to_reader", number=turn.number) if wanted else say("ok")


def read_one(turn: ScriptTurn) -> Reply:
    """Read one record, and answer."""
    return call("read_record", number=1) if turn.number == 1 else say('{"text": "ok"}')


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
            ("approved", "scripted:approved", [post]),
            ("slow tool", "scripted:slow-tool", [read_slowly]),
            ("slow model", "scripted:slow-model", []),
            ("via anthropic", "anthropic:claude-sonnet-5", [read_record]),
            ("via openai", "openai:gpt-5.2", [read_record]),
            ("via openai-chat", "openai-chat:gpt-4.1", [read_record]),
        )
    ]
    + [
        Agent(
            name="talks",
            instructions="Answer.",
            models=["scripted:talks"],
            max_history_events=500,
        ),
        Agent(
            name="delegating",
            instructions="Have the records read.",
            models=["scripted:delegating"],
            subagents=[SubAgent("reader", input=Record, output=Answer, budget_share=1)],
        ),
        Agent(
            name="reader",
            instructions="Read the record.",
            models=["scripted:reader"],
            tools=[read_record],
        ),
        Agent(
            name="handing",
            instructions="Hand over.",
            models=["scripted:handing"],
            handoffs=[Handoff("local", when="always")],
        ),
        Agent(
            name="guarded",
            instructions="Read the records.",
            models=["scripted:ordinary"],
            tools=[read_record],
            guardrails=GUARDRAILS,
            budget=Budget(max_steps=1_000_000, max_tokens=10**12, max_result_chars=10**12),
        ),
    ],
    scripts={
        "ordinary": many_steps,
        "local": many_local_steps,
        "talks": lambda _: say("ok"),
        "delegating": many_tasks,
        "reader": read_one,
        "handing": [call("transfer_to_local", goal="go on")],
        "asks": [call("ask_user", question="Which records?"), say("ok")],
        "approved": [call("post", text="hello"), say("ok")],
        "slow-tool": [call("read_slowly"), say("ok")],
        "slow-model": answer_slowly,
    },
)
