"""Runs whose agents have others do the work, seen from outside."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle, WorkflowHistory
from temporalio.service import RPCError, RPCStatusCode

from holdfast import Agent, App, Budget, Requirement, Tiers, Tool, Triggers
from holdfast.contracts.approvals import Request
from holdfast.contracts.run import RunResult
from holdfast.guardrails import Guardrail
from holdfast.testing import Script
from tests.histories import Story, noted, summary
from tests.running import AnyRun, Run, Runs
from tests.sample import IMPATIENT, TOOLS, lines

ALL = Tiers.model_validate(
    {
        "full": "coder",
        "simplified": "clerk",
        "decomposed": {"planner": "planner", "worker": "hand", "most": 5},
    }
)


def staffed(
    scripts: Mapping[str, Script],
    *,
    tiers: Tiers = ALL,
    budget: Budget | None = None,
    escalates: bool = False,
    second: Script = (),
    guardrails: Sequence[Guardrail] = (),
    triggers: Triggers | None = None,
    review: Requirement | None = None,
    tools: Sequence[Tool] = TOOLS,
    policy: Path | None = None,
    max_history_events: int = 15_000,
) -> App:
    """An app whose agent `it` has tiers; each other speaks its script, or has nothing to say."""
    names = ("coder", "clerk", "planner", "hand")
    return App(
        agents=[
            Agent(
                name="it",
                instructions="Have others do it.",
                tiers=tiers,
                budget=budget or Budget(max_steps=20),
                escalates=escalates,
                guardrails=guardrails,
                triggers=triggers or Triggers(),
                review=review or Requirement(),
                max_history_events=max_history_events,
            ),
            *(
                Agent(
                    name=name,
                    instructions="Do as you are told.",
                    models=[f"scripted:{name}", "scripted:second"],
                    settings=IMPATIENT,
                    tools=tools,
                )
                for name in names
            ),
        ],
        scripts={"second": second, **{name: scripts.get(name, ()) for name in names}},
        policy=policy,
    )


def child_summaries(history: WorkflowHistory) -> list[str]:
    """The line that the UI shows for each run that a run started."""
    return [
        summary(event)
        for event in history.events
        if event.event_type == EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED
    ]


def recorded(story: Story) -> list[str]:
    """The lines that a run left in its history."""
    return [one.summary for one in noted(story) if one.name == "record"]


def child(runs: Runs, run: Run, part: str) -> Run:
    """A run that this run has started, or is about to."""
    handle: WorkflowHandle[object, RunResult] = runs.client.get_workflow_handle(
        f"{run.handle.id}.{part}", result_type=RunResult
    )
    return Run(handle)


async def written(log: Path, count: int = 1) -> None:
    """Wait until tools have written so many lines."""
    while len(lines(log)) < count:  # noqa: ASYNC110 -- it is elsewhere
        await asyncio.sleep(0.01)


async def asked(run: AnyRun) -> tuple[Request, ...]:
    """Wait until a run, which may not have begun yet, asks people for something."""
    while True:
        try:
            return await run.asked()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            await asyncio.sleep(0.02)
