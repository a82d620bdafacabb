"""Bounds of what comes from outside: what is accepted can be counted with, written and read."""

import json
import math
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from time import process_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, ValidationError

from holdfast.contracts import bounds
from holdfast.contracts.base import Contract, Inbound, JsonObject, canonical_json
from holdfast.contracts.budget import Budget, Ledger, Limits
from holdfast.contracts.control import Backtracking, Decomposition, Fallback, Tiers, Triggers
from holdfast.contracts.model import ModelSettings
from holdfast.contracts.run import RunInput
from holdfast.contracts.signals import (
    ResolutionSignal,
)
from holdfast.contracts.texts import cut_with_note
from holdfast.contracts.usage import CallUsage
from holdfast.run import turns
from holdfast.run.limits import budget_extension, budgets
from holdfast.run.summaries import describe_validation_error
from holdfast.workflows.views import ContextQuery, LateCallQuery, PageQuery
from tests.builders import IDS, NOW, a_state

MODELS: list[tuple[type[BaseModel], JsonObject]] = [
    (Budget, {}),
    (Fallback, {}),
    (Triggers, {}),
    (Backtracking, {}),
    (Decomposition, {"planner": "p", "worker": "w"}),
    (Tiers, {"full": "f"}),
    (ModelSettings, {}),
    (PageQuery, {}),
    (ContextQuery, {"digest": "x"}),
    (LateCallQuery, {"proof": "x", "now": "2026-11-20T09:00:00Z"}),
    (RunInput, {"agent": "it", "input": "go"}),
]
FIELDS = [
    pytest.param(model, valid, name, id=f"{model.__name__}.{name}")
    for model, valid in MODELS
    for name in model.model_fields
]

HUGE: list[JsonValue] = [
    *("1e20000000", "1e5000", "1e-5000", "1e-20000000", "9" * 1_000_000, f"0.{'1' * 1_000_000}"),
    *("NaN", "-Infinity", "1e308", "5e-324", "-0", "0x10", "1_000", "\u0661" * 50),
    *(10**400, 10**4_000, -(10**400), 2**63, 2**64, 1e308, 5e-324, -0.0, math.inf, math.nan),
    *(True, [], [10**400], {"a": 10**400}, {"a": math.nan}, {"a": {"b": -math.inf}}),
]
NUMBERS = st.from_regex(r"[-+]?[0-9]{0,60}(\.[0-9]{0,60})?([eE][-+]?[0-9]{1,9})?", fullmatch=True)


def inside(value: object) -> Iterator[object]:
    """Everything in a value, itself included."""
    yield value
    match value:
        case BaseModel():
            for name in type(value).model_fields:
                yield from inside(getattr(value, name))
        case dict():
            for each in value.values():  # pyright: ignore[reportUnknownVariableType] -- anything
                yield from inside(each)  # pyright: ignore[reportUnknownArgumentType] -- anything
        case list() | tuple():
            for each in value:  # pyright: ignore[reportUnknownVariableType] -- anything
                yield from inside(each)  # pyright: ignore[reportUnknownArgumentType] -- anything
        case _:
            pass


def use(given: BaseModel) -> None:
    """Do with a value whatever a run does."""
    written = given.model_dump_json()
    again = type(given).model_validate_json(written)
    assert again.model_dump_json() == written
    canonical_json(json.loads(written))
    for value in inside(given):
        match value:
            case int():
                assert len(str(value)) < 40
            case float():
                assert math.isfinite(value)
            case Decimal():
                assert math.isfinite(float(value))
                assert Fraction(value).denominator < 10**60
            case _:
                pass


def use_budget(budget: Budget) -> None:
    """Keep a run to a budget, share it, extend another by it."""
    use(budget)
    ledger = Ledger(usage=CallUsage(input_tokens=7, estimated_cost=Decimal("0.1")), steps=1)
    assert NOW + timedelta(seconds=budget.max_wall_time or 0)
    budgets.check_next_call(budget, ledger)
    budget_extension.find_objection(budget, Limits(), None, ledger, 1.5)
    budgets.cap_limits(Limits(), budget)
    left = budgets.remaining(budget, ledger, 1.5)
    if isinstance(left, Budget):
        budgets.split(left, 7)


@pytest.mark.parametrize(("model", "valid", "name"), FIELDS)
def test_no_number_is_too_large_to_be_used(
    model: type[BaseModel], valid: JsonObject, name: str
) -> None:
    """Each number is refused, at once and on one line, or it can be used."""
    began, refused = process_time(), list[str]()
    for number in HUGE:
        try:
            given = model.model_validate({**valid, name: number})
        except ValidationError as error:
            refused.append(describe_validation_error(error))
            continue
        use(given)
        if isinstance(given, Budget):
            use_budget(given)

    assert process_time() - began < 5
    assert all(len(told) <= 500 and "\n" not in told for told in refused)


@given(st.sampled_from(sorted(Limits.model_fields)), NUMBERS)
@example("max_cost", "1e-9")
@example("max_cost", "1e9")
@example("max_wall_time", "315360000")
def test_whatever_limit_is_accepted_can_be_kept(name: str, number: str) -> None:
    """Also one that is written as a text, with any number of digits."""
    try:
        budget = Budget.model_validate({name: number})
    except ValidationError:
        return
    use_budget(budget)


@pytest.mark.parametrize("number", HUGE[:12])
def test_an_extension_has_the_same_bounds(number: JsonValue) -> None:
    """A person can't raise a limit to what nobody can count with."""
    with pytest.raises(ValidationError, match=r"budget\.max_cost"):
        ResolutionSignal.model_validate(
            {"request_id": "req-1", "action": "extend", "budget": {"max_cost": number}}
        )


def nested(depth: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        pytest.param({"a": "x" * 50_000}, "50,000 is most", id="too large"),
        pytest.param({"a": "\u0001" * 10_000}, "50,000 is most", id="too large as JSON"),
        pytest.param({"a": "\u20ac" * 20_000}, "50,000 is most", id="too large in bytes"),
        pytest.param(nested(21), "20 deep", id="too deep"),
        pytest.param({"a": [[10**31]]}, "a number in it", id="too large a number"),
        pytest.param({"a": math.nan}, "a number in it", id="no number"),
    ],
)
def test_metadata_has_bounds(metadata: JsonObject, why: str) -> None:
    """It is part of the state of a run and of the input of all that it starts."""
    with pytest.raises(ValidationError, match=why):
        RunInput.model_validate({"agent": "it", "input": "go", "metadata": metadata})


@pytest.mark.parametrize("metadata", [nested(19), {"a": "x" * 49_000}, {"a": [1, 0.5, None, "b"]}])
def test_ordinary_metadata_is_kept(metadata: JsonObject) -> None:
    """Within its bounds it is what was given."""
    given = RunInput.model_validate({"agent": "it", "input": "go", "metadata": metadata})

    assert given.metadata == metadata


def test_a_goal_is_measured_in_bytes() -> None:
    """What is short in characters may be long in a payload."""
    RunInput.model_validate({"agent": "it", "input": "x" * 200_000})
    with pytest.raises(ValidationError, match="300,000 is most"):
        RunInput.model_validate({"agent": "it", "input": "\u0001" * 100_000})


@given(st.text(max_size=400), st.integers(60, 500))
@example("\u0001" * 400, 60)
def test_a_cut_text_fits_and_says_so(text: str, most: int) -> None:
    """Nothing is left out silently, and what is left has so many bytes at most."""
    told = cut_with_note(text, most)

    assert bounds.size(told) <= most
    assert told == text or told.endswith("characters left out)")


@given(st.lists(st.text(max_size=30)), st.integers(0, 200))
def test_the_latest_that_fit_are_kept(entries: list[str], most: int) -> None:
    """They are the end of all, and one more would be too many."""
    kept = bounds.select_latest(entries, most)

    assert list(kept) == entries[len(entries) - len(kept) :]
    assert sum(map(bounds.size, kept)) <= most
    if len(kept) < len(entries):
        assert sum(map(bounds.size, entries[-len(kept) - 1 :])) > most


def test_every_number_from_outside_has_bounds() -> None:
    """A further model of what strangers send has its row in this file, or no number."""
    seen = {model for model, _ in MODELS}
    numeric = {
        model
        for model in subclasses(Inbound)
        if model.__module__.startswith(("contracts.", "workflows."))
        and any(is_number(entry) for entry in fields_of(model))
    }

    assert numeric <= {*seen, ResolutionSignal}


def subclasses(model: type[Contract]) -> Iterator[type[Contract]]:
    for one in model.__subclasses__():
        yield one
        yield from subclasses(one)


def fields_of(model: type[Contract]) -> list[JsonObject]:
    schema: dict[str, dict[str, JsonObject]] = model.model_json_schema()
    return list(schema.get("properties", {}).values())


def is_number(entry: JsonObject) -> bool:
    written = json.dumps(entry)
    return '"integer"' in written or '"number"' in written


def test_a_run_begins_with_whatever_is_accepted() -> None:
    """The largest of everything that a start may bring fits into a payload."""
    given = RunInput.model_validate(
        {
            "agent": "a" * 100,
            "input": "\u20ac" * 99_000,
            "tenant": "\U0001f600"
            * ((bounds.MAX_SEARCH_ATTRIBUTE_BYTES - len('""')) // len("\\ud83d\\ude00")),
            "actor": "\u0001" * 200,
            "session_id": "\u0001" * 200,
            "metadata": {"a": "x" * 49_000},
            "budget": dict.fromkeys(Limits.model_fields, 9),
        }
    )

    state = turns.start_run(given, a_state().agent, NOW, **IDS)

    assert bounds.size(state) < bounds.MAX_STATE_BYTES
