"""Runs whose guardrails look: tools with effects, guardrails that trip on a word, their events."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Unpack

from pydantic import JsonValue
from temporalio.client import WorkflowHistory

from holdfast import Agent, App, Handoff, ResourceScope, Risk, ToolContext, tool
from holdfast.contracts.approvals import (
    Request,
)
from holdfast.contracts.calls import ToolResult
from holdfast.contracts.guardrails import Layer
from holdfast.contracts.run import RunResult
from holdfast.contracts.signals import (
    MessageOutcome,
)
from holdfast.contracts.transcript import UserTurn
from holdfast.guardrails import (
    Guardrail,
    GuardrailContext,
    GuardrailResult,
    Subject,
    guardrail,
    passed,
    tripped,
)
from holdfast.guardrails.definition import GuardrailOptions
from holdfast.testing import Script
from tests.histories import Story, names, noted
from tests.running import AnyRun, AnyRuns, Run
from tests.sample import IMPATIENT, TOOLS, note, scripted

AUDIT = {"record", "open_run", "judge", "mark_judged"}
"""Activities that only begin a run, hear what people say to it, and say what became of it."""

NAMED = ResourceScope(kind="workspace", argument="title")


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED)
async def remove_draft(log: str, title: str, ctx: ToolContext) -> str:
    """Take a draft away again."""
    note(log, f"removed {title}")
    return f"removed {title} for {ctx.run_id}"


@tool(risk=Risk.WRITE_LOCAL, scope=NAMED, undo="remove_draft")
async def create_draft(log: str, title: str) -> str:
    """Create a draft."""
    note(log, f"created {title}")
    return f"draft {title}"


EFFECTS = (*TOOLS, create_draft)


@dataclass
class Seen:
    """A guardrail's memory: what it looked at."""

    subjects: list[Subject] = field(default_factory=list[Subject])

    @property
    def texts(self) -> list[str]:
        return [subject.text for subject in self.subjects]


def on_word(
    name: str, word: str, layer: Layer, seen: Seen | None = None, **terms: Unpack[GuardrailOptions]
) -> Guardrail:
    """Trip on a word."""

    def found(subject: Subject) -> GuardrailResult:
        says = word in f"{subject.text} {subject.data}"
        return tripped(f"it says {word}", f"never say {word}") if says else passed()

    return looking(name, layer, found, seen, **terms)


def looking(
    name: str,
    layer: Layer,
    find: Callable[[Subject], GuardrailResult],
    seen: Seen | None = None,
    **terms: Unpack[GuardrailOptions],
) -> Guardrail:
    """Have a function find what it finds."""

    async def look(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if seen is not None:
            seen.subjects.append(subject)
        return find(subject)

    look.__name__ = name
    return guardrail(layer=layer, **terms)(look)


def waiting(
    name: str,
    go: asyncio.Event,
    result: GuardrailResult,
    layer: Layer = "input",
    **terms: Unpack[GuardrailOptions],
) -> Guardrail:
    """Find something when the test lets it."""

    async def look(_: Subject, __: GuardrailContext) -> GuardrailResult:
        await go.wait()
        return result

    look.__name__ = name
    return guardrail(layer=layer, **terms)(look)


class Ended(NamedTuple):
    """A run that is over: what came of it, what history has, what the model was told."""

    result: RunResult
    story: Story
    results: list[ToolResult]
    told: list[tuple[str, str]]

    @property
    def why(self) -> str:
        """Why it was stopped."""
        return self.result.stop.reason if self.result.stop else ""

    @property
    def order(self) -> list[str]:
        return order(self.story)

    @property
    def history(self) -> WorkflowHistory:
        """What a server has of it."""
        assert isinstance(self.story, WorkflowHistory)
        return self.story


async def ended(runs: AnyRuns, app: App, goal: str = "go", **more: JsonValue) -> Ended:
    """Run an agent `it` to its end; its history replays."""
    async with runs.working(app):
        return await over(await runs.start("it", goal, **more))


async def over(run: AnyRun) -> Ended:
    """Wait for the end of a run, while its worker is there; its history replays."""
    result = await run.result()
    return Ended(result, await run.story(), await run.results(), await told(run))


async def scheduled(run: Run, name: str) -> None:
    """Wait until a run has asked for this activity."""
    while name not in order(await run.handle.fetch_history()):  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.02)


async def asked_next(run: AnyRun, before: Request) -> Request:
    """Wait until a run asks for something else."""
    while (found := (await run.asked())[0]).request_id == before.request_id:
        await run.pause()
    return found


async def decided(
    run: AnyRun, request: Request, decision: str, reason: str = "so"
) -> MessageOutcome:
    """Have dana approve or reject, and return what became of it."""
    return await run.decide(
        {
            "request_id": request.request_id,
            "decision": decision,
            "approver": "dana",
            "reason": reason,
        }
    )


async def replayed(run: Run) -> WorkflowHistory:
    """Return the history of a run, which replays."""
    history = await run.story()
    assert isinstance(history, WorkflowHistory)
    return history


def guarded(script: Script, *guardrails: Guardrail, **agent: object) -> App:
    """An app whose agent `it` has these guardrails, and tools with effects."""
    return scripted(script, tools=EFFECTS, guardrails=guardrails, **agent)  # pyright: ignore[reportArgumentType] -- whatever a test overrides


def order(story: Story) -> list[str]:
    """The activities that did anything, in their order."""
    return [name for name in names(story) if name not in AUDIT]


def tripwires(story: Story) -> list[str]:
    """The audit lines about tripwires."""
    lines = [one.summary for one in noted(story) if one.name == "record"]
    return [line for line in lines if line.startswith("tripwire: ")]


def after_trip(story: Story) -> list[str]:
    """What was scheduled after the first line about a tripwire, beside other lines."""
    found = noted(story)
    place = next(n for n, one in enumerate(found) if one.summary.startswith("tripwire: "))
    return [one.name for one in found[place:] if one.name not in AUDIT]


async def told(run: AnyRun) -> list[tuple[str, str]]:
    """What the run put into the transcript for the model, with its origin."""
    page = await run.transcript()
    return [(one.origin, one.text) for one in page.items if isinstance(one, UserTurn)]


def desk_before_billing(desk: Script, billing: Script, *looks: Guardrail) -> App:
    """A desk that hands over to billing, for whom guardrails look."""
    asking = Agent(
        name="desk",
        instructions="Find out who can help.",
        models=["scripted:desk"],
        settings=IMPATIENT,
        handoffs=[Handoff("billing", when="money")],
    )
    charging = Agent(
        name="billing",
        instructions="Charge them.",
        models=["scripted:billing"],
        settings=IMPATIENT,
        guardrails=looks,
    )
    return App(agents=[asking, charging], scripts={"desk": desk, "billing": billing})
