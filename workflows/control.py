"""The steps between turns: guardrails, people, what is taken back, other approaches and agents."""

import json

from temporalio import workflow

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.run import approvals, escalations, gates, tool_calls, tripwires, turns
from holdfast.run.approvals import ReviewSubject
from holdfast.run.limits.triggers import Trigger
from holdfast.run.steps import (
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
from holdfast.workflows import guarding, run_context, tool_call
from holdfast.workflows.projects import go_back, mark_checkpoint, open_project
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.tiers import run_tier

LARGEST_ATTRIBUTE = 1_900
"""Bytes; the server refuses a search attribute of more than 2,048, and ends the run."""


async def take(run: RunContext, step: ControlStep) -> None:
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
            with run.doing("workspace"):
                await open_project(run)
        case MarkCheckpoint():
            with run.doing("workspace"):
                await mark_checkpoint(run)
        case GoBack():
            await go_back(run)
        case RunTier():
            await run_tier(run)


async def _guard(run: RunContext, step: Guard) -> None:
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
            if gates.take_time(step.looks):
                state = tool_calls.reopened(state)
            run.state = turns.settled(state, now)
        case gate:
            run.state = tripwires.after_answer(run.state, gate, verdicts, now)
    await run.record_end()


async def _looked(run: RunContext, looks: tuple[gates.Look, ...]) -> tuple[GuardrailVerdict, ...]:
    """Look, after other runs can find what this one is about to be at."""
    held = (*run.state.held, *gates.taken(run.state, looks, workflow.now()))
    if len(json.dumps(held)) > LARGEST_ATTRIBUTE:
        full = "the run is at more resources than the server can search for"
        lost = [one for look in looks if look.spec.holds for one in guarding.undecided(look, full)]
        rest = tuple(look for look in looks if look.spec.holds is None)
        return (*lost, *await guarding.look(run, rest))
    if held != run.state.held:
        run.state = run.state.model_copy(update={"held": held})
        run_context.hold(run.state)
    return await guarding.look(run, looks)


async def _pause(run: RunContext, trigger: Trigger) -> None:
    run.state = escalations.paused(run.state, trigger, workflow.now())
    await run.record("paused", f"{trigger.reason}: {trigger.detail}")


async def _ask_for_review(
    run: RunContext, matter: ReviewSubject, requirement: Requirement
) -> None:
    run.state = approvals.asked(run.state, matter, requirement, workflow.now())
    await run.record("review", f"{matter.subject}: {matter.reason}")


async def _compensate(run: RunContext) -> None:
    undone = await tool_call.undo(run)
    run.state = tripwires.after_compensation(run.state, undone)
    await run.record_end()
