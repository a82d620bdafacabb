"""Which tier a run tries its goal at, its subtasks, and what the attempts come to. Pure."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, TypeAlias

from pydantic import Field, StringConstraints, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.base import Contract
from holdfast.contracts.bounds import MAX_EARLIER_ANSWER_CHARS, MAX_TIER_FAILURE_CHARS
from holdfast.contracts.budget import Budget
from holdfast.contracts.control import Approach, Candidate, Subtask, Tiers
from holdfast.contracts.journal import ApproachFailed
from holdfast.contracts.run import RunResult, RunStatus
from holdfast.contracts.state.run import RunState
from holdfast.contracts.stops import Stop, StopReason
from holdfast.contracts.texts import shorten
from holdfast.contracts.transcript import AssistantTurn, ToolTurn, UserTurn, strip_fence
from holdfast.run import answers, context, parts
from holdfast.run.delegation.subagents import MAX_PARALLEL_CHILDREN
from holdfast.run.disagreements import NotBegun
from holdfast.run.limits import budgets
from holdfast.run.summaries import describe_validation_error
from holdfast.run.texts.figures import pluralize
from holdfast.run.transcript import append_items

TIER_NAMES = ("full", "simplified", "decomposed")
"""The tiers by their number in the state of a run."""

MAX_TOLD_BYTES = 160_000
"""What of a session its agents are told; a goal takes more, with the prompts around it."""


class TierFailure(NamedTuple):
    """Why a tier has no answer, how far it came, and what a log may say of why."""

    reason: str
    progress: str = ""
    logged: str | None = None


class TierStop(NamedTuple):
    """
    A guardrail or a person ended what was begun: no other tier may try it.

    A part that took back what it did has the whole `taken_back`.
    """

    status: RunStatus
    stop: Stop
    taken_back: bool = False


TierOutcome: TypeAlias = Candidate | TierFailure | TierStop
"""What became of a tier, or of a subtask."""


def find_next_tier(tiers: Tiers, tier: int) -> int:
    """Return the first configured tier from this one on; behind the last there is none."""
    configured = (True, tiers.simplified is not None, tiers.decomposed is not None)
    return next((at for at in range(tier, len(TIER_NAMES)) if configured[at]), len(TIER_NAMES))


def is_too_large(goal: str) -> bool:
    """Whether no run can begin with this goal."""
    return bounds.size(goal) > bounds.MAX_GOAL_BYTES or len(goal) > bounds.MAX_GOAL_CHARS


def render_goal(state: RunState, *, whole: bool = False) -> str:
    """
    Return what the agents of a tier are to reach, everything said since, and what was done.

    In a session what was said before the latest message stands there as far as there is room, or
    *whole*.
    """
    before: list[str] = []
    said: list[str] = []
    for item in context.leave_hidden(state.conversation.items, state.conversation.hidden):
        match item:
            case UserTurn(origin="goal" | "message"):
                before += said
                said = [item.text]
            case UserTurn(origin="project") | ToolTurn():
                pass  # an agent that works in a project reads its files itself
            case UserTurn():
                said.append(f"Said since ({item.origin}):\n{item.text}")
            case AssistantTurn():
                said.append(f"An earlier answer:\n{item.text[:MAX_EARLIER_ANSWER_CHARS]}")
    told = "\n\n".join(filter(None, (*said, parts.describe_effects(state))))
    if whole:
        return "\n\n".join((*before, told))
    latest = bounds.select_latest(before, max(MAX_TOLD_BYTES - bounds.size(told), 0))
    left_out = ("(What was said earlier is left out.)",) if len(latest) < len(before) else ()
    return "\n\n".join((*left_out, *latest, told))


def after_answer(state: RunState, agent: str, candidate: Candidate) -> RunState:
    """
    Keep the answer of a tier; it still has to pass what the agent of this run asks of one.

    Where somebody said more meanwhile, the tier begins again and knows both.
    """
    turn = AssistantTurn(model=f"agent:{agent}", text=candidate.text)
    state = append_items(state, turn).with_parts(subtasks=())
    return answers.propose(state, candidate.text, candidate.output)


def after_failure(state: RunState, tier: int, failed: TierFailure) -> RunState:
    """Go on to the next tier, and keep what became of this one."""
    reason = shorten(failed.reason, MAX_TIER_FAILURE_CHARS)
    approach = Approach(
        number=len(state.approaches.failed) + 1,
        approach=f"{TIER_NAMES[tier]}: {agent_names(require_tiers(state), tier)}",
        failure_reason=reason,
        partial_progress=failed.progress,
    )
    return (
        state.with_(journal=(*state.journal, ApproachFailed(approach=approach)))
        .with_approaches(failed=(*state.approaches.failed, approach))
        .with_parts(tier=tier + 1, tier_failure=reason)
    )


def build_exhausted_stop(state: RunState) -> Stop:
    """Say that no tier is left, with the error of the last and what became of each."""
    tiers = require_tiers(state)
    tried = state.approaches.failed[
        -sum(find_next_tier(tiers, at) == at for at in range(len(TIER_NAMES))) :
    ]
    return Stop.because(
        StopReason.TIERS_FAILED,
        "; ".join(f"{one.approach}: {one.failure_reason}" for one in tried),
        error=state.parts.tier_failure,
    )


def classify_result(result: RunResult | str | NotBegun) -> TierOutcome:
    """
    Take the answer of an agent; whatever is no answer is a failure.

    But what a guardrail blocked or a person ended nobody else is asked to do.
    """
    if isinstance(result, str):
        return TierFailure(result)
    if isinstance(result, NotBegun):
        return TierFailure(result.reason)
    if result.status == "completed" and result.answer is not None:
        return Candidate(text=result.answer, output=result.output)
    stop, progress = result.stop, _describe_progress(result)
    if stop is None:
        return TierFailure(f"it {result.status} without an answer", progress)
    if result.status == "blocked" or stop.ended_by:
        taken_back = result.status == "blocked" and result.compensation is not None
        return TierStop(result.status, stop, taken_back)
    told = ": ".join(filter(None, (stop.reason, stop.detail)))
    return TierFailure(told, progress, None if stop.quotes else stop.reason)


def _describe_progress(result: RunResult) -> str:
    did = "; ".join(effect.summary for effect in (*result.effects, *result.unresolved))
    return shorten(
        f"{pluralize(result.steps, 'step')}{f'; it did {did}' if did else ''}",
        MAX_TIER_FAILURE_CHARS,
    )


def combine_subtasks(
    state: RunState, tasks: Sequence[str], ends: Sequence[TierOutcome]
) -> TierOutcome:
    """
    Combine the answers of all subtasks; one that failed fails them together, and is named.

    The first that a guardrail or a person ended is the end of all, whatever became of the others.
    """
    if ended := next((end for end in ends if isinstance(end, TierStop)), None):
        return ended
    candidates = [end for end in ends if isinstance(end, Candidate)]
    if len(candidates) == len(tasks):
        return _check_answer_size(combine(tasks, candidates))
    failed = (
        f"subtask {place} ({answers.redact(state, shorten(task, 60))}): {end.reason}"
        for place, (task, end) in enumerate(zip(tasks, ends, strict=True), start=1)
        if isinstance(end, TierFailure)
    )
    return TierFailure("; ".join(failed), f"{len(candidates)} of {len(tasks)} subtasks done")


def _check_answer_size(answer: Candidate) -> Candidate | TierFailure:
    """Return an answer as it is; it failed where no result can hold it."""
    if (written := bounds.size(answer)) <= bounds.MAX_ANSWERS_BYTES:
        return answer
    reason = (
        f"the answers have {written:,} bytes together, and {bounds.MAX_ANSWERS_BYTES:,} is most"
    )
    return TierFailure(reason, "all subtasks done")


def split_budget(left: Budget | Stop, count: int) -> Budget | Stop:
    """
    Return what each subtask may use.

    More of them than work beside each other divide the time, too: if none takes longer than this,
    all are done when it is over, in whatever order they end (Graham, 1966).
    """
    share = left if isinstance(left, Stop) else budgets.split(left, count)
    if isinstance(share, Stop) or share.max_wall_time is None or count <= MAX_PARALLEL_CHILDREN:
        return share
    rounds = 1 + (count - 1) / MAX_PARALLEL_CHILDREN
    return share.with_(max_wall_time=share.max_wall_time / rounds)


def require_tiers(state: RunState) -> Tiers:
    """Return the tiers of a run that has some."""
    if state.agent.tiers is None:
        raise AssertionError("a run without tiers tries none")
    return state.agent.tiers


def agent_names(tiers: Tiers, tier: int) -> str:
    """Return the agents of a tier, by name."""
    split = tiers.decomposed
    several = f"{split.planner}, {split.worker}" if split is not None else ""
    return (tiers.full, tiers.simplified or "", several)[tier]


def attempted(state: RunState) -> RunState:
    """Count one attempt more; its number names the runs of its agents, each once."""
    return state.with_parts(tier_attempts=state.parts.tier_attempts + 1)


_Subtask: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)
]


class Plan(Contract):
    """What a planner answers: the parts of a goal, in their order."""

    subtasks: tuple[_Subtask, ...] = Field(min_length=1)


def render_plan_prompt(goal: str, most: int) -> str:
    """Ask for a plan."""
    return (
        f"Split the task below into subtasks, {most} at most. Each is done by somebody who does "
        "nothing else; several are done at the same time, so none may need what another finds "
        'out. Answer with nothing but JSON: {"subtasks": ["...", "..."]}\n\n'
        f"The task:\n{goal}"
    )


def parse_plan(answer: Candidate, most: int) -> tuple[str, ...] | str:
    """Read the subtasks out of a planner's answer, or say on one line why they can't be used."""
    try:
        if answer.output is not None:
            read = Plan.model_validate(answer.output)
        else:
            read = Plan.model_validate_json(strip_fence(answer.text))
    except ValidationError as error:
        return f"it is no plan: {describe_validation_error(error)}"
    if len(read.subtasks) > most:
        return f"it has {len(read.subtasks)} subtasks, and may have {most}"
    return read.subtasks


def render_subtask_prompt(part: str, goal: str) -> str:
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
    return every if sum(map(bounds.size, every)) <= bounds.MAX_PLAN_BYTES else ()


def combine(parts: Sequence[str], answers: Sequence[Candidate]) -> Candidate:
    """Put the answers of all parts together, in the order of the plan."""
    texts = (
        f"{number}. {part}\n\n{answer.text}"
        for number, (part, answer) in enumerate(zip(parts, answers, strict=True), start=1)
    )
    outputs = [answer.output for answer in answers]
    has_data = any(output is not None for output in outputs)
    return Candidate(text="\n\n".join(texts), output=outputs if has_data else None)
