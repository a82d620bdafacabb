"""The steps between turns: guardrails, people, what is taken back, other approaches and agents."""

import json

from temporalio import workflow

from contracts.approvals import Requirement
from contracts.guardrails import GuardrailVerdict
from policy.escalation import Trigger
from workflows import attributes, escalations, gates, guarding, reviews, saga, steps, tripwires
from workflows.live import LiveRun
from workflows.projects import go_back, mark_checkpoint, open_project
from workflows.reviews import Matter
from workflows.step import (
    AskForReview,
    Compensate,
    ControlStep,
    GoBack,
    Guard,
    MarkCheckpoint,
    OpenProject,
    Pause,
    RunTier,
)
from workflows.tiers import run_tier

LARGEST_ATTRIBUTE = 1_900
"""Bytes; the server refuses a search attribute of more than 2,048, and ends the run."""


async def take(run: LiveRun, step: ControlStep) -> None:
    """Take one step."""
    match step:
        case Guard():
            await _guard(run, step)
        case Pause(trigger):
            await _pause(run, trigger)
        case AskForReview(matter, requirement):
            await _ask_for_review(run, matter, requirement)
        case Compensate():
            await _compensate(run)
        case OpenProject():
            await open_project(run)
        case MarkCheckpoint():
            await mark_checkpoint(run)
        case GoBack():
            await go_back(run)
        case RunTier():
            await run_tier(run)


async def _guard(run: LiveRun, step: Guard) -> None:
    seen = len(run.state.items)
    verdicts = await _looked(run, step.looks)
    await guarding.tell(run, verdicts)
    now = workflow.now()
    match step.moment:
        case "turn":
            state = tripwires.after_turn(run.state, verdicts, now)
            run.state = state.model_copy(update={"guarded": seen})
        case "calls":
            state = tripwires.after_calls(run.state, step.batch, verdicts, now)
            run.state = steps.settled(state, now)
        case gate:
            run.state = tripwires.after_answer(run.state, gate, verdicts, now)
    await run.record_end()


async def _looked(run: LiveRun, looks: tuple[gates.Look, ...]) -> tuple[GuardrailVerdict, ...]:
    """Look, after other runs can find what this one is about to be at."""
    held = (*run.state.held, *gates.taken(run.state, looks, workflow.now()))
    if len(json.dumps(held)) > LARGEST_ATTRIBUTE:
        full = "the run is at more resources than the server can search for"
        lost = [one for look in looks if look.spec.holds for one in guarding.undecided(look, full)]
        rest = tuple(look for look in looks if look.spec.holds is None)
        return (*lost, *await guarding.look(run, rest))
    if held != run.state.held:
        run.state = run.state.model_copy(update={"held": held})
        attributes.hold(run.state)
    return await guarding.look(run, looks)


async def _pause(run: LiveRun, trigger: Trigger) -> None:
    run.state = escalations.paused(run.state, trigger, workflow.now())
    await run.record("paused", f"{trigger.reason}: {trigger.detail}")


async def _ask_for_review(run: LiveRun, matter: Matter, requirement: Requirement) -> None:
    run.state = reviews.asked(run.state, matter, requirement, workflow.now())
    await run.record("review", f"{matter.subject}: {matter.reason}")


async def _compensate(run: LiveRun) -> None:
    undone = await saga.undo(run)
    run.state = tripwires.after_compensation(run.state, undone)
    await run.record_end()
