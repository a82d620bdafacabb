"""The steps between turns: guardrails, people, what is taken back, other approaches and agents."""

import json
from functools import partial

from temporalio import workflow

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.bounds import MAX_HELD_CLAIMS_BYTES
from holdfast.contracts.guardrails import GuardrailVerdict
from holdfast.contracts.state.run import RunState
from holdfast.run import approvals, backtracking, escalations, gates, tripwires, turns
from holdfast.run.approvals import ReviewSubject
from holdfast.run.limits.triggers import Trigger
from holdfast.run.sessions import hiding
from holdfast.run.step import claims, grading
from holdfast.run.step.kinds import (
    AskForReview,
    Compensate,
    ControlStep,
    Grade,
    Guard,
    KeepWorkspace,
    MarkCheckpoint,
    OpenProject,
    Pause,
    RollBack,
    RunTier,
)
from holdfast.workflows import guarding, run_context
from holdfast.workflows.execution.patches import invalidate_rulings
from holdfast.workflows.projects import prepare_workspace, roll_back, take_back
from holdfast.workflows.run_context import RunContext
from holdfast.workflows.tiers import run_tier

REJECTED = "its answers were rejected"

CEILINGS_STAND = "ceilings-stand"
"""The patch by which nobody is asked about a call that costs more than the ceiling leaves."""

KEPT_FOR_COMMANDS = "kept-for-commands"
"""The patch by which files are kept before a command of a guardrail may change them."""

DRAFTS_COST = "drafts-cost"
"""The patch by which a draft costs what is said of the tool that drafts."""


async def execute_step(run: RunContext, step: ControlStep) -> None:
    """Take one step."""
    match step:
        case Guard():
            await _guard(run, step)
        case Grade(checks):
            await _grade(run, checks)
        case Pause(trigger):
            await _pause(run, trigger)
        case AskForReview(under_review, requirement):
            await _ask_for_review(run, under_review, requirement)
        case Compensate():
            await _compensate(run)
        case OpenProject() | KeepWorkspace() | MarkCheckpoint():
            with run.track_in_flight("workspace"):
                await prepare_workspace(run, step)
        case RollBack():
            await roll_back(run)
        case RunTier():
            await run_tier(run)


async def _guard(run: RunContext, step: Guard) -> None:
    wants_snapshot = backtracking.wants_snapshot_for_commands(run.state, step.checks)
    if wants_snapshot and workflow.patched(KEPT_FOR_COMMANDS):
        with run.track_in_flight("workspace"):
            await prepare_workspace(run, KeepWorkspace())
        return  # while that took its time somebody may have said more
    seen, since = len(run.state.conversation.items), run.hurried
    verdicts = await _claim_and_check(run, step.checks)
    if verdicts is None:
        if step.moment == "turn":  # they look at what people said as well
            run.looks_anew = run.looks_anew or run.hurried != since
            run.state = turns.append_steering(run.state)
        return
    run.looks_anew = False
    before, now = run.state, workflow.now()
    match step.moment:
        case "turn":
            looked = hiding.find_looked_end(run.state, step.checks, verdicts, seen)
            state = tripwires.after_turn(run.state, verdicts, now)
            run.state = state.with_guarding(guarded=looked)
        case "calls":
            state = _take_verdicts(run.state, step, verdicts)
            if gates.has_remote_check(step.checks):
                state = invalidate_rulings(state)
            run.state = turns.close_turn_if_complete(state, now)
            release_claims(run)
        case gate:
            run.state = tripwires.after_answer(run.state, gate, verdicts, now)
    await guarding.record_tripwires(run, verdicts)
    await run.record_switch(before, REJECTED)
    await run.record_end()


def _take_verdicts(
    state: RunState, step: Guard, verdicts: tuple[GuardrailVerdict, ...]
) -> RunState:
    """
    Take what was found about calls.

    Runs of an earlier release asked beyond their ceilings, and drafts cost nothing there.
    """
    taken = partial(tripwires.after_calls, state, step.batch, verdicts, workflow.now())
    if any(call.drafting is not None for call in step.batch):
        free = partial(taken, drafts_cost=False)
        if taken() != free() and not workflow.patched(DRAFTS_COST):
            taken = free
    after = taken()
    if state.ceiling is None or state.ceiling.max_cost is None:
        return after
    asked = taken(ceiling_stands=False)
    return after if after == asked or workflow.patched(CEILINGS_STAND) else asked


async def _grade(run: RunContext, checks: tuple[gates.GuardrailCheck, ...]) -> None:
    """Have guardrails look at what is over: what they find changes nothing of it."""
    run.state = grading.set_grading(run.state, "under_way")
    await guarding.run_checks(run, checks)
    run.state = grading.set_grading(run.state, "done")


async def _claim_and_check(
    run: RunContext, checks: tuple[gates.GuardrailCheck, ...]
) -> tuple[GuardrailVerdict, ...] | None:
    """Look, after other runs can find what this one is about to be at."""
    taken = claims.take(run.state, checks, workflow.now())
    if len(json.dumps(taken.guarding.held)) > MAX_HELD_CLAIMS_BYTES:
        full = "the run is at more resources than the server can search for"
        lost = [
            one
            for check in checks
            if check.spec.holds
            for one in guarding.build_fail_closed_verdicts(run, check, full)
        ]
        rest = tuple(check for check in checks if check.spec.holds is None)
        found = await guarding.run_checks(run, rest)
        return None if found is None else (*lost, *found)
    _hold(run, taken)
    return await guarding.run_checks(run, checks)


def release_claims(run: RunContext) -> None:
    """Let others have what was taken for calls that were refused; a run that ends frees all."""
    if run.state.guarding.claimed and not run.state.is_ending:
        _hold(run, claims.release(run.state))


def _hold(run: RunContext, fresh: RunState) -> None:
    before, run.state = run.state.guarding.held, fresh
    if fresh.guarding.held != before:
        run_context.publish_claims(fresh)


async def _pause(run: RunContext, trigger: Trigger) -> None:
    run.state = escalations.pause(run.state, trigger, workflow.now())
    await run.record("paused", f"{trigger.reason}: {trigger.detail}")


async def _ask_for_review(
    run: RunContext, under_review: ReviewSubject, requirement: Requirement
) -> None:
    run.state = approvals.open_review(run.state, under_review, requirement, workflow.now())
    await run.record("review", f"{under_review.subject}: {under_review.reason}")


async def _compensate(run: RunContext) -> None:
    undone = await take_back(run, files=tripwires.takes_files_back(run.state))
    before = run.state
    run.state = tripwires.after_compensation(before, undone, workflow.now())
    await run.record_switch(before, REJECTED)
    await run.record_end()
