"""Guardrails in which somebody else looks: a command, people, another agent."""

from typing import Literal, Unpack

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailSpec, Layer
from holdfast.contracts.patterns import Pattern
from holdfast.guardrails.builtin.making import BuiltinOptions, builtin
from holdfast.guardrails.definition import Guardrail, Terms, specified
from holdfast.tools.builtin.commands import LONGEST_RUN

Last = Literal["output", "post_action"]

_NOT_IN_NAMES = Pattern("[^a-z0-9]+")

JUDGED_WITHIN = 600.0
"""Seconds."""


@builtin
def tests_pass(
    command: tuple[str, ...] = ("pytest", "-q"),  # noqa: PT028 -- it is no test
    layer: Last = "post_action",  # noqa: PT028
    *,
    tools: tuple[str, ...] = (),  # noqa: PT028
    **wishes: Unpack[BuiltinOptions],
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
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """Trip unless the commands end well that the project's own words name (AGENTS.md)."""
    spec = _run(f"project_{commands}", layer, wishes)
    return Guardrail(spec.model_copy(update={"project_commands": commands}))


@builtin
def review_approval(
    groups: tuple[str, ...] = (),
    count: int = 1,
    strength: Literal["plain", "strong"] = "plain",
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """Trip unless *count* people approve the answer, members of any of *groups* if there are."""
    if count < 1:
        raise AppError("guardrail 'review_approval': count is 1 or more")
    review = Requirement(groups=tuple(groups), count=count, strength=strength)
    spec = _spec("review_approval", "post_action", wishes)
    return Guardrail(spec.model_copy(update={"review": review}))


@builtin
def judged_by(agent: str, layer: Layer = "output", **wishes: Unpack[BuiltinOptions]) -> Guardrail:
    """Have another agent of the app judge; its name is `judged_by_` and the agent's."""
    if not agent.strip():
        raise AppError("guardrail 'judged_by': name the agent that judges")
    name = f"judged_by_{_NOT_IN_NAMES.sub('_', agent.lower()).strip('_')}"[:64]
    spec = _spec(name, layer, wishes, timeout=JUDGED_WITHIN)
    return Guardrail(spec.model_copy(update={"agent": agent}))


def _run(
    name: str, layer: Layer, wishes: BuiltinOptions, tools: tuple[str, ...] = ()
) -> GuardrailSpec:
    spec = _spec(name, layer, wishes, tools=tools, timeout=LONGEST_RUN)
    if spec.timeout > LONGEST_RUN:
        raise AppError(f"guardrail {spec.name!r}: a command may run for {LONGEST_RUN:g} s at most")
    return spec


def _spec(
    name: str, layer: Layer, wishes: BuiltinOptions, **terms: Unpack[Terms]
) -> GuardrailSpec:
    return specified(wishes.get("name", name), layer, {**terms, **wishes})
