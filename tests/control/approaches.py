"""Agents that plan, try, and go back: what the tests of backtracking have in common."""

from holdfast import App, Backtracking
from holdfast.guardrails import (
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.testing import Reply, Script, ScriptTurn, call, say
from tests.chaos.cast import place, remove
from tests.control.controlled import asked_models, chained
from tests.histories import Story
from tests.sample import TOOLS

EXCEEDED = "Max backtracks exceeded"


@guardrail(layer="output")
async def good(subject: Subject, _: GuardrailContext) -> GuardrailResult:
    """Accept nothing but what is good."""
    return passed() if subject.text == "good" else tripped(f"{subject.text} isn't good")


def seen(turn: ScriptTurn) -> str:
    """All that a model is shown, as text."""
    return "\n".join(str(item.model_dump(mode="json")) for item in turn.transcript)


def round_of(turn: ScriptTurn) -> int:
    """Which approach is under way, by how many failed: the latest request to plan lists them."""
    requests = [
        item.text
        for item in turn.transcript
        if item.kind == "user" and item.text.startswith("Plan one approach")
    ]
    return requests[-1].count("It failed: ") + 1


def trying(turn: ScriptTurn) -> Reply:
    """Plan, look once, and give an answer that is good in the round that the goal names."""
    number = round_of(turn)
    if turn.without_tools:
        return say(f"approach {number}")
    if turn.transcript[-1].kind != "tool":
        return call("look", place=f"room {number}")
    return say("good" if f"{number}" == turn.goal else f"bad {number}")


def backtracking(*scripts: Script, **agent: object) -> App:
    """An app whose agent goes back three times; it speaks these scripts, or is `trying`."""
    settings: dict[str, object] = {
        "acceptance": [good],
        "backtracking": Backtracking(),
        "tools": [*TOOLS, place, remove],
        **agent,
    }
    return chained(*(scripts or (trying,)), **settings)


def purposes(*stories: Story) -> list[str]:
    """What the model was asked for, turn by turn."""
    return ["plan" if line.endswith("· plan") else "execute" for line in asked_models(*stories)]
