"""Workflow tiers: the same goal for a full agent, a simpler one, then in parts, then a person."""

from temporalio import workflow

from holdfast.contracts.budget import Budget
from holdfast.contracts.control import Candidate, Decomposition, Subtask
from holdfast.contracts.run import Stop
from holdfast.run import answers, escalations, gates, parts, requests, tiers, tripwires, turns
from holdfast.run.tiers import (
    NAMES,
    End,
    Ended,
    Failed,
    after_failure,
    agent_names,
    answered,
    attempt_number,
    exhausted,
    following,
    goal_of,
    outcome,
    share_for,
    tiers_of,
    together,
)
from holdfast.run.transcript import halted
from holdfast.workflows import guarding, tool_call
from holdfast.workflows.children import ChildTask, run_child, run_children
from holdfast.workflows.run_context import RunContext


async def run_tier(run: RunContext) -> None:
    """
    Try the goal at the tier that the run has come to.

    Its answer is a candidate; its failure leads to the next tier, and after the last to a person,
    or to the end. What a guardrail or a person ended ends the run. What its agents did stays done,
    and isn't done again: their successors are told, with the answers that didn't pass.
    """
    run.state = requests.read(turns.before_model(run.state))
    if gates.before_turn(run.state):
        return  # people said more, and guardrails look at that first
    if looks := gates.beside_turn(run.state):
        await _look_first(run, looks)
        return
    tier = following(tiers_of(run.state), run.state.tier)
    agent = agent_names(tiers_of(run.state), tier)
    match await _tried(run, tier):
        case _ if run.state.outcome is not None:
            return  # a person has ended the run meanwhile
        case Candidate() as candidate:
            run.state = answered(run.state, agent, candidate)
        case Ended(status, stop, taken_back):
            if taken_back:
                stop = await tool_call.undo_all(run, stop)
            run.state = halted(run.state, stop, status)
        case Failed(reason) as failed:
            await run.record("tier failed", f"{NAMES[tier]} ({agent}): {reason}")
            run.state = after_failure(run.state, tier, failed)
            if following(tiers_of(run.state), run.state.tier) >= len(NAMES):
                stop = exhausted(run.state)
                run.state = escalations.given_up(
                    run.state, stop, workflow.now(), escalations.TIERS
                )
    await run.record_end()


async def _look_first(run: RunContext, looks: tuple[gates.Look, ...]) -> None:
    """Have guardrails look first that look beside a model: what others do can't wait for them."""
    seen = len(run.state.items)
    verdicts = await guarding.look(run, looks)
    await guarding.tell(run, verdicts)
    watched = run.state.model_copy(update={"watched": seen})
    run.state = tripwires.after_turn(watched, verdicts, workflow.now())
    await run.record_end()


async def _tried(run: RunContext, tier: int) -> End:
    tiers, left = tiers_of(run.state), run.remaining()
    if isinstance(left, Stop):
        return Failed(left.reason, "not begun")
    number, goal = attempt_number(run.state), goal_of(run.state)
    if NAMES[tier] == "decomposed" and tiers.decomposed is not None:
        return await _decomposed(run, tiers.decomposed, number, left)
    part = f"{number}-{NAMES[tier]}"
    errand = ChildTask(part, agent_names(tiers, tier), goal, left, parts.known(run.state))
    return outcome(await run_child(run, errand))


async def _decomposed(run: RunContext, tier: Decomposition, number: int, left: Budget) -> End:
    """Have the subtasks done that aren't: all of a new plan, or those that failed before."""
    if not run.state.subtasks:
        asked = tiers.planning(goal_of(run.state), tier.most)
        errand = ChildTask(f"{number}-plan", tier.planner, asked, left, parts.known(run.state))
        match outcome(await run_child(run, errand)):
            case Failed(reason, progress):
                return Failed(f"no plan: {reason}", progress)
            case Ended() as ended:
                return ended
            case Candidate() as answer:
                planned = tiers.plan(answer, tier.most)
        if isinstance(planned, str):
            return Failed(f"no plan: {answers.quoted(run.state, planned)}")
        fresh = tuple(Subtask(task=task) for task in planned)
        run.state = run.state.model_copy(update={"subtasks": fresh})
    return await _subtasks(run, tier.worker, number)


async def _subtasks(run: RunContext, worker: str, number: int) -> End:
    subtasks, goal = run.state.subtasks, goal_of(run.state)
    waiting = [place for place, one in enumerate(subtasks) if one.answer is None]
    share = share_for(run.remaining(), len(waiting))
    if isinstance(share, Stop):
        return Failed(f"{len(waiting)} subtasks are planned, but {share.reason}")
    errands = [
        ChildTask(
            f"{number}-part-{place + 1}",
            worker,
            tiers.subtask(subtasks[place].task, goal),
            share,
            parts.known(run.state),
        )
        for place in waiting
    ]
    found = dict(zip(waiting, map(outcome, await run_children(run, errands)), strict=True))
    ends = [
        found[place] if one.answer is None else one.answer for place, one in enumerate(subtasks)
    ]
    kept = tiers.with_answers(subtasks, ends)
    run.state = run.state.model_copy(update={"subtasks": kept})
    return together(run.state, [one.task for one in subtasks], ends)
