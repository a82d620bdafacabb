"""How guardrails are defined, and what the activity makes of what they say."""

import asyncio

import pytest
from temporalio.exceptions import ApplicationError

from activities.guardrails.definition import (
    LONGEST_CONSTRAINT,
    LONGEST_REASON,
    MOST_CONSTRAINTS,
    Guardrail,
    GuardrailContext,
    Terms,
    guardrail,
    not_applicable,
    passed,
    tripped,
)
from activities.guardrails.running import FAILED, MISSING
from contracts.base import digest
from contracts.errors import AppError
from contracts.guardrails import GuardrailResult, Layer, OnTrip, Subject
from tests.activities.looking import SECRET, KnownHolders, activities, asking, goal, looked
from tests.asking import in_run


@guardrail(layer="input")
async def polite(subject: Subject, ctx: GuardrailContext) -> GuardrailResult:
    """Trip on shouting; silence says nothing."""
    if not subject.text:
        return not_applicable("nobody said a thing")
    return tripped(f"{ctx.actor} shouts") if subject.text.isupper() else passed()


async def agree(_: Subject, __: GuardrailContext) -> GuardrailResult:
    return passed()


def defined(layer: Layer, terms: Terms) -> Guardrail:
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
        pytest.param("output", Terms(mode="parallel"), "only layer 'input'", id="parallel"),
        pytest.param("input", Terms(on_trip="deny"), "(it has: block, ask)", id="deny a goal"),
        pytest.param("pre_execution", Terms(on_trip="retry"), "no on_trip 'retry'", id="retry"),
        pytest.param("output", Terms(on_trip="deny"), "no on_trip 'deny'", id="deny an answer"),
        pytest.param("input", Terms(tools=("a",)), "tools narrows", id="tools of input"),
        pytest.param("output", Terms(tools=("a",)), "tools narrows", id="tools of output"),
        pytest.param("output", Terms(watches=("goal",)), "watches belongs", id="watches"),
        pytest.param("input", Terms(watches=()), "it watches nothing", id="watches nothing"),
        pytest.param(
            "input",
            Terms(local=True, timeout=10.1),
            "timeout of at most 10 s",
            id="slow and local",
        ),
        pytest.param("input", Terms(timeout=0), "timeout: Input should be greater", id="no time"),
    ],
)
def test_what_cant_work_is_refused(layer: Layer, terms: Terms, said: str) -> None:
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
        return tripped(f"{SECRET} {'x' * LONGEST_REASON}", SECRET, *["y" * 3_000] * 30)

    verdict = await looked(telling, goal("tell"))
    with pytest.raises(ApplicationError) as raised:
        await looked(telling, goal("raise"))

    assert verdict.reason.startswith("[redacted] x")
    assert len(verdict.reason) <= LONGEST_REASON
    assert verdict.constraints[0] == "[redacted]"
    assert len(verdict.constraints) == MOST_CONSTRAINTS
    assert len(verdict.constraints[1]) == LONGEST_CONSTRAINT
    assert raised.value.message == "guardrail 'telling' can't decide: no [redacted]"
    assert raised.value.type == FAILED
    assert raised.value.__cause__ is None


async def test_who_says_nothing_decides_nothing() -> None:
    """A function that forgets its verdict is a failure, not a pass."""

    @guardrail(layer="input")
    async def forgetful(_: Subject, __: GuardrailContext) -> GuardrailResult:
        return None  # pyright: ignore[reportReturnType] -- as user code does

    with pytest.raises(ApplicationError, match="can't decide: it returned NoneType"):
        await looked(forgetful, goal("x"))


async def test_a_missing_one_is_no_pass() -> None:
    """A worker without the guardrail says so, for good."""
    with pytest.raises(ApplicationError, match="has no guardrail 'polite'") as raised:
        await in_run("run-1").run(activities([]).run, asking(polite, subjects=(goal("x"),)))

    assert (raised.value.type, raised.value.non_retryable) == (MISSING, True)


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


async def test_it_knows_the_run() -> None:
    """The context is what the activity was asked with; holders are asked for this run."""
    seen: list[GuardrailContext] = []
    holders = KnownHolders(disk_1=("run-0",))

    @guardrail(layer="pre_execution")
    async def noting(_: Subject, ctx: GuardrailContext) -> GuardrailResult:
        seen.append(ctx)
        return passed(",".join(await ctx.holders("disk:1") or ()))

    verdict = await looked(
        noting, goal("x"), holders, tokens_left=7, cost_left=0.1, domain="d", task_kind="k"
    )

    assert (seen[0].agent, seen[0].tokens_left, str(seen[0].cost_left)) == ("it", 7, "0.1")
    assert (seen[0].domain, seen[0].task_kind) == ("d", "k")
    assert verdict.reason == "run-0"
    assert holders.asked == [("run-1", "acme", "disk:1")]
