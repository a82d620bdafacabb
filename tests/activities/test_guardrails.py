"""How guardrails are defined, and what the activity makes of what they say."""

import asyncio
from collections.abc import Callable
from decimal import Decimal

import pytest
from pydantic import TypeAdapter
from structlog.testing import capture_logs
from temporalio.exceptions import ApplicationError

from holdfast.activities.callers import NOT_HERE
from holdfast.activities.guardrails import FAILED
from holdfast.contracts.approvals import Requirement
from holdfast.contracts.base import AuthoredContract, digest
from holdfast.contracts.bounds import (
    MAX_CONSTRAINT_CHARS,
    MAX_CONSTRAINTS,
    MAX_VERDICT_REASON_CHARS,
)
from holdfast.contracts.errors import AppError
from holdfast.contracts.guardrails import GuardrailResult, Layer, OnTrip, Signals, Subject
from holdfast.contracts.tools import ResourceScope
from holdfast.guardrails.builtin import (
    conflict_detection,
    cost_estimation,
    dependency_check,
    deployment_safety,
    destructive_operations,
    injection_detection,
    judged_by,
    project_passes,
    review_approval,
    scope_validation,
    secret_detection,
    spec_compliance,
    static_analysis,
    tests_pass,
)
from holdfast.guardrails.definition import (
    Guardrail,
    GuardrailContext,
    GuardrailOptions,
    guardrail,
    not_applicable,
    passed,
    tripped,
)
from tests.activities.looking import SECRET, activities, asking, goal, left, looked
from tests.asking import in_run


@guardrail(layer="input")
async def polite(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Trip on shouting; silence says nothing."""
    if not subject.text:
        return not_applicable("nobody said a thing")
    return tripped(f"{ctx.actor} shouts") if subject.text.isupper() else passed()


async def agree(_: Subject, __: GuardrailContext) -> GuardrailResult:
    return passed()


define: Callable[..., Callable[..., Guardrail]] = guardrail
"""The decorator as it is used without a type checker."""


def defined(layer: Layer, terms: GuardrailOptions) -> Guardrail:
    return guardrail(layer=layer, **terms)(agree)


@pytest.mark.parametrize(
    ("layer", "on_trip"),
    [
        ("input", "block"),
        ("pre_execution", "deny"),
        ("output", "retry"),
        ("post_action", "retry"),
    ],
)
def test_each_layer_has_its_own_way(layer: Layer, on_trip: OnTrip) -> None:
    """Unless told otherwise a tripwire ends the run, denies the call, or sends the model back."""
    spec = defined(layer, {}).spec

    assert (spec.name, spec.on_trip, spec.mode, spec.timeout) == ("agree", on_trip, "blocking", 30)


@pytest.mark.parametrize(
    ("layer", "terms", "said"),
    [
        pytest.param(
            "output", GuardrailOptions(mode="parallel"), "only layer 'input'", id="parallel"
        ),
        pytest.param(
            "input",
            GuardrailOptions(on_trip="deny"),
            "(it has: block, ask, warn)",
            id="deny a goal",
        ),
        pytest.param(
            "pre_execution", GuardrailOptions(on_trip="retry"), "no on_trip 'retry'", id="retry"
        ),
        pytest.param(
            "output", GuardrailOptions(on_trip="deny"), "no on_trip 'deny'", id="deny an answer"
        ),
        pytest.param(
            "input", GuardrailOptions(tools=("a",)), "tools narrows", id="tools of input"
        ),
        pytest.param(
            "output", GuardrailOptions(tools=("a",)), "tools narrows", id="tools of output"
        ),
        pytest.param(
            "output", GuardrailOptions(watches=("goal",)), "watches belongs", id="watches"
        ),
        pytest.param(
            "input", GuardrailOptions(watches=()), "it watches nothing", id="watches nothing"
        ),
        pytest.param(
            "input",
            GuardrailOptions(local=True, timeout=10.1),
            "timeout of at most 10 s",
            id="slow and local",
        ),
        pytest.param(
            "input", GuardrailOptions(timeout=0), "timeout: Input should be greater", id="no time"
        ),
    ],
)
def test_what_cant_work_is_refused(layer: Layer, terms: GuardrailOptions, said: str) -> None:
    """The error is one line, names the guardrail and says what is wrong."""
    with pytest.raises(AppError) as raised:
        defined(layer, terms)

    assert str(raised.value).startswith("guardrail 'agree': ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_local_one_may_take_ten_seconds() -> None:
    """That is also what it has unless told otherwise."""
    assert defined("input", {"local": True, "timeout": 10}).spec.timeout == 10
    assert defined("input", {"local": True}).spec.timeout == 10


def test_it_must_be_async_and_named_by_the_rules() -> None:
    """A function that blocks the loop, or a name that no activity type can hold, is refused."""

    def blocking(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return passed()

    async def Shouting(_: Subject, __: GuardrailContext) -> GuardrailResult:  # noqa: N802 -- the point
        return passed()

    with pytest.raises(AppError, match="guardrail 'blocking': make its function async"):
        guardrail(layer="input")(blocking)  # pyright: ignore[reportArgumentType] -- the point
    with pytest.raises(AppError, match="guardrail 'Shouting': its name must be small letters"):
        guardrail(layer="input")(Shouting)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"watch": ("results",)}, "there is no setting 'watch' (known: mode, on_trip, "),
        ({"on_tripp": "ask"}, "there is no setting 'on_tripp'"),
        ({"retries": 2}, "there is no setting 'retries'"),
        ({"name": "other"}, "there is no setting 'name'"),
        ({"watches": "results"}, "watches is a list, not one string: ('results',)"),
        ({"tools": "look"}, "tools is a list, not one string: ('look',)"),
        ({"tools": 3}, "tools: Input should be a valid tuple"),
        ({"on_trip": "shout"}, "on_trip: Input should be 'block', "),
        ({"mode": "beside"}, "mode: Input should be 'blocking' or 'parallel'"),
        ({"timeout": "soon", "local": True}, "timeout: Input should be a valid number"),
        ({"timeout": float("inf")}, "timeout: Input should be a finite number"),
    ],
)
def test_misspelt_settings_are_refused(terms: dict[str, object], said: str) -> None:
    """What nobody knows would otherwise be left out, and nobody would look."""
    with pytest.raises(AppError) as raised:
        define(layer="input", **terms)(agree)

    assert str(raised.value).startswith(f"guardrail 'agree': {said}")
    assert "\n" not in str(raised.value)


def test_its_layer_and_its_two_parameters_are_needed() -> None:
    """Without them it would fail when it looks, or never look."""

    async def lonely(_: Subject) -> GuardrailResult:
        return passed()

    async def curious(_: Subject, __: GuardrailContext, *, more: str) -> GuardrailResult:
        return passed(more)

    with pytest.raises(AppError, match=r"^guardrail 'agree': say its layer, write @guardrail\("):
        define(agree)
    with pytest.raises(AppError, match=r"^guardrail: say its layer"):
        define()
    for function in (lonely, curious):
        with pytest.raises(AppError, match=r"must take two: \(subject, ctx\)"):
            define(layer="input")(function)


@pytest.mark.parametrize(
    ("make", "args", "settings", "said"),
    [
        (destructive_operations, (), {"on_tripp": "ask"}, "there is no setting 'on_tripp'"),
        (
            secret_detection,
            (),
            {"layer": "input"},
            "there is no setting 'layer' (known: allow, name, on_trip, timeout)",
        ),
        (injection_detection, (), {"watches": "results"}, "watches is a list, not one string"),
        (injection_detection, (), {"watches": ("result",)}, "watches.0: Input should be 'goal'"),
        (destructive_operations, (), {"timeout": "soon"}, "timeout: Input should be a"),
        (project_passes, ("lint",), {}, "commands: Input should be 'build' or 'test'"),
        (conflict_detection, (3,), {}, "argument: Input should be a valid string"),
        (conflict_detection, (), {}, "missing a required argument: 'argument'"),
        (conflict_detection, ("a", "b"), {}, "too many positional arguments"),
        (tests_pass, ((1, 2),), {}, "command.0: Input should be a valid string"),
        (tests_pass, ("pytest -q",), {}, "command is a list, not one string: ('pytest', '-q')"),
        (review_approval, (), {"groups": "legal"}, "groups is a list, not one string: ('legal',)"),
        (review_approval, ("legal",), {}, "groups is a list, not one string: ('legal',)"),
        (review_approval, (), {"strength": "strng"}, "strength: Input should be 'plain' or "),
        (dependency_check, (), {"commands": "git"}, "commands is a list, not one string"),
        (dependency_check, (), {"modules": "json", "tools": "x"}, "modules is a list, not one"),
        (dependency_check, (), {"hosts": ("a",), "tools": "x"}, "tools is a list, not one"),
        (static_analysis, (), {"critical": "S102"}, "critical is a list, not one string"),
        (secret_detection, (), {"allow": "abc"}, "allow is a list, not one string: ('abc',)"),
        (scope_validation, ("/srv",), {"allow": "/api"}, "allow is a list, not one string"),
        (deployment_safety, (3, ("deploy",)), {}, "probe: Input should be"),
        (deployment_safety, ("https://x", "deploy"), {}, "tools is a list, not one string"),
        (judged_by, ("critic",), {"layer": "outputs"}, "layer: Input should be 'input', "),
        (cost_estimation, ("dear",), {}, "estimate: Input should be"),
        (cost_estimation, (Decimal(1),), {"per_cal": 1}, "there is no setting 'per_cal'"),
        (spec_compliance, (), {"schema": "x"}, "schema: Input should be an instance of dict"),
    ],
)
def test_built_in_ones_refuse_what_they_dont_know(
    make: Callable[..., Guardrail],
    args: tuple[object, ...],
    settings: dict[str, object],
    said: str,
) -> None:
    """A string isn't taken apart into letters, and no wrong value gets as far as a run."""
    with pytest.raises(AppError) as raised:
        make(*args, **settings)

    assert str(raised.value).startswith(f"guardrail '{make.__name__}': {said}")
    assert "\n" not in str(raised.value)


def test_a_list_is_as_good_as_a_tuple() -> None:
    """What a file of settings holds makes the same guardrail; YAML may have numbers as names."""
    paths = {"/a": {"get": {"responses": {200: {"description": "x"}}}}}
    shape = {"schemas": {"A": {"type": "object"}}}
    api: dict[str, object] = {"openapi": "3.1.0", "paths": paths, "components": shape}
    from_yaml: Callable[..., Guardrail] = spec_compliance

    assert secret_detection(["abc"]) == secret_detection(("abc",))  # pyright: ignore[reportArgumentType] -- the point
    assert from_yaml(openapi=api, component="A").spec.name == "spec_compliance"


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        (GuardrailResult, {"tripwire": True, "reason": "no"}, "'tripwire' (it has: tripwire_"),
        (Signals, {"coverge": 0.1}, "'coverge' (it has: coverage, votes_for, votes)"),
        (ResourceScope, {"knd": "workspace"}, "'knd' (it has: kind, argument)"),
        (Requirement, {"groups": ("a",), "counts": 2}, "'counts' (it has: strength, groups, "),
    ],
)
def test_misspelt_fields_are_refused_where_people_write_them(
    kind: type[AuthoredContract], fields: dict[str, object], said: str
) -> None:
    """What an older worker reads from history may have more."""
    with pytest.raises(AppError) as raised:
        kind(**fields)

    assert str(raised.value).startswith(f"{kind.__name__} has no field {said}")
    reading: TypeAdapter[object] = TypeAdapter(kind)
    assert reading.validate_python({"later": 1}) == kind() == reading.validate_json('{"later": 1}')


async def test_verdicts_are_typed() -> None:
    """A tripwire has a reason; what doesn't apply is neither passed nor tripped."""  # GR-04, T-41
    loud, calm, silent = [await looked(polite, goal(text)) for text in ("STOP", "please", "")]

    assert (loud.tripwire_triggered, loud.reason, loud.applicable) == (True, "alice shouts", True)
    assert (calm.tripwire_triggered, calm.reason, calm.applicable) == (False, "", True)
    assert (silent.tripwire_triggered, silent.applicable) == (False, False)
    assert silent.reason == "nobody said a thing"
    assert loud.subject == digest(goal("STOP").model_dump(mode="json"))


async def test_each_looks_at_each() -> None:
    """One activity has a verdict for each guardrail and subject, in that order."""
    other = defined("input", {})
    subjects = (goal("A"), Subject(kind="call", tool="t", call_id="c7", text="b"))

    given = asking(polite, other, subjects=subjects)
    answer = await in_run("run-1").run(activities([polite, other]).run, given)

    assert [(one.guardrail, one.call_id, one.tripwire_triggered) for one in answer.verdicts] == [
        ("polite", "", True),
        ("polite", "c7", False),
        ("agree", "", False),
        ("agree", "c7", False),
    ]


async def test_nothing_secret_leaves() -> None:
    """Reasons, constraints and what is raised are without secrets, and in their bounds."""

    @guardrail(layer="output")
    async def telling(subject: Subject, _: GuardrailContext) -> GuardrailResult:
        if subject.text == "raise":
            raise ValueError(f"no {SECRET}")
        return tripped(f"{SECRET} {'x' * MAX_VERDICT_REASON_CHARS}", SECRET, *["y" * 3_000] * 30)

    verdict = await looked(telling, goal("tell"))
    with capture_logs() as logs:
        error = await left(telling, goal("raise"))

    assert verdict.reason.startswith("[redacted] x")
    assert len(verdict.reason) <= MAX_VERDICT_REASON_CHARS
    assert verdict.constraints[0] == "[redacted]"
    assert len(verdict.constraints) == MAX_CONSTRAINTS
    assert len(verdict.constraints[1]) == MAX_CONSTRAINT_CHARS
    assert error.message == "guardrail 'telling' can't decide: no [redacted]"
    assert error.type == FAILED
    assert error.__cause__ is None
    [entry] = logs
    assert entry["event"] == "activity.raised"
    assert entry["stack"].endswith("ValueError: no [redacted]\n")


async def test_who_says_nothing_decides_nothing() -> None:
    """A function that forgets its verdict is a failure, not a pass."""

    @guardrail(layer="input")
    async def forgetful(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return None  # pyright: ignore[reportReturnType] -- as user code does

    with pytest.raises(ApplicationError, match="can't decide: it returned NoneType"):
        await looked(forgetful, goal("x"))


async def test_who_misspells_the_tripwire_decides_nothing() -> None:
    """A verdict without its tripwire would be a pass."""

    @guardrail(layer="input")
    async def hasty(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return GuardrailResult(tripwire=True, reason="it shouts")  # pyright: ignore[reportCallIssue] -- the point

    with pytest.raises(ApplicationError, match="can't decide: GuardrailResult has no field"):
        await looked(hasty, goal("x"))


async def test_a_missing_one_is_no_pass() -> None:
    """A worker without the guardrail leaves the looking to another one."""
    with pytest.raises(ApplicationError, match="has no guardrail 'polite'") as raised:
        await in_run("run-1").run(activities([]).run, asking(polite, subjects=(goal("x"),)))

    assert (raised.value.type, raised.value.non_retryable) == (NOT_HERE, False)


async def test_nobody_but_the_run_may_ask() -> None:
    """Another run's name opens nothing."""
    with pytest.raises(ApplicationError, match="in the name of another one"):
        await in_run("run-2").run(activities([polite]).run, asking(polite, subjects=(goal("x"),)))


async def test_a_cancelled_one_ends() -> None:
    """Cancelling the activity reaches the function as what it is."""
    began = asyncio.Event()

    @guardrail(layer="input")
    async def endless(_: Subject, __: GuardrailContext) -> GuardrailResult:
        began.set()
        await asyncio.Event().wait()
        return passed()

    looking = asyncio.create_task(looked(endless, goal("x")))
    await began.wait()
    looking.cancel()

    with pytest.raises(asyncio.CancelledError):
        await looking


def test_two_of_one_name_cant_be_told_apart() -> None:
    """One that two agents share may stand there twice; another of its name may not."""
    activities([polite, polite, Guardrail(polite.spec, polite.function)])

    with pytest.raises(AppError, match="guardrail 'polite': two different guardrails"):
        activities([polite, Guardrail(polite.spec, agree)])
