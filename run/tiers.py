"""Which tier a run tries its goal at, its subtasks, and what the attempts come to. Pure."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field, StringConstraints, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.base import Contract
from holdfast.contracts.budget import Budget
from holdfast.contracts.content import unfenced
from holdfast.contracts.control import Approach, Candidate, Subtask, Tiers
from holdfast.contracts.run import RunResult, RunStatus, Stop
from holdfast.contracts.state import RunState
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn
from holdfast.run import answers, parts
from holdfast.run.limits import budgets, fallback
from holdfast.run.parts import AT_ONCE
from holdfast.run.summaries import objections, shortened
from holdfast.run.transcript import appended

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
    """
    A guardrail or a person ended what was begun: no other tier may try it.

    A part that took back what it did has the whole `taken_back`.
    """

    status: RunStatus
    stop: Stop
    taken_back: bool = False


End: TypeAlias = Candidate | Failed | Ended
"""What became of a tier, or of a subtask."""


def following(tiers: Tiers, tier: int) -> int:
    """Return the first configured tier from this one on; behind the last there is none."""
    configured = (True, tiers.simplified is not None, tiers.decomposed is not None)
    return next((at for at in range(tier, len(NAMES)) if configured[at]), len(NAMES))


def goal_of(state: RunState) -> str:
    """Return what the agents of a tier are to reach, everything said since, and what was done."""
    said: list[str] = []
    for item in state.items:
        match item:
            case UserTurn(origin="goal"):
                said.append(item.text)
            case UserTurn(origin="project") | ToolTurn():
                pass  # an agent that works in a project reads its files itself
            case UserTurn():
                said.append(f"Said since ({item.origin}):\n{item.text}")
            case AssistantTurn():
                said.append(f"An earlier answer:\n{item.text[:LONGEST_ANSWER]}")
    return "\n\n".join(filter(None, (*said, parts.told(state))))


def answered(state: RunState, agent: str, candidate: Candidate) -> RunState:
    """
    Keep the answer of a tier; it still has to pass what the agent of this run asks of one.

    Where somebody said more meanwhile, the tier begins again and knows both.
    """
    turn = AssistantTurn(model=f"agent:{agent}", text=candidate.text)
    state = appended(state, turn).model_copy(update={"subtasks": ()})
    return answers.proposed(state, candidate.text, candidate.output)


def after_failure(state: RunState, tier: int, failed: Failed) -> RunState:
    """Go on to the next tier, and keep what became of this one."""
    reason = shortened(failed.reason, LONGEST_FAILURE)
    approach = Approach(
        number=len(state.approaches) + 1,
        approach=f"{NAMES[tier]}: {agent_names(tiers_of(state), tier)}",
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
    tiers = tiers_of(state)
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
    stop, progress = result.stop, _progress(result)
    if stop is None:
        return Failed(f"it {result.status} without an answer", progress)
    if result.status == "blocked" or stop.ended_by:
        taken_back = result.status == "blocked" and result.compensation is not None
        return Ended(result.status, stop, taken_back)
    return Failed(": ".join(filter(None, (stop.reason, stop.detail))), progress)


def _progress(result: RunResult) -> str:
    did = "; ".join(effect.summary for effect in (*result.effects, *result.unresolved))
    return shortened(f"{result.steps} steps{f'; it did {did}' if did else ''}", LONGEST_FAILURE)


def together(state: RunState, tasks: Sequence[str], ends: Sequence[End]) -> End:
    """
    Combine the answers of all subtasks; one that failed fails them together, and is named.

    The first that a guardrail or a person ended is the end of all, whatever became of the others.
    """
    if ended := next((end for end in ends if isinstance(end, Ended)), None):
        return ended
    candidates = [end for end in ends if isinstance(end, Candidate)]
    if len(candidates) == len(tasks):
        return _fitting(combined(tasks, candidates))
    failed = (
        f"subtask {place} ({answers.quoted(state, shortened(task, 60))}): {end.reason}"
        for place, (task, end) in enumerate(zip(tasks, ends, strict=True), start=1)
        if isinstance(end, Failed)
    )
    return Failed("; ".join(failed), f"{len(candidates)} of {len(tasks)} subtasks done")


def _fitting(answer: Candidate) -> Candidate | Failed:
    """Return an answer as it is; it failed where no result can hold it."""
    if (written := bounds.size(answer)) <= bounds.ANSWERS:
        return answer
    reason = f"the answers have {written:,} bytes together, and {bounds.ANSWERS:,} is most"
    return Failed(reason, "all subtasks done")


def share_for(left: Budget | Stop, errands: int) -> Budget | Stop:
    """
    Return what each subtask may use.

    More of them than work beside each other divide the time, too: if none takes longer than this,
    all are done when it is over, in whatever order they end (Graham, 1966).
    """
    share = left if isinstance(left, Stop) else budgets.shared(left, errands)
    if isinstance(share, Stop) or share.max_wall_time is None or errands <= AT_ONCE:
        return share
    rounds = 1 + (errands - 1) / AT_ONCE
    return share.model_copy(update={"max_wall_time": share.max_wall_time / rounds})


def tiers_of(state: RunState) -> Tiers:
    """Return the tiers of a run that has some."""
    if state.agent.tiers is None:
        raise AssertionError("a run without tiers tries none")
    return state.agent.tiers


def agent_names(tiers: Tiers, tier: int) -> str:
    """Return the agents of a tier, by name."""
    split = tiers.decomposed
    several = f"{split.planner}, {split.worker}" if split is not None else ""
    return (tiers.full, tiers.simplified or "", several)[tier]


def attempt_number(state: RunState) -> int:
    """Count the attempts of the run, this one included: it names the runs of its agents."""
    answers = sum(isinstance(item, AssistantTurn) for item in state.items)
    return len(state.approaches) + answers + 1


_Subtask: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)
]


class Plan(Contract):
    """What a planner answers: the parts of a goal, in their order."""

    subtasks: tuple[_Subtask, ...] = Field(min_length=1)


def planning(goal: str, most: int) -> str:
    """Ask for a plan."""
    return (
        f"Split the task below into subtasks, {most} at most. Each is done by somebody who does "
        "nothing else; several are done at the same time, so none may need what another finds "
        'out. Answer with nothing but JSON: {"subtasks": ["...", "..."]}\n\n'
        f"The task:\n{goal}"
    )


def plan(answer: Candidate, most: int) -> tuple[str, ...] | str:
    """Read the subtasks out of a planner's answer, or say on one line why they can't be used."""
    try:
        if answer.output is not None:
            read = Plan.model_validate(answer.output)
        else:
            read = Plan.model_validate_json(unfenced(answer.text))
    except ValidationError as error:
        return f"it is no plan: {objections(error)}"
    if len(read.subtasks) > most:
        return f"it has {len(read.subtasks)} subtasks, and may have {most}"
    return read.subtasks


def subtask(part: str, goal: str) -> str:
    """Ask for one part of a goal."""
    return (
        f"Do this part of a task, and nothing else of it:\n{part}\n\n"
        f"The whole task, of which others do the rest:\n{goal}"
    )


def with_answers(subtasks: Sequence[Subtask], ends: Sequence[object]) -> tuple[Subtask, ...]:
    """Keep the answers that there are, so that only what failed is done again."""
    every = tuple(
        Subtask(task=one.task, answer=end if isinstance(end, Candidate) else None)
        for one, end in zip(subtasks, ends, strict=True)
    )
    return every if sum(map(bounds.size, every)) <= bounds.PLAN else ()


def combined(parts: Sequence[str], answers: Sequence[Candidate]) -> Candidate:
    """Put the answers of all parts together, in the order of the plan."""
    texts = (
        f"{number}. {part}\n\n{answer.text}"
        for number, (part, answer) in enumerate(zip(parts, answers, strict=True), start=1)
    )
    outputs = [answer.output for answer in answers]
    has_data = any(output is not None for output in outputs)
    return Candidate(text="\n\n".join(texts), output=outputs if has_data else None)
