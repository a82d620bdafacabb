"""A goal in parts: how a planner is asked for them, and how their answers become one. Pure."""

from collections.abc import Sequence
from typing import Annotated, TypeAlias

from pydantic import Field, StringConstraints, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.base import Contract
from holdfast.contracts.content import unfenced
from holdfast.contracts.control import Candidate, Subtask
from holdfast.run.summaries import objections

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


def answered(subtasks: Sequence[Subtask], ends: Sequence[object]) -> tuple[Subtask, ...]:
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
