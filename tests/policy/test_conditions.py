"""Conditions are checked when a policy is loaded, and see exactly what a tool sees."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.policy.conditions import (
    MAX_EXPRESSION_CHARS,
    TEXT_VARIABLES,
    Condition,
    ConditionError,
    Undetermined,
    Variables,
    bind,
    compile_condition,
)

TEXTS_OF_A_CALL = dict.fromkeys(TEXT_VARIABLES, "x")


def bound(args: Mapping[str, object]) -> Variables | Undetermined:
    return bind(args, {}, **TEXTS_OF_A_CALL)


def answer(expression: str, **args: object) -> bool | Undetermined:
    condition = compile_condition(expression)
    assert isinstance(condition, Condition), condition
    return condition.evaluate(bound(args))


@pytest.mark.parametrize(
    ("expression", "objections"),
    [
        ("amout <= 2", ["undeclared reference to 'amout' (column 1)"]),
        ("true && foo && bar", ["foo' (column 9)", "bar' (column 16)"]),
        ("true\n  && foo", ["undeclared reference to 'foo' (line 2, column 6)"]),
        ("args.amount <=", ["it ends too early (column 15)"]),
        ("tool == 1", ["no matching overload for '_==_' applied to '(string, int)' (column 6)"]),
        ("'a", ["token recognition error at: ''a' (column 1)", "it ends too early (column 3)"]),
        ("1 + 1", ["it must be true or false"]),
        ("args.flag", ["say args.name == true"]),
        ("", ["it ends too early (column 1)"]),
        ("now() > 1", ["undeclared reference to 'now'"]),
        ("(" * 40 + "true" + ")" * 40, ["recursion limit"]),
        (" " * (MAX_EXPRESSION_CHARS + 1), ["4,001 characters, and 4,000 is most"]),
    ],
)
def test_a_flaw_is_told_with_its_place(expression: str, objections: list[str]) -> None:
    """An expression that can't be, or is neither true nor false, is refused with the column."""
    found = compile_condition(expression)

    assert not isinstance(found, Condition)
    assert len(found) == len(objections)
    for misfit, words in zip(found, objections, strict=True):
        assert words in str(misfit)


@pytest.mark.parametrize(
    ("expression", "args"),
    [
        ("args.text == 'good'", {"text": "good\0evil"}),
        ("args.text != 'bad'", {"text": "bad\0"}),
        ("args.list[0] == 'good'", {"list": ["good\0evil"]}),
        ("args.map.x == 1", {"map": {"x\0y": 1, "x": 1}}),
        ("'x' in args", {"x\0y": 1}),
        ("args.text.startsWith('a')", {"text": "a\ud800"}),
        ("args.number < 5", {"number": -(2**63) - 1}),
        ("args.number > 5", {"number": 2**64}),
        ("args.small == 1", {"number": 2**64, "small": 1}),
        ("!(args.number > 5.0)", {"number": float("nan")}),
        ("args.number > 5.0", {"number": float("inf")}),
        ("args.number <= 20.0", {"number": Decimal("20.00000000000000000001")}),
        ("args.number > 5.0", {"number": Decimal("1e400")}),
        ("args.number > 5.0", {"number": Decimal("sNaN")}),
        ("args.when != 'x'", {"when": datetime(2026, 1, 1, tzinfo=UTC)}),
        ("size(args.keys) == 1", {"keys": {1: 2}}),
        ("args.deep != 1", {"deep": json.loads("[" * 99 + "]" * 99)}),
        ("args.missing == 1", {}),
        ("args.text < 5", {"text": "4"}),
        ("args.number / 0 == 1", {"number": 1}),
        ("args.list[5] == 1", {"list": [1]}),
        ("args.text.matches('(')", {"text": "a"}),
        ("args.n.all(x, args.n.all(y, args.n.all(z, x+y+z >= 0)))", {"n": list(range(200))}),
    ],
    ids=str,
)
def test_what_would_be_another_value_is_doubt(expression: str, args: dict[str, object]) -> None:
    """A value that CEL would cut, round or can't hold is never compared: nobody can say."""
    assert isinstance(answer(expression, **args), Undetermined)


@pytest.mark.parametrize(
    ("expression", "args"),
    [
        ("args.number == 9007199254740993", {"number": 2**53 + 1}),
        ("args.number == 18446744073709551615u", {"number": 2**64 - 1}),
        ("args.number == -9223372036854775807 - 1", {"number": -(2**63)}),
        ("args.number <= 0.1", {"number": Decimal("0.1")}),
        ("args.number == 29", {"number": Decimal("29.00")}),
        ("args.text == '😀é'", {"text": "😀é"}),
        ("args.yes == true && args.no == null", {"yes": True, "no": None}),
        ("args.yes != 1", {"yes": True}),
        ("args.items.exists(item, item.price > 9)", {"items": [{"price": 1}, {"price": 10}]}),
        ("args.missing == 1 || args.here == 1", {"here": 1}),
        ("has(args.a.b) && !has(args.a.c)", {"a": {"b": 1}}),
        ("args['odd name'] == 1", {"odd name": 1}),
    ],
)
def test_values_are_what_they_are(expression: str, args: dict[str, object]) -> None:
    """Numbers, texts, lists and objects are compared as the tool would compare them."""
    assert answer(expression, **args) is True


@pytest.mark.parametrize("name", TEXT_VARIABLES)
def test_a_name_that_would_be_cut_is_doubt(name: str) -> None:
    """A tenant named like another, up to a NUL, is not that other tenant."""
    condition = compile_condition(f"{name} == 'acme'")
    assert isinstance(condition, Condition)

    variables = bind({}, {}, **{**TEXTS_OF_A_CALL, name: "acme\0evil"})

    assert isinstance(condition.evaluate(variables), Undetermined)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text()
    | st.characters(categories=["Cs"])
    | st.datetimes()
    | st.binary()
    | st.sampled_from([2**63, 2**64, -(2**63) - 1, "a\0b"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)
POOL = [
    compile_condition(expression)
    for expression in (
        "args.a > 1",
        "args.a == 'x'",
        "args.a.b.c",
        "size(args) > 1 && args.a.all(x, x > 2)",
        "args.a.startsWith('x') || args.a[0] == args.b",
        "has(args.a)",
        "args.a == args.b",
        "args.a.matches(args.b)",
    )
]


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), ANYTHING))
def test_conditions_are_total(args: dict[str, object]) -> None:
    """Whatever the arguments are, a condition is true, false or in doubt: nothing is raised."""
    variables = bound(args)

    for condition in POOL:
        if isinstance(condition, Condition):
            assert isinstance(condition.evaluate(variables), bool | Undetermined)


LONG: dict[str, object] = {"a": [1] * 3_000, "b": [2] * 3_000, "s": "a" * 20_000, "t": ["x"] * 900}


@pytest.mark.parametrize(
    "expression",
    [
        "args.a.all(x, !(x in args.b))",
        "args.a.all(x, size(args.a + args.b) > 1)",
        "!args.a.map(x, args.a).exists(y, y == args.b)",
        "args.t.all(x, !args.s.contains(x))",
        "args.t . all (x, !args.s.matches('b$'))",
        "'''it's'''.size() > 0 && args.t.all(x, !args.s.contains(x)) // it's\n && args.a != []",
        "!args.s.matches('((.{1,30}){1,30}){1,30}b')",
        " && ".join([f"!args.s.contains('{number:03}')" for number in range(110)])
        + " && args.t.all(x, x == 'x')",
    ],
)
def test_what_would_take_long_is_doubt(expression: str) -> None:
    """Nothing could stop the library once it has begun, so how large things are counts before."""
    verdict = answer(expression, **LONG)

    assert isinstance(verdict, Undetermined)
    assert "it would take too long with arguments of this size (" in verdict.reason


@pytest.mark.parametrize(
    ("expression", "args"),
    [
        ("args.a.all(x, x in args.b)", {"a": ["user-1234"] * 300, "b": ["user-1234"] * 300}),
        ("args.a.all(x, x.endsWith('@example.com'))", {"a": ["somebody@example.com"] * 400}),
        ("args.a.all(x, args.b.exists(y, y == x))", {"a": [1] * 80, "b": [1] * 80}),
        (
            "args.path.startsWith('out/') && args.text != ''",
            {"path": "out/a", "text": "a" * 10**6},
        ),
        ("args.text.matches('^[a-z]{1,9}')", {"text": "a" * 500_000}),
        ("size(args.a) < 100000", {"a": [1] * 90_000}),
    ],
)
def test_ordinary_sizes_are_no_doubt(expression: str, args: dict[str, object]) -> None:
    """Lists of hundreds are compared with each other, and long texts are looked at."""
    assert answer(expression, **args) is True


@pytest.mark.parametrize(
    "expression",
    [
        "args.a.matches(args.b)",
        "matches(args.a, args.b)",
        "args.a.matches('a' + args.b)",
        "args.a.matches('a') && args.list.all(x, 'b'.matches(x))",
    ],
)
def test_a_pattern_is_the_policy_s(expression: str) -> None:
    """Its time depends on the pattern as much as on the text, so no model writes it."""
    [misfit] = refused(expression)

    assert misfit.reason == "write the pattern out, as in args.to.matches('^a+$')"


def refused(expression: str) -> tuple[ConditionError, ...]:
    found = compile_condition(expression)
    assert not isinstance(found, Condition)
    return found


@pytest.mark.parametrize(
    ("expression", "asks"),
    [
        ("environment == 'production'", True),
        ("tool == 'pay' && !(  environment in ['', 'dev'])", True),
        ("'production'==.environment", True),
        ("args.environment == 'production'", False),
        ("args . environment == metadata.environment", False),
        ("args['a'].environment == 'environment'", False),
        ("args.my_environment == 1 // whatever the environment is", False),
    ],
)
def test_who_asks_for_the_environment_of_a_worker(expression: str, asks: bool) -> None:
    """An argument may have the same name."""
    condition = compile_condition(expression)

    assert isinstance(condition, Condition)
    assert condition.asks_for_environment is asks
