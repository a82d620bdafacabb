"""Workflow tiers: the same goal for a full agent, a simpler one, then in parts, then a person."""

from collections.abc import Callable
from functools import partial

from temporalio import workflow

from holdfast.contracts.budget import Budget
from holdfast.contracts.control import Candidate, Decomposition, Subtask
from holdfast.contracts.stops import Stop
from holdfast.run import answers, escalations, gates, requests, tiers, tripwires, turns
from holdfast.run.delegation.part_ids import name_part
from holdfast.run.sessions import hiding
from holdfast.run.texts.figures import pluralize
from holdfast.run.tiers import (
    TIER_NAMES,
    TierFailure,
    TierOutcome,
    TierStop,
    after_answer,
    after_failure,
    agent_names,
    attempted,
    build_exhausted_stop,
    classify_result,
    combine_subtasks,
    find_next_tier,
    is_too_large,
    render_goal,
    require_tiers,
    split_budget,
)
from holdfast.run.transcript import halt
from holdfast.workflows import guarding, projects
from holdfast.workflows.children import ChildTask, run_child, run_children
from holdfast.workflows.log import log_warning
from holdfast.workflows.run_context import RunContext

TIER_GOALS = "tier-goals"
"""The patch by which what a session said before is left out of goals that are too large."""


async def run_tier(run: RunContext) -> None:
    """
    Try the goal at the tier that the run has come to.

    Its answer is a candidate; its failure leads to the next tier, and after the last to a person,
    or to the end. What a guardrail or a person ended ends the run. What its agents did stays done,
    and isn't done again: their successors are told, with the answers that didn't pass.
    """
    run.state = requests.recount_unread_bytes(turns.append_steering(run.state))
    if gates.select_blocking_checks(run.state):
        return  # people said more, and guardrails look at that first
    if checks := gates.select_parallel_checks(run.state):
        await _run_checks_first(run, checks)
        return
    tier = find_next_tier(require_tiers(run.state), run.state.parts.tier)
    agent = agent_names(require_tiers(run.state), tier)
    match await _try_tier(run, tier):
        case _ if run.state.is_ending:
            return  # a person has ended the run meanwhile
        case Candidate() as candidate:
            run.state = after_answer(run.state, agent, candidate)
        case TierStop(status, stop, taken_back):
            if taken_back:
                stop = await projects.take_back_before_stop(run, stop)
            run.state = halt(run.state, stop, workflow.now(), status)
        case TierFailure(reason, logged=why) as failed:
            run.state = after_failure(run.state, tier, failed)
            log_warning("tier.failed", run.state, tier=TIER_NAMES[tier], agent=agent, why=why)
            await run.record("tier failed", f"{TIER_NAMES[tier]} ({agent}): {reason}")
            if find_next_tier(require_tiers(run.state), run.state.parts.tier) >= len(TIER_NAMES):
                stop = build_exhausted_stop(run.state)
                run.state = escalations.give_up(run.state, stop, workflow.now(), escalations.TIERS)
    await run.record_end()


async def _run_checks_first(run: RunContext, checks: tuple[gates.GuardrailCheck, ...]) -> None:
    """Have guardrails look first that look beside a model: what others do can't wait for them."""
    seen = len(run.state.conversation.items)
    verdicts = await guarding.run_checks(run, checks)
    if verdicts is None:
        return
    await guarding.record_tripwires(run, verdicts)
    watched = hiding.advance_watch(run.state, checks, verdicts, seen)
    run.state = tripwires.after_turn(watched, verdicts, workflow.now())
    await run.record_end()


async def _try_tier(run: RunContext, tier: int) -> TierOutcome:
    run.state = attempted(run.state)
    tiers, left = require_tiers(run.state), run.remaining()
    if isinstance(left, Stop):
        return TierFailure(left.reason, "not begun")
    number = run.state.parts.tier_attempts
    if TIER_NAMES[tier] == "decomposed" and tiers.decomposed is not None:
        return await _run_decomposition(run, tiers.decomposed, number, left)
    part = name_part(number, TIER_NAMES[tier])
    goal = _write_goal(run, str)
    child = ChildTask(part, agent_names(tiers, tier), goal, left)
    return classify_result(await run_child(run, child))


def _write_goal(run: RunContext, write: Callable[[str], str]) -> str:
    """
    Write the goal of a child, of which earlier messages are left out.

    Runs of an earlier release began none where it was too large with all of them.
    """
    whole = write(render_goal(run.state, whole=True))
    if is_too_large(whole) and not workflow.patched(TIER_GOALS):
        return whole
    return write(render_goal(run.state))


async def _run_decomposition(
    run: RunContext, tier: Decomposition, number: int, left: Budget
) -> TierOutcome:
    """Have the subtasks done that aren't: all of a new plan, or those that failed before."""
    if not run.state.parts.subtasks:
        asked = _write_goal(run, lambda goal: tiers.render_plan_prompt(goal, tier.most))
        child = ChildTask(name_part(number, "plan"), tier.planner, asked, left)
        match classify_result(await run_child(run, child)):
            case TierFailure(reason, progress, logged):
                return TierFailure(f"no plan: {reason}", progress, logged)
            case TierStop() as ended:
                return ended
            case Candidate() as answer:
                planned = tiers.parse_plan(answer, tier.most)
        if isinstance(planned, str):
            return TierFailure(f"no plan: {answers.redact(run.state, planned)}")
        fresh = tuple(Subtask(task=task) for task in planned)
        run.state = run.state.with_parts(subtasks=fresh)
    return await _run_subtasks(run, tier.worker, number)


async def _run_subtasks(run: RunContext, worker: str, number: int) -> TierOutcome:
    subtasks = run.state.parts.subtasks
    waiting = [place for place, one in enumerate(subtasks) if one.answer is None]
    share = split_budget(run.remaining(), len(waiting))
    if isinstance(share, Stop):
        return TierFailure(f"{pluralize(len(waiting), 'subtask')} planned, but {share.reason}")
    children = [
        ChildTask(
            name_part(number, f"part-{place + 1}"),
            worker,
            _write_goal(run, partial(tiers.render_subtask_prompt, subtasks[place].task)),
            share,
        )
        for place in waiting
    ]
    found = dict(
        zip(waiting, map(classify_result, await run_children(run, children)), strict=True)
    )
    ends = [
        found[place] if one.answer is None else one.answer for place, one in enumerate(subtasks)
    ]
    kept = tiers.with_answers(subtasks, ends)
    run.state = run.state.with_parts(subtasks=kept)
    return combine_subtasks(run.state, [one.task for one in subtasks], ends)
