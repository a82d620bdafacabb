"""
Whether the kind of a task asks for extended reasoning.

Three wishes meet when a model fails in the middle of a hard task, and they have this order:

1. Availability. The chain of models (fallback.py) says who answers. No route keeps a run from
   going on with the next model, and none moves it to another one.
2. The route, decided once when the run begins. It holds for whatever model answers, because it is
   part of the settings that all models of the run are asked with.
3. What a model can do. One that can't reason answers without, and its adapter says so in a note,
   which history has once. One that can't be kept from it is asked for as little as it allows.

Reasoning that one model has written is never shown to another.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from holdfast.contracts.control import ReasoningRoute
from holdfast.contracts.model import Effort, ModelSettings

EXTENDED_EFFORT: Effort = "high"
"""What an agent is asked for that doesn't ask for extended reasoning itself."""


_EXTENDED_EFFORTS: frozenset[Effort | None] = frozenset({"medium", "high", "xhigh", "max"})


class RouteRow(NamedTuple):
    """A kind of task. Where it is `only_if`, one of these qualifiers asks for reasoning."""

    when: Literal["always", "never", "only_if"]
    also_called: tuple[str, ...] = ()
    qualifiers: tuple[str, ...] = ()


ROUTES: Mapping[str, RouteRow] = {
    "system_architecture": RouteRow(
        "always", ("system_architecture_design", "architecture_design")
    ),
    "security_analysis": RouteRow("always", ("security_vulnerability_analysis",)),
    "complex_debugging": RouteRow("always"),
    "api_design": RouteRow("always", ("api_design_decision", "api_design_decisions")),
    "performance_strategy": RouteRow(
        "always", ("performance_optimization_strategy", "performance_optimisation_strategy")
    ),
    "code_review": RouteRow("only_if", qualifiers=("critical", "complex")),
    "refactoring_planning": RouteRow("only_if", qualifiers=("multiple_approaches",)),
    "integration_design": RouteRow("only_if", qualifiers=("cross_system",)),
    "simple_bug_fix": RouteRow("never", ("simple_bug_fixes", "simple_bugfix")),
    "documentation": RouteRow("never", ("documentation_update", "documentation_updates")),
    "unit_tests": RouteRow("never", ("unit_test", "unit_test_writing")),
    "formatting": RouteRow("never", ("linting", "formatting_linting")),
    "file_operations": RouteRow("never", ("file_operation",)),
}
"""A qualifier stands behind the kind: `code_review:critical`."""


_NAMES = {name: kind for kind, row in ROUTES.items() for name in (kind, *row.also_called)}


def route(task_kind: str | None) -> ReasoningRoute | None:
    """Say what a kind of task asks for; one that nobody knows leaves it to the agent."""
    if task_kind is None:
        return None
    said, *qualifiers = map(_normalize_kind, task_kind.replace(",", ":").split(":"))
    kind = _NAMES.get(said)
    if kind is None:
        reason = f"no row for {task_kind!r}: the agent's own settings hold"
        return ReasoningRoute(task_kind=task_kind, decision="agent", reason=reason)
    row = ROUTES[kind]
    if row.when != "only_if":
        decision = "on" if row.when == "always" else "off"
        return ReasoningRoute(task_kind=task_kind, decision=decision, reason=f"{kind}: {row.when}")
    met = next((name for name in qualifiers if name in row.qualifiers), None)
    known = " or ".join(row.qualifiers)
    return ReasoningRoute(
        task_kind=task_kind,
        decision="on" if met else "off",
        reason=f"{kind}: {met}" if met else f"{kind}: only if {known}",
    )


def apply_route(settings: ModelSettings, route: ReasoningRoute | None) -> ModelSettings:
    """Return the settings that a run asks its models with; nothing but reasoning differs."""
    match route.decision if route else "agent":
        case "on":
            own = settings.reasoning
            effort = own if own in _EXTENDED_EFFORTS else EXTENDED_EFFORT
            return settings.with_(reasoning=effort)
        case "off":
            return settings.with_(reasoning="none", reasoning_tokens=None)
        case "agent":
            return settings


def _normalize_kind(name: str) -> str:
    """Return a name without case, and with one kind of space."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.casefold()).split())
