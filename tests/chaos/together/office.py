"""The app of an example: agents that hand over, delegate and try in turn, each with its rules."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from holdfast import (
    Agent,
    App,
    Backtracking,
    Budget,
    Decomposition,
    Fallback,
    Handoff,
    ModelSettings,
    SubAgent,
    Tiers,
    Triggers,
)
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    cost_estimation,
    guardrail,
    judged_by,
    passed,
    tripped,
)
from holdfast.testing import Reply, ScriptTurn
from tests.chaos.together.book import TOOLS, load
from tests.chaos.together.scripts import AGENTS, Drama, Traits

SECRET = "SECRET"
WRONG = "WRONG"

CALL_COST = Decimal("0.20")
"""US dollars that a costly call is thought to cost."""

MODEL_COST = Decimal("0.10")

COSTLY = ("look_up", "carve", "hang")

WAIT = timedelta(seconds=60)
"""So long a request waits for a person."""

Speak = Callable[[str, ScriptTurn], Reply]


class Topic(BaseModel):
    """Find out about a thing."""

    thing: str


class Found(BaseModel):
    facts: list[str]


async def _look_for_secrets(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    return tripped(f"it says {subject.text}") if SECRET in subject.text else passed()


def _withholding(on_trip: str) -> Guardrail:
    look = partial(_look_for_secrets)

    async def keep(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
        return await look(subject, ctx)

    keep.__name__ = f"keep_{on_trip}"
    return guardrail(layer="output", on_trip=on_trip)(keep)  # pyright: ignore[reportArgumentType] -- one of its words


WITHHOLDING = {on_trip: _withholding(on_trip) for on_trip in ("retry", "block", "ask")}


@guardrail(layer="pre_execution", on_trip="ask")
async def ask_before(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Have people look at calls with a question mark."""
    return tripped("a question mark") if "?" in subject.text else passed()


@guardrail(layer="post_action", tools=("write", "file", "carve"))
async def look_after(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Have everything taken back once something was done with an exclamation mark."""
    return tripped("an exclamation mark") if "!" in subject.text else passed()


@guardrail(layer="output")
async def accept(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Send wrong answers back."""
    return tripped("that is wrong") if WRONG in subject.text else passed()


def build_app(drama: Drama, speak: Speak, policy: Path) -> App:
    """Build the app of an example, whose models speak for their agents."""
    return App(
        agents=[_build_agent(name, drama) for name in AGENTS],
        scripts={name: partial(speak, name) for name in AGENTS},
        policy=policy,
    )


def _build_agent(name: str, drama: Drama) -> Agent:
    traits = drama.traits_of(name)
    tiered = name == "front"
    guardrails = [WITHHOLDING[traits.withholds]] if traits.withholds else []
    if traits.estimates and not tiered:
        guardrails.append(cost_estimation(CALL_COST, tools=COSTLY))
    if traits.judged:
        guardrails.append(judged_by("critic", on_trip="retry"))
    if traits.asks and not tiered:
        guardrails.append(ask_before)
    if traits.looks_after and not tiered:
        guardrails.append(look_after)
    return Agent(
        name=name,
        instructions="Do as you are told.",
        models=() if tiered else [f"scripted:{name}"],
        tools=() if tiered else TOOLS,
        settings=ModelSettings(patience=0),
        budget=Budget(max_steps=8),
        escalates=traits.escalates,
        approval_timeout=WAIT,
        max_history_events=traits.events,
        guardrails=guardrails,
        acceptance=[accept] if traits.checks else [],
        backtracking=_find_backtracking(traits),
        fallback=Fallback(rejections=traits.rejections),
        triggers=Triggers(max_retries=1),
        summary_at_limit=traits.sums_up and not tiered,
        subagents=[
            SubAgent(other, input=Topic, output=Found, at_once=2, budget_share=0.5)
            for other in {"desk": ("helper",), "helper": ("deep",)}.get(name, ())
        ],
        handoffs=_list_handoffs(name),
        output=GuardrailResult if name == "critic" else None,
        tiers=_build_tiers(drama.tiers) if tiered else None,
    )


def _find_backtracking(traits: Traits) -> Backtracking | None:
    return Backtracking(max_backtracks=1) if traits.backtracks else None


def _list_handoffs(name: str) -> list[Handoff]:
    match name:
        case "desk":
            answerer = Handoff("answerer", when="ever", return_expected=True, timeout_seconds=90)
            return [Handoff("taker", when="ever", prepare=load), answerer]
        case "taker":
            return [Handoff("closer", when="ever")]
        case _:
            return []


def _build_tiers(count: int) -> Tiers:
    parts = Decomposition(planner="planner", worker="hand", most=3)
    return Tiers(
        full="desk",
        simplified="clerk" if count > 1 else None,
        decomposed=parts if count > 2 else None,
    )
