"""Guardrails in which somebody else looks: a command, people, another agent."""

import re
from typing import Literal, Unpack

from activities.guardrails.builtin.making import Wishes, builtin
from activities.guardrails.definition import Guardrail, Terms, specified
from contracts.approvals import Requirement
from contracts.errors import AppError
from contracts.guardrails import GuardrailSpec, Layer
from tools.builtin.commands import LONGEST_RUN

Last = Literal["output", "post_action"]

JUDGED_WITHIN = 600.0
"""Seconds."""


@builtin
def tests_pass(
    command: tuple[str, ...] = ("pytest", "-q"),  # noqa: PT028 -- it is no test
    layer: Last = "post_action",  # noqa: PT028
    *,
    tools: tuple[str, ...] = (),  # noqa: PT028
    **wishes: Unpack[Wishes],
) -> Guardrail:
    """
    Trip unless a command ends with exit code 0, in the sandbox and if the policy allows it.

    Its name is `test_validation`. With *tools* it runs after their calls, else after the answer.
    Its timeout is as long as `run_command` may take, and may be less.
    """
    if not command or not all(command):
        raise AppError("guardrail 'test_validation': give a command: ('pytest', '-q')")
    spec = _run("test_validation", layer, wishes, tools)
    return Guardrail(spec.model_copy(update={"command": tuple(command)}))


# A test module that imports it doesn't mean to run it.
tests_pass.__test__ = False  # pyright: ignore[reportFunctionMemberAccess] -- pytest's own mark


@builtin
def project_passes(
    commands: Literal["build", "test"] = "test",
    layer: Last = "post_action",
    **wishes: Unpack[Wishes],
) -> Guardrail:
    """Trip unless the commands end well that the project's own words name (AGENTS.md)."""
    spec = _run(f"project_{commands}", layer, wishes)
    return Guardrail(spec.model_copy(update={"project_commands": commands}))


@builtin
def review_approval(
    groups: tuple[str, ...] = (),
    count: int = 1,
    strength: Literal["plain", "strong"] = "plain",
    **wishes: Unpack[Wishes],
) -> Guardrail:
    """Trip unless *count* people approve the answer, members of any of *groups* if there are."""
    if count < 1:
        raise AppError("guardrail 'review_approval': count is 1 or more")
    review = Requirement(groups=tuple(groups), count=count, strength=strength)
    spec = _spec("review_approval", "post_action", wishes)
    return Guardrail(spec.model_copy(update={"review": review}))


@builtin
def judged_by(agent: str, layer: Layer = "output", **wishes: Unpack[Wishes]) -> Guardrail:
    """Have another agent of the app judge; its name is `judged_by_` and the agent's."""
    if not agent.strip():
        raise AppError("guardrail 'judged_by': name the agent that judges")
    name = f"judged_by_{re.sub('[^a-z0-9]+', '_', agent.lower()).strip('_')}"[:64]
    spec = _spec(name, layer, wishes, timeout=JUDGED_WITHIN)
    return Guardrail(spec.model_copy(update={"agent": agent}))


def _run(name: str, layer: Layer, wishes: Wishes, tools: tuple[str, ...] = ()) -> GuardrailSpec:
    spec = _spec(name, layer, wishes, tools=tools, timeout=LONGEST_RUN)
    if spec.timeout > LONGEST_RUN:
        raise AppError(f"guardrail {spec.name!r}: a command may run for {LONGEST_RUN:g} s at most")
    return spec


def _spec(name: str, layer: Layer, wishes: Wishes, **terms: Unpack[Terms]) -> GuardrailSpec:
    return specified(wishes.get("name", name), layer, {**terms, **wishes})
