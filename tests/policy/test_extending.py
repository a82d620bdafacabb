"""What counts as an extension of a run's limits."""

from datetime import timedelta
from decimal import Decimal

import pytest
from pydantic import JsonValue

from holdfast.contracts.approvals import Request, Verdict
from holdfast.contracts.budget import Budget, BudgetStatus, Ledger, Limits
from holdfast.contracts.usage import CallUsage
from holdfast.run.limits.budget_extension import extend, find_objection
from tests.builders import NOW, a_resolution, an_escalation
from tests.policy.hearings import judged

LIMITS = Limits(max_steps=10, max_tokens=1000, max_cost=Decimal(1), max_wall_time=60)
LEDGER = Ledger(
    steps=4,
    tool_calls=3,
    usage=CallUsage(input_tokens=900, estimated_cost=Decimal("0.5")),
)


def said(change: dict[str, JsonValue], ledger: Ledger = LEDGER, elapsed: float = 30) -> str | None:
    given = Budget.model_validate(change)
    return find_objection(given, LIMITS, None, ledger, elapsed)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"max_steps": 50}, id="higher"),
        pytest.param({"max_steps": 10}, id="as it is"),
        pytest.param({"max_tokens": None}, id="none any more"),
        pytest.param({"max_tokens": 2000, "max_cost": 5, "max_wall_time": 90.5}, id="several"),
    ],
)
def test_higher_limits_extend(change: dict[str, JsonValue]) -> None:
    """No limit goes down, and all leave something to use."""
    assert said(change) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"max_tokens": 500}, "max_tokens 500 is less than 1000", id="below what is used"
        ),
        pytest.param({"max_tokens": 999}, "max_tokens 999 is less than 1000", id="above it"),
        pytest.param({"max_cost": 0.75}, "max_cost 0.75 is less than 1", id="cost"),
        pytest.param({"max_wall_time": 40}, "max_wall_time 40 is less than 60", id="time"),
        pytest.param(
            {"max_tokens": 2000, "max_steps": 9}, "max_steps 9 is less than 10", id="one of two"
        ),
        pytest.param(
            {"loop_repeat_threshold": 1}, "loop_repeat_threshold 1 is less than 2", id="streak"
        ),
        pytest.param(
            {"max_tool_calls": 99},
            "max_tool_calls 99 would be a limit where there is none",
            id="new limit",
        ),
    ],
)
def test_lower_limits_do_not(change: dict[str, JsonValue], reason: str) -> None:
    """A limit that goes down is named with what it is now."""
    assert said(change) == f"{reason}: extend raises limits"


@pytest.mark.parametrize(
    ("change", "ledger", "reason"),
    [
        pytest.param(
            {"max_tokens": 1200},
            LEDGER.model_copy(update={"usage": CallUsage(input_tokens=1200)}),
            "max_tokens (1200) reached, 1200 tokens",
            id="its own",
        ),
        pytest.param(
            {"max_tokens": 2000},
            LEDGER.model_copy(update={"steps": 10}),
            "max_steps (10) reached, 10 model calls",
            id="another",
        ),
    ],
)
def test_what_leaves_nothing_does_not(
    change: dict[str, JsonValue], ledger: Ledger, reason: str
) -> None:
    """A run that would end at its next step isn't extended."""
    assert said(change, ledger) == f"the run would stop at once: {reason}"


def test_time_counts_too() -> None:
    """Work that took as long as the new limit leaves nothing."""
    assert said({"max_wall_time": 90}, elapsed=90) == (
        "the run would stop at once: max_wall_time (90 s) reached, 90 s of work"
    )


@pytest.mark.parametrize(("most", "extends"), [(3, False), (4, True)])
def test_calls_of_tools_must_be_left(most: int, *, extends: bool) -> None:
    """As many calls as were made already are no extension."""
    limits = Limits(max_tool_calls=2)
    given = Budget(max_tool_calls=most)
    found = find_objection(given, limits, None, LEDGER, 0)

    assert (found is None) == extends


CEILING = Budget(max_steps=20)


@pytest.mark.parametrize(("asked", "given"), [(15, 15), (20, 20), (50, 20)])
def test_no_limit_is_raised_above_the_ceiling(asked: int, given: int) -> None:
    """A run that works for another one gets what that one leaves it, whoever extends it."""
    raised = extend(LIMITS, Budget(max_steps=asked), CEILING)

    assert (raised.max_steps, raised.max_tokens) == (given, 1000)
    assert extend(LIMITS, Budget(max_steps=asked), None).max_steps == asked


def test_what_the_ceiling_leaves_is_what_counts() -> None:
    """Where that is used up, no higher limit has the run go on."""
    used = LEDGER.model_copy(update={"steps": 20})

    assert find_objection(Budget(max_steps=50), LIMITS, None, used, 0) is None
    assert find_objection(Budget(max_steps=50), LIMITS, CEILING, used, 0) == (
        "the run would stop at once: max_steps (20) reached, 20 model calls"
    )


def heard(seconds: float, request: Request | None) -> Verdict:
    """What becomes of somebody's limit on time, in a run that asks after 100 seconds of work."""
    means = BudgetStatus(
        limits=Limits(max_wall_time=60),
        ceiling=None,
        ledger=Ledger(),
        started_at=NOW - timedelta(seconds=100),
    )
    message = a_resolution("extend", budget={"max_wall_time": seconds})
    return judged(message, request, means=means)


@pytest.mark.parametrize(("seconds", "extends"), [(90, False), (100, False), (101, True)])
def test_what_was_worked_before_the_request_counts(seconds: float, *, extends: bool) -> None:
    """Until the run asked it worked; what is refused is refused for its request."""
    verdict = heard(seconds, an_escalation())

    assert (verdict.accepted, verdict.request_id) == (extends, "req-1")
    if not extends:
        assert verdict.code == "unreadable"
        assert verdict.reason.startswith("the run would stop at once: max_wall_time")


def test_what_was_refused_before_is_refused_for_that() -> None:
    """An extension of a request that isn't there says so, however little it extends."""
    verdict = heard(90, None)

    assert not verdict.accepted
    assert "max_wall_time" not in verdict.reason
