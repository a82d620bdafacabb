"""The agents of the scripts: their tools, their guardrails, and how their runs go on."""

from functools import partial

from holdfast import (
    Agent,
    App,
    Handoff,
    ResourceScope,
    Risk,
    SubAgent,
    Tool,
    ToolContext,
    Triggers,
    tool,
)
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from tests.chaos.playing import Cast
from tests.chaos.scripts import MARKS
from tests.sample import TOOLS, note
from tests.workflows.delegating import Findings, Question

FREE = ("plain", "asking", "renewing")
"""Agents that stop, that ask people, that go on in a new execution after a turn or two."""

DELEGATING = ("delegating",)
"""An agent that has others work for it and answer it, and hands over."""

GUARDED = ("guarded", "guarded_asking")

NAMED = ResourceScope(kind="workspace", argument="text")


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def remove(log: str, text: str, ctx: ToolContext) -> str:
    """Take a thing away again that was placed before."""
    note(log, f"removed {text}")
    return "removed"


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="remove")
async def place(log: str, text: str) -> str:
    """Place a thing where it can be taken away again."""
    note(log, f"placed {text}")
    return "placed"


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def spill(log: str, text: str) -> str:
    """Change something, and break before anybody is told."""
    note(log, f"spilled {text}")
    raise OSError("broken")


def looked(subject: Subject, mark: str) -> GuardrailResult:
    """Trip on a word."""
    return tripped(f"it says {mark}", f"don't say {mark}") if mark in subject.text else passed()


@guardrail(layer="input", watches=("goal", "words"))
async def no_bad_input(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at what people say before anything else happens."""
    return looked(subject, MARKS["input"])


@guardrail(layer="input", mode="parallel", watches=("goal", "results"))
async def no_bad_results(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at what tools say while the model reads it."""
    return looked(subject, MARKS["results"])


@guardrail(layer="pre_execution")
async def no_bad_calls(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at each call before it runs."""
    return looked(subject, MARKS["pre_execution"])


@guardrail(layer="output")
async def no_bad_answer(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at the answer before it counts."""
    return looked(subject, MARKS["output"])


@guardrail(layer="post_action", tools=("place", "write"))
async def no_bad_effect(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Look at what was placed and written when it is done."""
    return looked(subject, MARKS["post_action"])


GUARDRAILS = (no_bad_input, no_bad_results, no_bad_calls, no_bad_answer, no_bad_effect)

EVERY_TOOL: tuple[Tool, ...] = (*TOOLS, place, spill)


def cast(stage: Cast) -> App:
    """Have agents whose models speak the scripts of a stage."""
    described = partial(
        Agent,
        instructions="Do as you are told.",
        models=["scripted:first", "scripted:second"],
        tools=EVERY_TOOL,
    )
    return App(
        agents=[
            described(name="plain"),
            described(name="asking", escalates=True),
            described(
                name="renewing",
                escalates=True,
                max_history_events=20,
                triggers=Triggers(token_share=None),
            ),
            described(
                name="delegating",
                subagents=[SubAgent("helper", input=Question, output=Findings)],
                handoffs=[
                    Handoff("taker", when="always"),
                    Handoff("answerer", when="always", return_expected=True, timeout_seconds=60),
                ],
            ),
            described(name="helper"),
            described(name="taker", escalates=True),
            described(name="answerer"),
            described(name="guarded", guardrails=GUARDRAILS),
            described(name="guarded_asking", guardrails=GUARDRAILS, escalates=True),
        ],
        scripts={
            "first": partial(stage.spoken, first=True),
            "second": partial(stage.spoken, first=False),
        },
    )
