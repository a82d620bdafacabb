"""Which kinds of tasks ask for extended reasoning, and what that makes of an agent's settings."""

from typing import Literal

import pytest
from pydantic import JsonValue

from holdfast.adapters.anthropic.request import render
from holdfast.adapters.base import RenderedRequest
from holdfast.contracts.control import ReasoningRoute
from holdfast.contracts.model import Effort, ModelRequest, ModelSettings, Prefix
from holdfast.contracts.transcript import UserTurn
from holdfast.run.limits.reasoning import ROUTES, apply_route, route

Decision = Literal["on", "off", "agent"]


def decided(task_kind: str) -> ReasoningRoute:
    found = route(task_kind)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("task_kind", "decision"),
    [
        ("system_architecture", "on"),  # RS-01
        ("security_analysis", "on"),  # RS-02
        ("complex_debugging", "on"),  # RS-03
        ("api_design", "on"),  # RS-04
        ("performance_strategy", "on"),  # RS-05
        ("code_review", "off"),  # RS-06
        ("code_review:critical", "on"),  # RS-06
        ("code_review:complex", "on"),  # RS-06
        ("code_review:small", "off"),  # RS-06
        ("code_review:critical_system", "off"),  # RS-06
        ("code_review:multiple_approaches", "off"),  # RS-06
        ("refactoring_planning", "off"),  # RS-07
        ("refactoring_planning:multiple_approaches", "on"),  # RS-07
        ("integration_design", "off"),  # RS-08
        ("integration_design:cross_system", "on"),  # RS-08
        ("simple_bug_fix", "off"),  # RS-09
        ("documentation", "off"),  # RS-10
        ("unit_tests", "off"),  # RS-11
        ("formatting", "off"),  # RS-12
        ("file_operations", "off"),  # RS-13
        ("simple_bug_fix:critical", "off"),  # RS-09
        ("api_design:small", "on"),  # RS-04
    ],
)
def test_each_kind_of_task_has_its_row(task_kind: str, decision: Decision) -> None:
    """Some kinds always ask for reasoning, some never, some with the right qualifier only."""
    assert decided(task_kind).decision == decision


def test_every_row_is_tested() -> None:
    """The table has these thirteen kinds, and every name of a kind names only one."""
    names = [name for kind, row in ROUTES.items() for name in (kind, *row.also_called)]

    assert len(ROUTES) == 13
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("task_kind", "reason"),
    [
        ("System Architecture Design", "system_architecture: always"),
        ("security-vulnerability-analysis", "security_analysis: always"),
        ("  COMPLEX   debugging ", "complex_debugging: always"),
        ("API design decisions", "api_design: always"),
        ("performance optimization strategy", "performance_strategy: always"),
        ("Code-Review : Critical", "code_review: critical"),
        ("code_review:small,complex", "code_review: complex"),
        ("code_review:small:complex", "code_review: complex"),
        ("code review", "code_review: only if critical or complex"),
        ("Refactoring Planning:multiple approaches", "refactoring_planning: multiple_approaches"),
        ("integration design:", "integration_design: only if cross_system"),
        ("Integration design: cross-system", "integration_design: cross_system"),
        ("simple bug fixes", "simple_bug_fix: never"),
        ("documentation updates", "documentation: never"),
        ("unit test writing", "unit_tests: never"),
        ("formatting/linting", "formatting: never"),
        ("file operations", "file_operations: never"),
    ],
)
def test_a_kind_is_known_however_it_is_written(task_kind: str, reason: str) -> None:
    """Case, spaces and hyphens make no difference; history names the row, and the words given."""
    found = decided(task_kind)

    assert found.reason == reason
    assert found.task_kind == task_kind


@pytest.mark.parametrize("task_kind", ["poetry", "", ":critical", "system", "api_designs_"])
def test_a_kind_without_a_row_is_left_to_the_agent(task_kind: str) -> None:
    """Nothing is guessed from a word that is in no row; history says that it wasn't."""
    found = decided(task_kind)

    assert found.decision == "agent"
    assert found.reason == f"no row for {task_kind!r}: the agent's own settings hold"


def test_without_a_kind_there_is_no_route() -> None:
    """A run that names no kind of task has nothing to record."""
    assert route(None) is None


@pytest.mark.parametrize(
    ("decision", "own", "effort"),
    [
        ("on", None, "high"),
        ("on", "none", "high"),
        ("on", "minimal", "high"),
        ("on", "low", "high"),
        ("on", "medium", "medium"),
        ("on", "high", "high"),
        ("on", "xhigh", "xhigh"),
        ("on", "max", "max"),
        ("off", None, "none"),
        ("off", "none", "none"),
        ("off", "max", "none"),
        ("agent", None, None),
        ("agent", "low", "low"),
        ("agent", "max", "max"),
    ],
)
def test_a_route_raises_little_effort_or_takes_all(
    decision: Decision, own: Effort | None, effort: Effort | None
) -> None:
    """An agent that reasons enough keeps its effort; off is off, and otherwise nothing changes."""
    given = ReasoningRoute(task_kind="x", decision=decision, reason="y")

    assert apply_route(ModelSettings(reasoning=own), given).reasoning == effort


@pytest.mark.parametrize(
    ("task_kind", "tokens"), [("api_design", 4096), ("formatting", None), ("poetry", 4096)]
)
def test_tokens_to_reason_with_go_with_the_effort(task_kind: str, tokens: int | None) -> None:
    """Off leaves no tokens to reason with; nothing else of the settings ever differs."""
    own = ModelSettings(reasoning_tokens=4096, max_output_tokens=9, parallel_calls=False)

    settings = apply_route(own, route(task_kind))

    assert settings.reasoning_tokens == tokens
    rest = settings.model_copy(update={"reasoning": None, "reasoning_tokens": 4096})
    assert rest == own


def test_without_a_route_settings_stay() -> None:
    """A run without a kind of task asks as its agent does."""
    own = ModelSettings(reasoning="low")

    assert apply_route(own, None) == own


def asked(model: str, task_kind: str) -> RenderedRequest:
    """Return the request that a model of the chain gets, and what its adapter notes."""
    request = ModelRequest(
        run_id="r1",
        turn=1,
        attempt=1,
        model=model,
        prefix=Prefix(
            instructions="", tools=(), settings=apply_route(ModelSettings(), route(task_kind))
        ),
        transcript=(UserTurn(text="Go."),),
        provider_state={},
    )
    return render(request)


@pytest.mark.parametrize(
    ("model", "task_kind", "thinking", "noted"),
    [
        ("claude-opus-5-5", "api_design", {"type": "adaptive"}, ()),
        ("claude-haiku-5-5", "api_design", {"type": "adaptive"}, ()),
        (
            "claude-3-5-haiku-latest",
            "api_design",
            None,
            ("claude-3-5-haiku-latest can't be asked to think",),
        ),
        ("claude-opus-5-5", "formatting", {"type": "disabled"}, ()),
        ("claude-3-5-haiku-latest", "formatting", None, ()),
        (
            "claude-fable-5-2",
            "formatting",
            None,
            ("claude-fable-5-2 always thinks: it is asked for little",),
        ),
    ],
)
def test_a_route_holds_for_whatever_model_answers(
    model: str, task_kind: str, thinking: JsonValue, noted: tuple[str, ...]
) -> None:
    """A cheaper model of the chain is asked alike; one that can't do it answers, with a note."""
    request = asked(model, task_kind)  # T-35

    assert request.body.get("thinking") == thinking
    assert request.notes == noted
