"""Guardrails in which somebody else looks: a command, people, another agent."""

from typing import Literal, Unpack

from holdfast.contracts.approvals import Requirement
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailSpec, Layer
from holdfast.contracts.patterns import Pattern
from holdfast.guardrails.builtin.making import BuiltinOptions, builtin
from holdfast.guardrails.definition import Guardrail, GuardrailOptions, build_spec
from holdfast.tools.builtin.commands import MAX_RUN_SECONDS

AnswerLayer = Literal["output", "post_action"]

_NOT_IN_NAMES = Pattern("[^a-z0-9]+")

JUDGE_TIMEOUT_SECONDS = 600.0
"""Seconds."""


@builtin
def tests_pass(
    command: tuple[str, ...] = ("pytest", "-q"),  # noqa: PT028 -- it is no test
    layer: AnswerLayer = "post_action",  # noqa: PT028
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
    spec = _build_command_spec("test_validation", layer, wishes, tools)
    return Guardrail(spec.with_(command=tuple(command)))


# A test module that imports it doesn't mean to run it.
tests_pass.__test__ = False  # pyright: ignore[reportFunctionMemberAccess] -- pytest's own mark


@builtin
def tests_cover(
    command: tuple[str, ...] = ("pytest", "-q", "--cov"),  # noqa: PT028 -- it is no test
    report: tuple[str, ...] = (),  # noqa: PT028
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """
    Trip unless a command ends with exit code 0, and measure what share of the code it reached.

    Its name is `test_coverage`. The share stands in what the command prints, or in what *report*
    does, another command that runs after it: `("head", "-c", "2000", "coverage.xml")`.
    """
    if not command or not all((*command, *report)):
        raise AppError("guardrail 'test_coverage': give a command: ('pytest', '-q', '--cov')")
    spec = _build_command_spec("test_coverage", "post_action", wishes)
    return Guardrail(spec.with_(command=tuple(command), report=tuple(report)))


tests_cover.__test__ = False  # pyright: ignore[reportFunctionMemberAccess] -- pytest's own mark


@builtin
def project_passes(
    commands: Literal["build", "test"] = "test",
    layer: AnswerLayer = "post_action",
    **wishes: Unpack[BuiltinOptions],
) -> Guardrail:
    """Trip unless the commands end well that the project's own words name (AGENTS.md)."""
    spec = _build_command_spec(f"project_{commands}", layer, wishes)
    return Guardrail(spec.with_(project_commands=commands))


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
    if wishes.get("on_trip") == "warn":
        raise AppError("guardrail 'review_approval': whom people refuse isn't only warned")
    review = Requirement(groups=tuple(groups), count=count, strength=strength)
    spec = _build_spec("review_approval", "post_action", wishes)
    return Guardrail(spec.with_(review=review))


@builtin
def judged_by(agent: str, layer: Layer = "output", **wishes: Unpack[BuiltinOptions]) -> Guardrail:
    """Have another agent of the app judge; its name is `judged_by_` and the agent's."""
    if not agent.strip():
        raise AppError("guardrail 'judged_by': name the agent that judges")
    name = f"judged_by_{_NOT_IN_NAMES.sub('_', agent.lower()).strip('_')}"[:64]
    spec = _build_spec(name, layer, wishes, timeout=JUDGE_TIMEOUT_SECONDS)
    return Guardrail(spec.with_(agent=agent, spared=True))


def _build_command_spec(
    name: str, layer: Layer, wishes: BuiltinOptions, tools: tuple[str, ...] = ()
) -> GuardrailSpec:
    spec = _build_spec(name, layer, wishes, tools=tools, timeout=MAX_RUN_SECONDS)
    if spec.timeout > MAX_RUN_SECONDS:
        raise AppError(
            f"guardrail {spec.name!r}: a command may run for {MAX_RUN_SECONDS:g} s at most"
        )
    return spec


def _build_spec(
    name: str, layer: Layer, wishes: BuiltinOptions, **terms: Unpack[GuardrailOptions]
) -> GuardrailSpec:
    return build_spec(wishes.get("name", name), layer, {**terms, **wishes})
