"""Workflow tiers: the same goal for a full agent, a simpler one, then in parts, then a person."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from temporalio import workflow

from contracts.budget import Budget
from contracts.control import Approach, Candidate, Decomposition, Tiers
from contracts.run import RunResult, RunStatus, Stop
from contracts.state import RunState
from contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from policy import budgets, fallback
from workflows import answers, decomposition, escalations, gates, guarding, steps, tripwires
from workflows.children import AT_ONCE, Errand, run_child, run_children
from workflows.live import LiveRun
from workflows.summaries import shortened
from workflows.transcript import appended, halted

NAMES = ("full", "simplified", "decomposed")
"""The tiers by their number in the state of a run."""

LONGEST_FAILURE = 500
LONGEST_ANSWER = 20_000
"""Characters of an earlier answer in the goal of the next attempt."""


class Failed(NamedTuple):
    """Why a tier has no answer, and how far it came."""

    reason: str
    progress: str = ""


class Ended(NamedTuple):
    """A guardrail or a person ended what was begun: no other tier may try it."""

    status: RunStatus
    stop: Stop


End: TypeAlias = Candidate | Failed | Ended
"""What became of a tier, or of a subtask."""


async def run_tier(run: LiveRun) -> None:
    """
    Try the goal at the tier that the run has come to.

    Its answer is a candidate; its failure leads to the next tier, and after the last to a person,
    or to the end. What a guardrail or a person ended ends the run. A tier begins afresh each time:
    what its agents did stays done, and the transcript, which is their goal, tells them of answers
    that didn't pass.
    """
    run.state = steps.before_model(run.state)
    if gates.before_turn(run.state):
        return  # people said more, and guardrails look at that first
    if looks := gates.beside_turn(run.state):
        await _look_first(run, looks)
        return
    tier = following(_tiers(run.state), run.state.tier)
    agent = _who(_tiers(run.state), tier)
    match await _tried(run, tier):
        case _ if run.state.outcome is not None:
            return  # a person has ended the run meanwhile
        case Candidate() as candidate:
            run.state = answered(run.state, agent, candidate)
        case Ended(status, stop):
            run.state = halted(run.state, stop, status)
        case Failed(reason) as failed:
            await run.record("tier failed", f"{NAMES[tier]} ({agent}): {reason}")
            run.state = after_failure(run.state, tier, failed)
            if following(_tiers(run.state), run.state.tier) >= len(NAMES):
                stop = exhausted(run.state)
                run.state = escalations.given_up(
                    run.state, stop, workflow.now(), escalations.TIERS
                )
    await run.record_end()


def following(tiers: Tiers, tier: int) -> int:
    """Return the first configured tier from this one on; behind the last there is none."""
    configured = (True, tiers.simplified is not None, tiers.decomposed is not None)
    return next((at for at in range(tier, len(NAMES)) if configured[at]), len(NAMES))


def goal_of(state: RunState) -> str:
    """Return what the agents of a tier are to reach: the goal, and everything said since."""
    parts: list[str] = []
    for item in state.items:
        match item:
            case UserTurn(origin="goal"):
                parts.append(item.text)
            case UserTurn(origin="project") | ToolTurn():
                pass  # an agent that works in a project reads its files itself
            case UserTurn():
                parts.append(f"Said since ({item.origin}):\n{item.text}")
            case AssistantTurn():
                parts.append(f"An earlier answer:\n{item.text[:LONGEST_ANSWER]}")
    return "\n\n".join(parts)


def answered(state: RunState, agent: str, candidate: Candidate) -> RunState:
    """
    Keep the answer of a tier; it still has to pass what the agent of this run asks of one.

    Where somebody said more meanwhile, the tier begins again and knows both.
    """
    turn = AssistantTurn(model=f"agent:{agent}", text=candidate.text)
    return answers.proposed(appended(state, turn), candidate.text, candidate.output)


def after_failure(state: RunState, tier: int, failed: Failed) -> RunState:
    """Go on to the next tier, and keep what became of this one."""
    reason = shortened(failed.reason, LONGEST_FAILURE)
    approach = Approach(
        number=len(state.approaches) + 1,
        approach=f"{NAMES[tier]}: {_who(_tiers(state), tier)}",
        failure_reason=reason,
        partial_progress=failed.progress,
    )
    return state.model_copy(
        update={
            "approaches": (*state.approaches, approach),
            "tier": tier + 1,
            "tier_failure": reason,
        }
    )


def exhausted(state: RunState) -> Stop:
    """Say that no tier is left, with the error of the last and what became of each."""
    tiers = _tiers(state)
    tried = state.approaches[-sum(following(tiers, at) == at for at in range(len(NAMES))) :]
    return Stop(
        reason=fallback.workflows_failed(state.tier_failure),
        detail="; ".join(f"{one.approach}: {one.failure_reason}" for one in tried),
        next_safe_action="mend what the errors name, then start the run again",
    )


def outcome(result: RunResult | str) -> End:
    """
    Take the answer of an agent; whatever is no answer is a failure.

    But what a guardrail blocked or a person ended nobody else is asked to do.
    """
    if isinstance(result, str):
        return Failed(result)
    if result.status == "completed" and result.answer is not None:
        return Candidate(text=result.answer, output=result.output)
    stop, progress = result.stop, f"{result.steps} steps"
    if stop is None:
        return Failed(f"it {result.status} without an answer", progress)
    if result.status == "blocked" or stop.ended_by:
        return Ended(result.status, stop)
    return Failed(": ".join(filter(None, (stop.reason, stop.detail))), progress)


async def _look_first(run: LiveRun, looks: tuple[gates.Look, ...]) -> None:
    """Have guardrails look first that look beside a model: what others do can't wait for them."""
    seen = len(run.state.items)
    verdicts = await guarding.look(run, looks)
    await guarding.tell(run, verdicts)
    watched = run.state.model_copy(update={"watched": seen})
    run.state = tripwires.after_turn(watched, verdicts, workflow.now())
    await run.record_end()


async def _tried(run: LiveRun, tier: int) -> End:
    tiers, left = _tiers(run.state), run.remaining()
    if isinstance(left, Stop):
        return Failed(left.reason, "not begun")
    number, goal = _number(run.state), goal_of(run.state)
    if NAMES[tier] == "decomposed" and tiers.decomposed is not None:
        return await _decomposed(run, tiers.decomposed, number, left)
    part = f"{number}-{NAMES[tier]}"
    return outcome(await run_child(run, part, _who(tiers, tier), goal, left))


async def _decomposed(run: LiveRun, tier: Decomposition, number: int, left: Budget) -> End:
    goal = goal_of(run.state)
    asked = decomposition.planning(goal, tier.most)
    match outcome(await run_child(run, f"{number}-plan", tier.planner, asked, left)):
        case Failed(reason, progress):
            return Failed(f"no plan: {reason}", progress)
        case Ended() as ended:
            return ended
        case Candidate() as answer:
            parts = decomposition.plan(answer, tier.most)
    if isinstance(parts, str):
        return Failed(f"no plan: {parts}")
    share = _share(run.remaining(), len(parts))
    if isinstance(share, Stop):
        return Failed(f"{len(parts)} subtasks are planned, but {share.reason}")
    errands = [
        Errand(f"{number}-part-{place}", tier.worker, decomposition.subtask(part, goal), share)
        for place, part in enumerate(parts, start=1)
    ]
    return together(parts, [outcome(result) for result in await run_children(run, errands)])


def together(parts: Sequence[str], ends: Sequence[End]) -> End:
    """
    Combine the answers of all subtasks; one that failed fails them together, and is named.

    The first that a guardrail or a person ended is the end of all, whatever became of the others.
    """
    if ended := next((end for end in ends if isinstance(end, Ended)), None):
        return ended
    answers = [end for end in ends if isinstance(end, Candidate)]
    if len(answers) == len(parts):
        return decomposition.combined(parts, answers)
    failed = (
        f"subtask {place} ({shortened(part, 60)}): {end.reason}"
        for place, (part, end) in enumerate(zip(parts, ends, strict=True), start=1)
        if isinstance(end, Failed)
    )
    return Failed("; ".join(failed), f"{len(answers)} of {len(parts)} subtasks done")


def _share(left: Budget | Stop, parts: int) -> Budget | Stop:
    """
    Return what each subtask may use.

    More of them than work beside each other divide the time, too: if none takes longer than this,
    all are done when it is over, in whatever order they end (Graham, 1966).
    """
    share = left if isinstance(left, Stop) else budgets.shared(left, parts)
    if isinstance(share, Stop) or share.max_wall_time is None or parts <= AT_ONCE:
        return share
    rounds = 1 + (parts - 1) / AT_ONCE
    return share.model_copy(update={"max_wall_time": share.max_wall_time / rounds})


def _tiers(state: RunState) -> Tiers:
    if state.agent.tiers is None:
        raise AssertionError("a run without tiers tries none")
    return state.agent.tiers


def _who(tiers: Tiers, tier: int) -> str:
    """Return the agents of a tier, by name."""
    parts = tiers.decomposed
    several = f"{parts.planner}, {parts.worker}" if parts is not None else ""
    return (tiers.full, tiers.simplified or "", several)[tier]


def _number(state: RunState) -> int:
    """Count the attempts of the run, this one included: it names the runs of its agents."""
    answers = sum(isinstance(item, AssistantTurn) for item in state.items)
    return len(state.approaches) + answers + 1
